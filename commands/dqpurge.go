package commands

import "dqd/persist/record"

var dqpurge = Command{
	Name: "dqpurge", Arity: -2, Flags: []string{"write", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@dq-manage"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs removed and N jobs in the queue",
	Summary: "Removes the jobs of a queue, or some of them, and keeps the queue.",
	Syntax:  "DQPURGE queue [STATE s]… [DUE min max] [LIMIT n] [DRYRUN]",
	Args: []Arg{
		argQueue,
		repeated(argState("only these; left out: delayed and ready jobs")),
		{Name: "due", Type: "block", Token: "DUE", Optional: true, Summary: "only jobs whose due time, as replied, is in this range", Args: []Arg{argMin, argMax}},
		{Name: "limit", Show: "n", Type: "integer", Token: "LIMIT", Optional: true, Summary: "at most so many, the first in the order of DQPEEK; then leased ones, then dead ones"},
		{Name: "dryrun", Type: "pure-token", Token: "DRYRUN", Optional: true, Summary: "only counts what it would remove"},
	},
	Replies: []string{"the number of jobs removed"},
	Errors: []string{
		"BADID: the queue name is empty or too long",
		"BADTIME: min or max cannot be read",
	},
	Notes: "It works in slices of up to 128 jobs, each of which is removed whole or not at all, and answers when all are. Other commands come between the slices and do not wait. All jobs that were there, and\n" +
		"stay as asked for, are removed; one that is added or replaced meanwhile is not. If the client leaves meanwhile, it goes on; two such commands of all clients are at work at a time, and one that waits\n" +
		"for its turn is given up if its client leaves. If the server ends meanwhile, some of the slices are done. A removed job's token is no longer valid, and its id forgets an IDEM request.",
	Resend: "Removes what is there now, and counts only that.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQADD mail m2 "Hello Bob" AT 2030-01-31T09:00:00Z
"m2"
> DQPURGE mail DUE now +inf DRYRUN
(integer) 1
> DQPURGE mail DUE -inf (now
(integer) 1
> DQPURGE mail
(integer) 1
`,
	Parse: parsePurge,
}

var purgeOptions = []option{
	{"due", groupRange, true},
	{"limit", groupLimit, true},
	{"dryrun", groupDryRun, false},
}

func parsePurge(args [][]byte, lim *Limits) (Request, error) {
	r := &Purge{Queue: args[1], Min: NoMin, Max: NoMax}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 2}); c.more(); {
		if isKeyword(c.args[c.at], "state") { // may be repeated
			c.next()
			if !c.more() {
				return nil, syntaxf("STATE needs a value behind it")
			}
			state, err := parseState(c.next())
			if err != nil {
				return nil, err
			}
			r.States[state] = true
			continue
		}
		word, arg, err := given.take(&c, purgeOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "due":
			if !c.more() {
				return nil, syntaxf("DUE needs two values behind it: min and max")
			}
			r.Min, r.Max, err = parseBounds(arg, c.next(), lim)
		case "limit":
			r.Limit, err = parseRange("LIMIT", arg, 1, maxInteger)
		case "dryrun":
			r.DryRun = true
		}
		if err != nil {
			return nil, err
		}
	}
	if r.States == (StateSet{}) {
		r.States[record.Delayed], r.States[record.Ready] = true, true
	}
	return r, nil
}
