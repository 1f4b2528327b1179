package commands

var dqcount = Command{
	Name: "dqcount", Arity: -4, Flags: []string{"readonly", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0",
	Complexity: "O(log N) when all jobs of the state lie in the range, or none, else O(log N + M) with M jobs counted and N jobs in the queue; with STATE leased O(N), with STATE dead O(D) with D dead jobs",
	Summary:    "Counts the jobs whose due lies in a range.",
	Syntax:     "DQCOUNT queue min max [STATE s]",
	Args: []Arg{
		argQueue,
		argMin,
		argMax,
		argState("left out: the delayed and the ready jobs"),
	},
	Replies: []string{"the number; 0 for an unknown queue"},
	Errors: []string{
		"BADID: the queue name is empty or too long",
		"BADTIME: min or max cannot be read",
	},
	Notes:  "`DQCOUNT queue -inf now` is how many jobs wait for a worker, `DQCOUNT queue (now +inf` how many will become due: both come from the gauges. A part of a state is counted by reading its index keys, some millions a second.",
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2030-01-31T09:00:00Z
"m1"
> DQADD mail m2 "Hello Bob" AT 2024-01-31T09:00:00Z
"m2"
> DQCOUNT mail -inf now
(integer) 1
> DQCOUNT mail 2030-01-01T00:00:00Z (2031-01-01T00:00:00Z STATE delayed
(integer) 1
`,
	Parse: parseCount,
}

func parseCount(args [][]byte, lim *Limits) (Request, error) {
	r := &Count{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.Min, r.Max, err = parseBounds(args[2], args[3], lim); err != nil {
		return nil, err
	}
	if r.State, err = parseStateOption(cursor{args, 4}); err != nil {
		return nil, err
	}
	return r, nil
}
