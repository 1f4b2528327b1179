package commands

var dqmcancel = Command{
	Name: "dqmcancel", Arity: -5, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-produce"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M ids and N jobs in the queue",
	Summary: "Removes jobs and says for each what became of it.",
	Syntax:  "DQMCANCEL queue [FORCE] IDS n id…",
	Args: []Arg{
		argQueue,
		{Name: "force", Type: "pure-token", Token: "FORCE", Optional: true, Summary: "removes leased jobs too; their tokens become stale"},
		{Name: "count", Show: "n", Type: "integer", Token: "IDS", Summary: "how many ids follow, 1 to 10000"},
		{Name: "id", Type: "string", Multiple: true},
	},
	Replies: []string{"an array of n codes: 1 removed, -2 no such job, -3 dead, or leased and no FORCE"},
	Errors:  []string{"BADID: the queue name or an id is empty or too long"},
	Resend:  "Changes nothing more, but its codes are -2: what the first one removed is gone.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQADD mail m2 "Hello Bob" DELAY 15m
"m2"
> DQPOP mail
1) 1) "mail"
   2) "m1"
   3) "Hello Ann"
   4) (integer) 1
   5) (integer) 1
   6) (integer) 1706691600000
> DQMCANCEL mail IDS 3 m1 m2 m3
1) (integer) -3
2) (integer) 1
3) (integer) -2
> DQMCANCEL mail FORCE IDS 1 m1
1) (integer) 1
`,
	Parse: parseMCancel,
}

func parseMCancel(args [][]byte, lim *Limits) (Request, error) {
	r := &Cancel{Queue: args[1], Codes: true}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	c := cursor{args, 2}
	if isKeyword(c.args[c.at], "force") {
		c.next()
		r.Force = true
	}
	if !isKeyword(c.next(), "ids") {
		return nil, syntaxf("IDS is missing: write DQMCANCEL queue [FORCE] IDS n id ...")
	}
	if err := c.parseCounted("IDS", 1, int64(lim.MaxIDs)); err != nil {
		return nil, err
	}
	r.IDs = c.rest()
	if err := parseIDs(r.IDs, lim); err != nil {
		return nil, err
	}
	return r, nil
}
