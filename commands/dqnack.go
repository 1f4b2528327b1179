package commands

var dqnack = Command{
	Name: "dqnack", Arity: -4, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N) with N jobs in the queue",
	Summary: "Gives a leased job back: it failed, and is tried again later or is dead.",
	Syntax:  "DQNACK queue id token [DELAY dur | AT time] [FREE] [DEAD] [REASON text]",
	Args: []Arg{
		argQueue,
		argID,
		argToken,
		{Name: "schedule", Type: "oneof", Optional: true, Args: []Arg{argDelay, argAt}, Summary: "when to try again; left out: as BACKOFF says"},
		{Name: "free", Type: "pure-token", Token: "FREE", Optional: true, Summary: "the attempt does not count"},
		{Name: "dead", Type: "pure-token", Token: "DEAD", Optional: true, Summary: "no more attempts; DELAY and AT count for nothing then"},
		{Name: "reason", Show: "text", Type: "string", Token: "REASON", Optional: true, Summary: "why; kept with the job, cut at 1 KiB"},
	},
	Replies: []string{"a code: 1 done, -1 not the job's latest valid token, -2 no such job, -3 `*` and nothing leased"},
	Errors: []string{
		"BADID: the queue name or the id is empty or too long",
		"BADTIME: the duration or the time cannot be read or is beyond the limit",
	},
	Resend: "Answers 1 and changes nothing, until the job is taken or changed again; then -1.",
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
> DQNACK mail m1 1 DELAY 10m REASON "no route to host"
(integer) 1
> DQGET mail m1 state attempt reason
1) "delayed"
2) (integer) 1
3) "no route to host"
`,
	Parse: parseNack,
}

var nackOptions = []option{
	{"delay", groupDue, true},
	{"at", groupDue, true},
	{"free", groupFree, false},
	{"dead", groupDead, false},
	{"reason", groupReason, true},
}

func parseNack(args [][]byte, lim *Limits) (Request, error) {
	r := &Nack{Queue: args[1]}
	if err := checkQueueID(r.Queue, args[2], lim); err != nil {
		return nil, err
	}
	token, err := parseToken(args[3])
	if err != nil {
		return nil, err
	}
	r.Job = JobToken{ID: args[2], Token: token}
	var given given
	for c := (cursor{args, 4}); c.more(); {
		word, arg, err := given.take(&c, nackOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "delay", "at":
			r.Due, err = parseDue(word, arg, lim)
		case "free":
			r.Free = true
		case "dead":
			r.Dead = true
		case "reason":
			r.Reason = arg[:min(len(arg), lim.MaxReason)]
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}
