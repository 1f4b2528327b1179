package commands

var dqpeek = Command{
	Name: "dqpeek", Arity: -2, Flags: []string{"readonly", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N + M) with M jobs shown and N jobs in the queue",
	Summary: "Shows the next jobs in the order in which they would leave, and leaves them there.",
	Syntax:  "DQPEEK queue [STATE s] [COUNT n]",
	Args: []Arg{
		argQueue,
		argState("left out: the ready jobs, then the delayed ones"),
		{Name: "count", Show: "n", Type: "integer", Token: "COUNT", Optional: true, Summary: "at most so many jobs; left out: 100, more than 10000 is taken as that"},
	},
	Replies: []string{"an array of jobs, each `[id, due, attempt, payload]`; it ends early at the limit for one reply, 4 MiB"},
	Errors:  []string{"BADID: the queue name is empty or too long"},
	Notes: "Dead jobs are kept for 30 days (setting `dead-keep`) and are out of the way. To see them, and why they died: `DQDEAD queue 0`. DQREQUEUE\n" +
		"runs them again, DQPURGE … STATE DEAD removes them earlier.",
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2030-01-31T09:00:00Z
"m1"
> DQADD mail m2 "Hello Bob" AT 2024-01-31T09:00:00Z
"m2"
> DQPEEK mail COUNT 5
1) 1) "m2"
   2) (integer) 1706691600000
   3) (integer) 0
   4) "Hello Bob"
2) 1) "m1"
   2) (integer) 1896080400000
   3) (integer) 0
   4) "Hello Ann"
`,
	Parse: parsePeek,
}

var peekOptions = []option{
	{"state", groupState, true},
	{"count", groupCount, true},
}

func parsePeek(args [][]byte, lim *Limits) (Request, error) {
	r := &Peek{Queue: args[1], Count: lim.DefaultList}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		word, arg, err := given.take(&c, peekOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "state":
			r.State, err = parseState(arg)
		case "count":
			r.Count, err = parseListCount(arg, lim)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}
