package commands

var dqrequeue = Command{
	Name: "dqrequeue", Arity: -3, Flags: []string{"write"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@dq-manage"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M dead jobs looked at and N jobs in the queue",
	Summary: "Gives dead jobs a new life: attempt 0, payload, META and priority as they were.",
	Syntax:  "DQREQUEUE queue [DELAY dur] [SPREAD dur] ALL | IDS n id…",
	Args: []Arg{
		argQueue,
		optional(argDelay),
		{Name: "spread", Show: "dur", Type: "string", Token: "SPREAD", Optional: true, Summary: "spaces them out evenly over so long a time, in the order of IDS, or in any"},
		{Name: "which", Type: "oneof", Args: []Arg{
			word("ALL", "all that are dead"),
			{Name: "ids", Type: "block", Token: "IDS", Summary: "these, all in one step", Args: []Arg{
				{Name: "count", Show: "n", Type: "integer", Summary: "how many ids follow, 1 to 10000"},
				{Name: "id", Type: "string", Multiple: true},
			}},
		}},
	},
	Replies: []string{"the number of jobs requeued; an id that is live or not dead is not counted"},
	Errors: []string{
		"BADID: the queue name or an id is empty or too long",
		"BADTIME: a duration cannot be read, or DELAY and SPREAD together are beyond the limit",
	},
	Notes: "Of an id that died more than once the newest is requeued. It stops when the queue is full (setting `max-len`). A TTL counts anew, from the new due; a job whose EXPIREAT is not after its new\n" +
		"due stays dead. SPREAD is divided by the number of dead jobs, or of IDS: of 60 jobs over 1m the last is due after 59s. ALL works in slices, as DQPURGE does.",
	Resend: "Changes nothing more, unless one of the jobs has died again.",
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
> DQNACK mail m1 1 DEAD REASON "no such mailbox"
(integer) 1
> DQREQUEUE mail ALL
(integer) 1
> DQGET mail m1 state attempt payload
1) "ready"
2) (integer) 0
3) "Hello Ann"
`,
	Parse: parseRequeue,
}

var requeueOptions = []option{
	{"delay", groupDue, true},
	{"spread", groupSpread, true},
	{"all", groupWhich, false},
	{"ids", groupWhich, false},
}

func parseRequeue(args [][]byte, lim *Limits) (Request, error) {
	r := &Requeue{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		word, arg, err := given.take(&c, requeueOptions)
		if id, ok := err.(noOption); ok && given[groupWhich] == "" { // an id without its IDS, mostly
			return nil, syntaxf("%v: for the job of an id write IDS 1 id, for all that are dead ALL", id)
		}
		if err != nil {
			return nil, err
		}
		switch word {
		case "delay":
			r.Delay, err = parseDuration("DELAY", arg, lim)
		case "spread":
			r.Spread, err = parseDuration("SPREAD", arg, lim)
		case "ids": // the rest, so that no id can be read as an option
			if err := c.parseCounted("IDS", 1, int64(lim.MaxIDs)); err != nil {
				return nil, err
			}
			r.IDs = c.rest()
			if err := parseIDs(r.IDs, lim); err != nil {
				return nil, err
			}
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if given[groupWhich] == "" {
		return nil, syntaxf("which jobs? Write ALL, or IDS n id ... behind the options")
	}
	return r, nil
}
