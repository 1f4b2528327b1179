package commands

var dqcancel = Command{
	Name: "dqcancel", Arity: -3, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-produce"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M ids and N jobs in the queue",
	Summary: "Removes delayed and ready jobs: they are never delivered.",
	Syntax:  "DQCANCEL queue id [id]…",
	Args:    []Arg{argQueue, {Name: "id", Type: "string", Multiple: true, Summary: "up to 10000 ids"}},
	Replies: []string{"the number of jobs removed; an id that is unknown, leased or dead is not counted"},
	Errors:  []string{"BADID: the queue name or an id is empty or too long"},
	Resend:  "Changes nothing more, but its count is 0: what the first one removed is gone.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQCANCEL mail m1 m2
(integer) 1
> DQGET mail m1
(nil)
`,
	Parse: parseCancel,
}

func parseCancel(args [][]byte, lim *Limits) (Request, error) {
	r := &Cancel{Queue: args[1], IDs: args[2:]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	if err := parseIDs(r.IDs, lim); err != nil {
		return nil, err
	}
	return r, nil
}
