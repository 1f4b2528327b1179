package commands

import (
	"bytes"
	"math"

	"dqd/persist/record"
)

var dqrange = Command{
	Name: "dqrange", Arity: -4, Flags: []string{"readonly", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@slow", "@dq-look"},
	Group:      "delay", Since: "1.0.0",
	Complexity: "O(log N + O + M) with M jobs shown, O jobs skipped by LIMIT and N jobs in the queue; with STATE leased O(N), with STATE dead O(D) with D dead jobs",
	Summary:    "Shows the jobs whose due lies in a range, in order of due.",
	Syntax:     "DQRANGE queue min max [STATE s] [LIMIT off n] [REV] [WITHPAYLOAD]",
	Args: []Arg{
		argQueue,
		argMin,
		argMax,
		argState("left out: the delayed and the ready jobs"),
		{Name: "limit", Type: "block", Token: "LIMIT", Optional: true, Summary: "skips off jobs, then shows at most n; n = -1: as many as allowed, which is 10000; left out: the first 100", Args: []Arg{
			{Name: "off", Type: "integer"}, {Name: "n", Type: "integer"},
		}},
		optional(word("REV", "from the latest due to the earliest; min and max stay where they are")),
		optional(word("WITHPAYLOAD", "shows the payloads too")),
	},
	Replies: []string{
		"an array of jobs, each `[id, due]`, or `[id, due, payload]` with WITHPAYLOAD; it ends early at the limit for one reply, 4 MiB: go on with LIMIT, or from the last due",
	},
	Errors: []string{
		"BADID: the queue name is empty or too long",
		"BADTIME: min or max cannot be read",
	},
	Notes: "Of one due, jobs of the lower priority number come first, then those accepted first. Without WITHPAYLOAD only index keys are read. What LIMIT skips is read too, about two million a second.\n" +
		"There is no index of leased jobs, and none of dead ones by due: these are all looked at. The reading happens beside everything else, on the state as it was when the command was reached.",
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2030-01-31T09:00:00Z
"m1"
> DQADD mail m2 "Hello Bob" AT 2030-01-31T10:00:00Z
"m2"
> DQADD mail m3 "Hello Cy" AT 2030-01-31T11:00:00Z
"m3"
> DQRANGE mail 2030-01-31T09:00:00Z (2030-01-31T11:00:00Z WITHPAYLOAD
1) 1) "m1"
   2) (integer) 1896080400000
   3) "Hello Ann"
2) 1) "m2"
   2) (integer) 1896084000000
   3) "Hello Bob"
> DQRANGE mail now +inf LIMIT 0 1 REV
1) 1) "m3"
   2) (integer) 1896087600000
`,
	Parse: parseRangeCommand,
}

var (
	argMin = Arg{Name: "min", Type: "string", Summary: "the earliest due: a time, a bare integer of any size as Unix milliseconds, `now`, or `-inf`; `(` before it leaves itself out"}
	argMax = Arg{Name: "max", Type: "string", Summary: "the latest due, written in the same way; `+inf` for no bound"}
)

// Bound is an end of a range of due times, in Unix ms as they are replied.
type Bound struct {
	// Ms is ≥ 0; -1 for -inf and MaxInt64 for +inf.
	Ms   int64
	Now  bool // the present instead of Ms
	Open bool // leaves itself out
}

// NoMin and NoMax are the ends of the range that holds every due.
var (
	NoMin = Bound{Ms: -1}
	NoMax = Bound{Ms: math.MaxInt64}
)

var rangeOptions = []option{
	{"state", groupState, true},
	{"limit", groupLimit, true},
	{"rev", groupRev, false},
	{"withpayload", groupPayload, false},
}

func parseRangeCommand(args [][]byte, lim *Limits) (Request, error) {
	r := &Range{Queue: args[1], Count: lim.DefaultList}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	var err error
	if r.Min, r.Max, err = parseBounds(args[2], args[3], lim); err != nil {
		return nil, err
	}
	var given given
	for c := (cursor{args, 4}); c.more(); {
		word, arg, err := given.take(&c, rangeOptions)
		if err != nil {
			return nil, err
		}
		switch word {
		case "state":
			r.State, err = parseState(arg)
		case "limit":
			err = r.parseLimit(arg, &c, lim)
		case "rev":
			r.Rev = true
		case "withpayload":
			r.Payload = true
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// parseLimit reads the two numbers of LIMIT, of which the cursor stands at the second.
func (r *Range) parseLimit(off []byte, c *cursor, lim *Limits) (err error) {
	if !c.more() {
		return syntaxf("LIMIT needs two numbers behind it: off and n")
	}
	if r.Offset, err = parseRange("LIMIT off", off, 0, math.MaxInt64); err != nil {
		return err
	}
	n, ok := parseInt(c.next())
	switch {
	case ok && n == -1:
		n = int64(lim.MaxList)
	case !ok || n < 1:
		return errf("ERR value is not an integer or out of range: LIMIT n %s, use 1 to %d, or -1 for as many as allowed", quote(c.args[c.at-1]), lim.MaxList)
	}
	r.Count = int(min(n, int64(lim.MaxList)))
	return nil
}

// parseBounds reads the min and max of DQRANGE, DQCOUNT and DQPURGE.
func parseBounds(from, to []byte, lim *Limits) (min, max Bound, err error) {
	if min, err = parseBound("min", from, lim); err == nil {
		max, err = parseBound("max", to, lim)
	}
	return min, max, err
}

// parseBound reads an end of a range, as ZRANGEBYSCORE has them, in time.
func parseBound(what string, arg []byte, lim *Limits) (b Bound, err error) {
	at := arg
	if len(at) > 0 && at[0] == '(' {
		b.Open, at = true, at[1:]
	}
	var buf [keywordMax]byte
	switch string(keyword(&buf, at)) {
	case "-inf":
		b.Ms = NoMin.Ms
		return b, nil
	case "+inf", "inf":
		b.Ms = NoMax.Ms
		return b, nil
	case "now":
		b.Now = true
		return b, nil
	}
	// Here a small integer is a time long ago, and does no harm.
	if ms, rest := scanNumber(at); len(at) > 0 && len(rest) == 0 {
		if ms < 0 {
			return b, errf("BADTIME %s %s is too far ahead: write +inf for no bound", what, quote(arg))
		}
		b.Ms = ms
		return b, nil
	}
	ns, err := parseTime(what, at, lim)
	if err != nil {
		return b, badBound(what, arg, at)
	}
	b.Ms = MsUp(ns)
	return b, nil
}

func badBound(what string, arg, at []byte) Error {
	const write = "write a time, Unix milliseconds, now, -inf or +inf, with ( before it to leave itself out"
	switch {
	case len(at) == 0:
		return errf("BADTIME %s %s is empty: %s", what, quote(arg), write)
	case at[0] == '-':
		return errf("BADTIME %s %s is negative: %s", what, quote(arg), write)
	case bytes.IndexByte(at, '.') >= 0:
		return errf("BADTIME %s %s has a fraction: write a whole number in a smaller unit, such as 1896080400500ms", what, quote(arg))
	}
	return errf("BADTIME %s %s is no time: %s", what, quote(arg), write)
}

// Between returns the due times, in ns, that lie between two bounds; now is the
// present in Unix ns. Nothing does if from > to.
func Between(min, max Bound, now int64) (from, to int64) {
	lo, hi := min.ms(now), max.ms(now)
	if min.Open && lo < math.MaxInt64 {
		lo++
	}
	if max.Open && hi > -1 {
		hi--
	}
	// A due is shown rounded up: as ms m if it lies behind m-1 and up to m.
	const most = math.MaxInt64 / nsPerMs
	switch {
	case lo > most+1:
		return math.MaxInt64, -1
	case lo > 0:
		from = (lo-1)*nsPerMs + 1
	}
	switch {
	case hi < 0:
		return from, -1
	case hi > most:
		return from, math.MaxInt64
	}
	return from, hi * nsPerMs
}

func (b *Bound) ms(now int64) int64 {
	if b.Now {
		return MsUp(now)
	}
	return b.Ms
}

// stateOption is the one option of DQCOUNT and DQLEN.
var stateOption = []option{
	{"state", groupState, true},
}

// parseStateOption reads the options behind the fixed arguments, of which there may be one: STATE.
func parseStateOption(c cursor) (state record.State, err error) {
	var given given
	for c.more() {
		_, arg, err := given.take(&c, stateOption)
		if err != nil {
			return 0, err
		}
		if state, err = parseState(arg); err != nil {
			return 0, err
		}
	}
	return state, nil
}
