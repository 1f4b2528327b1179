package commands

var dqlen = Command{
	Name: "dqlen", Arity: -2, Flags: []string{"readonly", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@fast", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Counts the jobs of a queue.",
	Syntax:  "DQLEN queue [STATE s]",
	Args:    []Arg{argQueue, argState("left out: all that live, so not the dead")},
	Replies: []string{"the number; 0 for an unknown queue"},
	Errors:  []string{"BADID: the queue name is empty or too long"},
	Resend:  "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQLEN mail
(integer) 1
> DQLEN mail STATE ready
(integer) 0
`,
	Parse: parseLen,
}

func parseLen(args [][]byte, lim *Limits) (Request, error) {
	r := &Len{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.State, err = parseStateOption(cursor{args, 2}); err != nil {
		return nil, err
	}
	return r, nil
}
