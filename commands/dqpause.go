package commands

var dqpause = Command{
	Name: "dqpause", Arity: -2, Flags: []string{"write", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@fast", "@dq-admin"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Stops the deliveries of a queue, its adds, or both.",
	Syntax:  "DQPAUSE queue [IN | OUT | ALL] [FOR dur | UNTIL time]",
	Args: []Arg{
		argQueue,
		argWays("adds: they are refused with PAUSED", "deliveries; also when no way is given"),
		{Name: "end", Type: "oneof", Optional: true, Args: []Arg{
			{Name: "for", Show: "dur", Type: "string", Token: "FOR", Summary: "so long; no step of the clock changes that"},
			{Name: "until", Show: "time", Type: "string", Token: "UNTIL", Summary: "until the wall clock says so; neither given: until DQRESUME"},
		}},
	},
	Replies: []string{"a map of the fields below"},
	Fields:  pauseFields,
	Notes: "While deliveries are paused, jobs become ready, age and expire, acks and cancels work, and pops wait or answer null as if the queue were empty. " +
		"The answer comes when nothing more is handed out. A pause of one way leaves the other as it is, and replaces an earlier one of the same way. " +
		"A queue that was paused exists, also without jobs.",
	Errors: []string{
		"BADID: the queue name is empty or too long",
		"BADTIME: the duration or the time cannot be read, is 0, over already or beyond the limit",
		"MISCONF: there is no such queue yet, and the disk is nearly full",
		"OOM: likewise the memory",
	},
	Resend: "With UNTIL, or without an end, the same again. With FOR it lasts longer: the time counts from the later one.",
	Example: `
> DQPAUSE mail ALL
1) "state"
2) "all"
3) "in-until"
4) (integer) 0
5) "out-until"
6) (integer) 0
> DQADD mail m1 "Hello Ann"
(error) PAUSED queue "mail" takes no jobs: DQRESUME it with IN or ALL, or try later
> DQPAUSE mail IN UNTIL 2100-01-31T09:00:00Z
1) "state"
2) "all"
3) "in-until"
4) (integer) 4105069200000
5) "out-until"
6) (integer) 0
`,
	Parse: parsePause,
}

// argWays says what a command does to the adds, and to the deliveries.
func argWays(in, out string) Arg {
	return Arg{Name: "ways", Type: "oneof", Optional: true, Args: []Arg{
		word("IN", in), word("OUT", out), word("ALL", "both"),
	}}
}

var pauseFields = []Field{
	{"state", "what is paused now: `none`, `in`, `out` or `all`"},
	{"in-until out-until", "when that pause ends; 0 if it has no end, or there is none"},
}

var waysOptions = []option{
	{"in", groupDirection, false},
	{"out", groupDirection, false},
	{"all", groupDirection, false},
}

var pauseOptions = append([]option{
	{"for", groupUntil, true},
	{"until", groupUntil, true},
}, waysOptions...)

func parsePause(args [][]byte, lim *Limits) (Request, error) {
	r := &Pause{Queue: args[1], Ways: WayOut}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		word, arg, err := given.take(&c, pauseOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "for":
			r.Until.Kind = DueDelay
			if r.Until.Ns, err = parseDuration("FOR", arg, lim); err == nil && r.Until.Ns == 0 {
				err = Error("BADTIME FOR 0 is no pause: give the time that it lasts, or leave FOR out for one without end")
			}
		case "until":
			r.Until.Kind = DueAt
			r.Until.Ns, err = parseTime("UNTIL", arg, lim)
		default:
			r.Ways = waysOf(word)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func waysOf(word string) Ways {
	switch word {
	case "in":
		return WayIn
	case "out":
		return WayOut
	}
	return WayIn | WayOut
}

// PauseInfo is the reply of DQPAUSE and DQRESUME.
type PauseInfo struct {
	State             string // none in out all
	InUntil, OutUntil int64  // wall ns; 0 = no end, or not paused
}

func (p *PauseInfo) WriteReply(w Writer) {
	w.Map(3)
	w.BulkString("state")
	w.BulkString(p.State)
	w.BulkString("in-until")
	w.Int(MsUp(p.InUntil))
	w.BulkString("out-until")
	w.Int(MsUp(p.OutUntil))
}
