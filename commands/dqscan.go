package commands

var dqscan = Command{
	Name: "dqscan", Arity: -3, Flags: []string{"readonly", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0",
	Complexity: "O(M log N) a call with M jobs looked at and N jobs in the queue; O(N) for the first call, and again for about every 100000 jobs",
	Summary:    "Walks over all jobs of a queue, a part at a time.",
	Syntax:     "DQSCAN queue cursor [MATCH glob] [STATE s] [WORKER w] [COUNT n] [FULL]",
	Args: []Arg{
		argQueue,
		argCursor,
		argMatch("ids"),
		argState("left out: all that live, so not the dead"),
		{Name: "worker", Show: "w", Type: "string", Token: "WORKER", Optional: true, Summary: "only jobs that are leased to the worker of that name"},
		argListCount("ids"),
		optional(word("FULL", "shows each job as DQGET does, instead of its id")),
	},
	Replies: []string{
		"an array `[cursor, [id…]]`: the cursor for the next call, as a string, `0` at the end",
		"with FULL `[cursor, [job…]]`, each a map as in DQGET; it ends early at the limit for one reply, 4 MiB",
	},
	Errors: []string{"BADID: the queue name or the worker name is empty or too long"},
	Notes: "What is there from the first call to the last is seen at least once, also when it changes its state meanwhile, is replaced by UPSERT, or the server restarts; what comes or goes meanwhile may be seen or not. With STATE and WORKER\n" +
		"that holds for jobs that fit all the time. A call looks at 10000 jobs at most, so a part may have few ids or none: only the cursor `0` says that it is over.\n\n" +
		"The order is that of acceptance, and the cursor says how far it got; nothing need be kept for it, and it never becomes invalid. The server has no index in that order: it looks through the whole queue for the next jobs in it, a million in about two seconds, and keeps them for the calls that follow.\n" +
		"With STATE dead the order is that of death, and an id that died twice is seen twice.",
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQADD mail m2 "Hello Bob" DELAY 15m
"m2"
> DQADD mail order-3 "Hello Cy" AT 2024-01-31T09:00:00Z
"order-3"
> DQSCAN mail 0 MATCH m*
1) "0"
2) 1) "m1"
   2) "m2"
> DQSCAN mail 0 COUNT 1
1) "1"
2) 1) "m1"
> DQSCAN mail 1
1) "0"
2) 1) "m2"
   2) "order-3"
`,
	Parse: parseScan,
}

var scanOptions = []option{
	{"match", groupMatch, true},
	{"state", groupState, true},
	{"worker", groupWorker, true},
	{"count", groupCount, true},
	{"full", groupFull, false},
}

func parseScan(args [][]byte, lim *Limits) (Request, error) {
	r := &Scan{Queue: args[1], Count: lim.DefaultList}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.Cursor, err = parseCursor(args[2]); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 3}); c.more(); {
		word, arg, err := given.take(&c, scanOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "match":
			r.Match, err = parseMatch(arg, lim)
		case "state":
			r.State, err = parseState(arg)
		case "worker":
			r.Worker = arg
			err = checkName("worker name", arg, lim.MaxWorker)
		case "count":
			r.Count, err = parseListCount(arg, lim)
		case "full":
			r.Full = true
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}
