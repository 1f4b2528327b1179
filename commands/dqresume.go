package commands

var dqresume = Command{
	Name: "dqresume", Arity: -2, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-admin"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Ends a pause of a queue: of its deliveries, its adds, or both.",
	Syntax:  "DQRESUME queue [IN | OUT | ALL]",
	Args:    []Arg{argQueue, argWays("adds are accepted again", "deliveries go on, and waiting pops are served at once; also when no way is given")},
	Replies: []string{"a map of the fields below, also for an unknown queue"},
	Fields:  pauseFields,
	Notes:   "The other way stays as it is. Where nothing is paused, nothing changes.",
	Errors:  []string{"BADID: the queue name is empty or too long"},
	Resend:  "Harmless, unless somebody paused the queue again meanwhile.",
	Example: `
> DQPAUSE mail ALL
1) "state"
2) "all"
3) "in-until"
4) (integer) 0
5) "out-until"
6) (integer) 0
> DQRESUME mail
1) "state"
2) "in"
3) "in-until"
4) (integer) 0
5) "out-until"
6) (integer) 0
`,
	Parse: parseResume,
}

func parseResume(args [][]byte, lim *Limits) (Request, error) {
	r := &Resume{Queue: args[1], Ways: WayOut}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		word, _, err := given.take(&c, waysOptions)
		if err != nil {
			return nil, err
		}
		r.Ways = waysOf(word)
	}
	return r, nil
}
