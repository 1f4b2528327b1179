package commands

var dqadd = Command{
	Name: "dqadd", Arity: -4, Flags: []string{"write", "denyoom", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-produce"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N) with N jobs in the queue",
	Summary: "Adds a job that is delivered when its time has come.",
	Syntax:  "DQADD queue id payload [DELAY dur | AT time] [NX | XX | UPSERT | IDEM] [GT | LT] [TTL dur | EXPIREAT time] [PRI n] [ATTEMPTS n] [BACKOFF spec] [LEASE dur] [META field value]… [MAXLEN n]",
	Args: append([]Arg{
		argQueue,
		argNewID,
		argPayload,
		{Name: "schedule", Type: "oneof", Optional: true, Args: []Arg{argDelay, argAt}},
	}, argAddOptions...),
	Replies: []string{
		"the id, as a bulk string",
		"null when NX, XX, GT or LT was not met",
	},
	Errors: []string{
		"DUPID: the id is live and no option says what to do then; the text has the job's state, due and age",
		"LEASED: UPSERT or XX, and a worker has the job",
		"BADID: the queue name or the id is empty or too long",
		"BADTIME: a duration or a time cannot be read or is beyond the limit or the queue's max-delay, or EXPIREAT is not after the due time",
		"TOOBIG: the payload or META is too large",
		"QUEUEFULL: live jobs and the new one are more than MAXLEN, or than the queue's max-len",
		"PAUSED: adds to the queue are paused (DQPAUSE)",
		"MISCONF: the disk is nearly full; a re-sent IDEM request is answered all the same",
		"OOM: likewise the memory",
	},
	Resend: "An add under a live id is refused with DUPID, so it never doubles a live job. With IDEM the same request is for a minute answered as the first time, also when the job was acked or died since; but a cancel, UPSERT or XX that took effect makes the id forget, and the add is then a new one, or DUPID. With the id * it adds another job.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m PRI 10 META lang en
"m1"
> DQADD mail m1 "Hello Ann" DELAY 1h NX
(nil)
> DQADD mail m1 "Hello Ann and Bob" AT 2030-01-31T09:00:00Z UPSERT
"m1"
> DQGET mail m1 state due payload
1) "delayed"
2) (integer) 1896080400000
3) "Hello Ann and Bob"
`,
	Parse: parseAdd,
}

func parseAdd(args [][]byte, lim *Limits) (Request, error) {
	r := &Add{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	id, err := parseNewID(args[2], lim)
	if err != nil {
		return nil, err
	}
	r.Job.ID, r.Job.Payload = id, args[3]
	if err := checkPayload(r.Job.Payload, lim); err != nil {
		return nil, err
	}
	p := newAddParser(&r.Options, &r.Job.Due, lim)
	for c := (cursor{args, 4}); c.more(); {
		if err := p.option(&c); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if err := p.finishJob(&r.Job); err != nil {
		return nil, err
	}
	return r, nil
}
