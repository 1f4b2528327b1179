package commands

var dqextend = Command{
	Name: "dqextend", Arity: 5, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N) with N jobs in the queue",
	Summary: "Lets a lease end later, or sooner.",
	Syntax:  "DQEXTEND queue id token dur",
	Args:    []Arg{argQueue, argID, argToken, argExtension},
	Replies: []string{"a code: 1 done, -1 not the job's latest valid token, -2 no such job, -3 the lease ran out, -4 beyond lease-max since the delivery"},
	Errors: []string{
		"BADID: the queue name or the id is empty or too long",
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
> DQEXTEND mail m1 1 5m
(integer) 1
> DQEXTEND mail m1 1 13h
(integer) -4
`,
	Parse: parseExtend,
}

func parseExtend(args [][]byte, lim *Limits) (Request, error) {
	r := &Extend{Queue: args[1], Jobs: make([]JobToken, 1)}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	if err := parseJobTokens(r.Jobs, args[2:4], lim); err != nil {
		return nil, err
	}
	var err error
	r.Lease, err = parseExtension(args[4], lim)
	if err != nil {
		return nil, err
	}
	return r, nil
}

var argExtension = Arg{Name: "lease", Show: "dur", Type: "string", Summary: "a duration: the lease ends so long after now, at least 1ms"}

// parseExtension reads the rest of a lease. Beyond lease-max it is no error but
// a code, since that counts from the delivery.
func parseExtension(arg []byte, lim *Limits) (int64, error) {
	ns, err := parseDuration("the lease", arg, lim)
	if err == nil && ns < lim.LeaseMin {
		return 0, errf("BADTIME the lease %s is too short: use at least %s, or DQNACK to give the job back", quote(arg), formatDuration(lim.LeaseMin))
	}
	return ns, err
}
