package commands

var dqdrop = Command{
	Name: "dqdrop", Arity: -2, Flags: []string{"write", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@dq-manage"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs removed and N jobs in the queue",
	Summary: "Removes a queue with its settings and counters.",
	Syntax:  "DQDROP queue [FORCE]",
	Args: []Arg{
		argQueue,
		{Name: "force", Type: "pure-token", Token: "FORCE", Optional: true, Summary: "removes its jobs too, in any state"},
	},
	Replies: []string{"1, or 0 if there was no such queue"},
	Errors: []string{
		"NOTEMPTY: the queue holds a job, live or dead, and there is no FORCE",
		"BADID: the queue name is empty or too long",
	},
	Notes: "With FORCE it works in slices, as DQPURGE does, and the last one removes the queue. Jobs that are added meanwhile stay: they are then the first of a new queue of that name, without settings. As it ends, the IDEM requests of all jobs that are no more are forgotten. If\n" +
		"the server ends meanwhile, the queue is still there, with some jobs less. A pop that waits at the queue goes on waiting, for a new queue.",
	Resend: "Answers 0 if the first one was done, or drops what was added since.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQDROP mail
(error) NOTEMPTY queue "mail" holds 1 live and 0 dead jobs: DQPURGE it first, or drop it with FORCE
> DQDROP mail FORCE
(integer) 1
> DQDROP mail
(integer) 0
`,
	Parse: parseDrop,
}

var dropOptions = []option{{"force", groupForce, false}}

func parseDrop(args [][]byte, lim *Limits) (Request, error) {
	r := &Drop{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		if _, _, err := given.take(&c, dropOptions); err != nil {
			return nil, err
		}
		r.Force = true
	}
	return r, nil
}
