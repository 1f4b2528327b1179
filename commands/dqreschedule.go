package commands

var dqreschedule = Command{
	Name: "dqreschedule", Arity: -4, Flags: []string{"write", "denyoom", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-produce"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N) with N jobs in the queue",
	Summary: "Gives a delayed or ready job another due time.",
	Syntax:  "DQRESCHEDULE queue id DELAY dur | AT time | NOW [GT | LT] [PRI n] [PAYLOAD p]",
	Args: []Arg{
		argQueue,
		argID,
		{Name: "schedule", Type: "oneof", Args: []Arg{argDelay, argAt, word("NOW", "due at once")}},
		argCompare,
		{Name: "priority", Show: "n", Type: "integer", Token: "PRI", Optional: true, Summary: "0 to 255, 0 first; left out: as it was"},
		{Name: "payload", Type: "string", Token: "PAYLOAD", Optional: true, Summary: "replaces the payload"},
	},
	Replies: []string{"a code: 1 done, 0 GT or LT was not met, -2 no such job, -3 leased or dead"},
	Errors: []string{
		"BADID: the queue name or the id is empty or too long",
		"BADTIME: the duration or the time cannot be read or is beyond the limit",
		"TOOBIG: the payload is too large",
		"MISCONF: the disk is nearly full, and the payload longer than the present one",
		"OOM: likewise the memory",
	},
	Resend: "With AT the same again. With DELAY it shifts: the delay counts from the later one.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQRESCHEDULE mail m1 DELAY 1h GT
(integer) 1
> DQRESCHEDULE mail m1 DELAY 5m GT
(integer) 0
> DQRESCHEDULE mail m2 NOW
(integer) -2
`,
	Parse: parseReschedule,
}

var rescheduleOptions = []option{
	{"delay", groupDue, true},
	{"at", groupDue, true},
	{"now", groupDue, false},
	{"gt", groupCompare, false},
	{"lt", groupCompare, false},
	{"pri", groupPri, true},
	{"payload", groupPayload, true},
}

func parseReschedule(args [][]byte, lim *Limits) (Request, error) {
	r := &Reschedule{Queue: args[1], ID: args[2], Pri: -1}
	if err := checkQueueID(r.Queue, r.ID, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 3}); c.more(); {
		word, arg, err := given.take(&c, rescheduleOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "delay", "at":
			r.Due, err = parseDue(word, arg, lim)
		case "now":
			r.Due = Due{Kind: DueNow}
		case "gt":
			r.Compare = CompareGT
		case "lt":
			r.Compare = CompareLT
		case "pri":
			r.Pri, err = parsePri(arg)
		case "payload":
			r.HasPayload, r.Payload = true, arg
			err = checkPayload(arg, lim)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Due.Kind == DueNone {
		return nil, syntaxf("no time is given: write DELAY dur, AT time or NOW")
	}
	return r, nil
}
