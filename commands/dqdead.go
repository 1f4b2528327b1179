package commands

var dqdead = Command{
	Name: "dqdead", Arity: -3, Flags: []string{"readonly", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log D) a call with M jobs shown and D dead jobs",
	Summary: "Walks over the dead jobs of a queue, a part at a time, in order of death.",
	Syntax:  "DQDEAD queue cursor [COUNT n]",
	Args:    []Arg{argQueue, argCursor, argListCount("jobs")},
	Replies: []string{
		"an array `[cursor, [job…]]`: the cursor for the next call, as a string, `0` at the end; each job is `[id, died-at, attempt, cause, reason, payload]`",
		"it ends early at the limit for one reply, 4 MiB",
	},
	Fields: []Field{
		{"died-at", "when it died"},
		{"attempt", "how often it was delivered"},
		{"cause", "`attempts`: they were used up; `nack`: a worker said DEAD; `expired`: nobody took it in time, and the queue's `expire-to` is `dead`"},
		{"reason", "the text of the latest DQNACK, null for none"},
	},
	Errors: []string{"BADID: the queue name is empty or too long"},
	Notes: "What is dead from the first call to the last is seen exactly once, also when others die, live again or are removed meanwhile. An id that died twice is there twice. " +
		"Of those that died in the same millisecond the ones accepted first come first. The cursor never becomes invalid.",
	Resend: "Harmless: it changes nothing.",
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
> DQNACK mail m1 1 DEAD REASON "no such address"
(integer) 1
> DQDEAD mail 0
1) "0"
2) 1) 1) "m1"
      2) ...
      3) (integer) 1
      4) "nack"
      5) "no such address"
      6) "Hello Ann"
`,
	Parse: parseDead,
}

var deadOptions = []option{
	{"count", groupCount, true},
}

func parseDead(args [][]byte, lim *Limits) (Request, error) {
	r := &DeadJobs{Queue: args[1], Count: lim.DefaultList}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.Cursor, err = parseCursor(args[2]); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 3}); c.more(); {
		_, arg, err := given.take(&c, deadOptions)
		if err != nil {
			return nil, err
		}
		if r.Count, err = parseListCount(arg, lim); err != nil {
			return nil, err
		}
	}
	return r, nil
}
