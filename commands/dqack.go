package commands

var dqack = Command{
	Name: "dqack", Arity: -4, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs and N jobs in the queue",
	Summary: "Finishes leased jobs.",
	Syntax:  "DQACK queue id token [id token]…",
	Args:    []Arg{argQueue, {Name: "lease", Type: "block", Multiple: true, Args: []Arg{argID, argToken}}},
	Replies: []string{"the number of jobs finished; one whose token is not its latest is not counted"},
	Errors:  []string{"BADID: the queue name or an id is empty or too long"},
	Resend:  "Changes nothing more, but its count is 0: what the first one finished is gone.",
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
> DQACK mail m1 1
(integer) 1
> DQACK mail m1 1
(integer) 0
`,
	Parse: parseAck,
}

func parseAck(args [][]byte, lim *Limits) (Request, error) {
	pairs := args[2:]
	if len(pairs)%2 != 0 {
		return nil, WrongArity("dqack")
	}
	return newAck(args[1], pairs, false, lim)
}

// newAck is shared with DQMACK.
func newAck(queue []byte, pairs [][]byte, codes bool, lim *Limits) (Request, error) {
	// One allocation for the request and its job, as most have only one.
	r := new(struct {
		Ack
		job [1]JobToken
	})
	if err := checkQueue(queue, lim); err != nil {
		return nil, err
	}
	r.Queue, r.Codes, r.Jobs = queue, codes, r.job[:]
	if n := len(pairs) / 2; n > lim.MaxIDs {
		return nil, tooMany(n, lim)
	} else if n > 1 {
		r.Jobs = make([]JobToken, n)
	}
	if err := parseJobTokens(r.Jobs, pairs, lim); err != nil {
		return nil, err
	}
	return &r.Ack, nil
}
