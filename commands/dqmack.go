package commands

var dqmack = Command{
	Name: "dqmack", Arity: -6, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs and N jobs in the queue",
	Summary: "Finishes leased jobs and says for each what became of it.",
	Syntax:  "DQMACK queue JOBS n id token [id token]…",
	Args: []Arg{
		argQueue,
		{Name: "count", Show: "n", Type: "integer", Token: "JOBS", Summary: "how many pairs follow, 1 to 10000"},
		{Name: "lease", Type: "block", Multiple: true, Args: []Arg{argID, argToken}},
	},
	Replies: []string{"an array of n codes: 1 finished, -1 not the job's latest valid token, -2 no such job, -3 `*` and nothing leased"},
	Errors:  []string{"BADID: the queue name or an id is empty or too long"},
	Resend:  "Changes nothing more, but its codes are -2: what the first one finished is gone.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQPOP mail
1) 1) "mail"
   2) "m1"
   3) "Hello Ann"
   4) (integer) 1
   5) (integer) 1
   6) (integer) 1706691600000
> DQMACK mail JOBS 2 m1 1 m2 7
1) (integer) 1
2) (integer) -2
`,
	Parse: parseMAck,
}

func parseMAck(args [][]byte, lim *Limits) (Request, error) {
	c := cursor{args, 2}
	if !isKeyword(c.next(), "jobs") {
		return nil, syntaxf("JOBS is missing: write DQMACK queue JOBS n id token ...")
	}
	if err := c.parseCounted("JOBS", 2, int64(lim.MaxIDs)); err != nil {
		return nil, err
	}
	return newAck(args[1], c.rest(), true, lim)
}
