package commands

var dqqueues = Command{
	Name: "dqqueues", Arity: -2, Flags: []string{"readonly", "no_multi"},
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log Q + M) a call with M queues looked at and Q queues in all",
	Summary: "Walks over all queues, a part at a time.",
	Syntax:  "DQQUEUES cursor [MATCH glob] [COUNT n] [WITHLEN]",
	Args: []Arg{
		argCursor,
		argMatch("names"),
		argListCount("names"),
		optional(word("WITHLEN", "shows how many live jobs each has")),
	},
	Replies: []string{
		"an array `[cursor, [queue…]]`: the cursor for the next call, as a string, `0` at the end",
		"with WITHLEN `[cursor, [[queue, live]…]]`",
	},
	Notes: "A queue is there once a job was added to it or a setting made, also when it is empty. The order is that in which the queues came, so what is there from the first call to the last is seen exactly once. " +
		"A call looks at 10000 queues at most, so with MATCH a part may have few names or none: only the cursor `0` says that it is over.",
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQADD push m1 "Hello Bob" DELAY 15m
"m1"
> DQQUEUES 0
1) "0"
2) 1) "mail"
   2) "push"
> DQQUEUES 0 MATCH m* WITHLEN
1) "0"
2) 1) 1) "mail"
      2) (integer) 1
`,
	Parse: parseQueues,
}

var queuesOptions = []option{
	{"match", groupMatch, true},
	{"count", groupCount, true},
	{"withlen", groupWithLen, false},
}

func parseQueues(args [][]byte, lim *Limits) (Request, error) {
	return parseQueueWalk(args, lim, queuesOptions, lim.DefaultList)
}

// parseQueueWalk reads DQQUEUES and SCAN, which differ in their options.
func parseQueueWalk(args [][]byte, lim *Limits, options []option, count int) (Request, error) {
	r := &Queues{Count: count}
	var err error
	if r.Cursor, err = parseCursor(args[1]); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		word, arg, err := given.take(&c, options)
		if err != nil {
			return nil, err
		}
		switch word {
		case "match":
			r.Match, err = parseMatch(arg, lim)
		case "count":
			r.Count, err = parseListCount(arg, lim)
		case "withlen":
			r.WithLen = true
		case "type":
			r.Nothing = !isKeyword(arg, KeyType)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// argCursor is the argument that a walk begins and goes on with.
var argCursor = Arg{Name: "cursor", Type: "string", Summary: "`0` to begin; then what the call before answered, until that is `0` again"}

// argMatch is the option MATCH; what it matches.
func argMatch(what string) Arg {
	return Arg{Name: "match", Show: "glob", Type: "string", Token: "MATCH", Optional: true,
		Summary: "only " + what + " that fit the pattern, up to 4096 bytes: `*`, `?`, `[a-z]`, `[^x]`, and `\\` before what is meant itself"}
}

// argListCount is the COUNT of a list.
func argListCount(what string) Arg {
	return Arg{Name: "count", Show: "n", Type: "integer", Token: "COUNT", Optional: true, Summary: "at most so many " + what + "; left out: 100, more than 10000 is taken as that"}
}

// parseCursor reads where a walk goes on.
func parseCursor(arg []byte) (uint64, error) {
	bad := func() (uint64, error) {
		return 0, errf("ERR invalid cursor: %s, use 0 to begin, then what the last call answered", quote(arg))
	}
	if len(arg) == 0 || len(arg) > 20 {
		return bad()
	}
	var n uint64
	for _, c := range arg {
		digit := uint64(c - '0')
		if digit > 9 || n > (1<<64-1-digit)/10 {
			return bad()
		}
		n = n*10 + digit
	}
	return n, nil
}

// parseMatch reads a pattern.
func parseMatch(arg []byte, lim *Limits) ([]byte, error) {
	if len(arg) > lim.MaxPattern {
		return nil, errf("ERR the MATCH pattern has %d bytes, the limit is %d", len(arg), lim.MaxPattern)
	}
	return notNil(arg), nil
}
