package commands

var dqmextend = Command{
	Name: "dqmextend", Arity: -7, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs and N jobs in the queue",
	Summary: "Lets leases end later, or sooner, and says for each what became of it.",
	Syntax:  "DQMEXTEND queue dur JOBS n id token [id token]…",
	Args: []Arg{
		argQueue,
		argExtension,
		{Name: "count", Show: "n", Type: "integer", Token: "JOBS", Summary: "how many pairs follow, 1 to 10000"},
		{Name: "lease", Type: "block", Multiple: true, Args: []Arg{argID, argToken}},
	},
	Replies: []string{"an array of n codes: 1 done, -1 not the job's latest valid token, -2 no such job, -3 the lease ran out, -4 beyond lease-max since the delivery"},
	Errors: []string{
		"BADID: the queue name or an id is empty or too long",
		"BADTIME: the duration cannot be read or is below 1ms",
	},
	Resend: "Extends again, from the later now: harmless.",
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
> DQMEXTEND mail 5m JOBS 2 m1 1 m2 7
1) (integer) 1
2) (integer) -2
`,
	Parse: parseMExtend,
}

func parseMExtend(args [][]byte, lim *Limits) (Request, error) {
	r := &Extend{Queue: args[1], Codes: true}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.Lease, err = parseExtension(args[2], lim); err != nil {
		return nil, err
	}
	c := cursor{args, 3}
	if !isKeyword(c.next(), "jobs") {
		return nil, syntaxf("JOBS is missing: write DQMEXTEND queue dur JOBS n id token ...")
	}
	if err := c.parseCounted("JOBS", 2, int64(lim.MaxIDs)); err != nil {
		return nil, err
	}
	r.Jobs = make([]JobToken, len(c.rest())/2)
	if err := parseJobTokens(r.Jobs, c.rest(), lim); err != nil {
		return nil, err
	}
	return r, nil
}
