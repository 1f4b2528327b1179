package commands

import (
	"math"
	"strings"

	"dqd/persist/record"
)

// maxInteger is the largest integer that every client reads exactly.
const maxInteger = 1<<53 - 1

// keywordMax is the length of the longest keyword and command name, with room.
const keywordMax = 24

// keyword returns arg in lower case, written into buf, or nothing when arg is
// too long to be a keyword. Switching on string(keyword(…)) does not allocate.
func keyword(buf *[keywordMax]byte, arg []byte) []byte {
	if len(arg) > len(buf) {
		return nil
	}
	for i, c := range arg {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(arg)]
}

// isKeyword reports whether arg is the keyword, given in lower case.
func isKeyword(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// cursor walks over the arguments of a command.
type cursor struct {
	args [][]byte
	at   int
}

func (c *cursor) more() bool { return c.at < len(c.args) }

func (c *cursor) next() []byte {
	arg := c.args[c.at]
	c.at++
	return arg
}

// rest returns the arguments that are left.
func (c *cursor) rest() [][]byte { return c.args[c.at:] }

// option is a keyword that a command takes behind its fixed arguments.
type option struct {
	word   string // lower case
	group  group  // a command takes one option of each group
	valued bool   // an argument belongs to it
}

// group is a set of options that exclude each other. Most options are alone in
// theirs.
type group int

const (
	groupDue     group = iota // DELAY AT NOW
	groupCond                 // NX XX UPSERT IDEM
	groupCompare              // GT LT
	groupExpiry               // TTL EXPIREAT
	groupLease                // LEASE
	groupNoAck                // NOACK
	groupPri
	groupAttempts
	groupBackoff
	groupMaxLen
	groupPayload
	groupCount
	groupBlock
	groupWorker
	groupFull
	groupFree
	groupDead
	groupReason
	groupState
	groupLimit
	groupRev
	groupMatch
	groupWithLen
	groupType
	groupDirection // IN OUT ALL
	groupUntil     // FOR UNTIL
	groupSpread
	groupWhich // ALL IDS
	groupRange
	groupDryRun
	groupForce
	groups // their number
)

// given remembers which option of each group a command had, so that an option
// given twice and options that exclude each other are found by one rule.
type given [groups]string

// take reads the option at the cursor, one of those allowed, and its value.
func (g *given) take(c *cursor, allowed []option) (word string, value []byte, err error) {
	name := c.next()
	for i := range allowed {
		o := &allowed[i]
		if !isKeyword(name, o.word) {
			continue
		}
		switch was := g[o.group]; was {
		case "":
			g[o.group] = o.word
		case o.word:
			return "", nil, syntaxf("%s is given twice", strings.ToUpper(was))
		default:
			return "", nil, syntaxf("%s and %s exclude each other: give one of them", strings.ToUpper(was), strings.ToUpper(o.word))
		}
		if o.valued {
			if !c.more() {
				return "", nil, syntaxf("%s needs a value behind it", strings.ToUpper(o.word))
			}
			value = c.next()
		}
		return o.word, value, nil
	}
	return "", nil, noOption(quote(name))
}

// noOption is a word that is none of the options. The function Parse, which knows
// the command, makes an Error of it.
type noOption string

func (word noOption) Error() string { return string(word) + " is no option here" }

// parseInt reads an integer as strictly as Redis: decimal digits, an optional
// minus, no other sign, no space, no leading zero.
func parseInt(arg []byte) (n int64, ok bool) {
	digits := arg
	negative := len(arg) > 0 && arg[0] == '-'
	if negative {
		digits = arg[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	var u uint64 // 19 digits fit
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	switch {
	case negative && u <= -math.MinInt64:
		return -int64(u), true
	case !negative && u <= math.MaxInt64:
		return int64(u), true
	}
	return 0, false
}

// parseRange reads an integer from min to max; what names it in the error.
func parseRange(what string, arg []byte, min, max int64) (int64, error) {
	n, ok := parseInt(arg)
	if !ok || n < min || n > max {
		return 0, notInteger(what, arg, min, max)
	}
	return n, nil
}

func checkQueue(name []byte, lim *Limits) error {
	return checkName("queue name", name, lim.MaxQueue)
}

func checkName(what string, name []byte, max int) error {
	switch {
	case len(name) == 0:
		return errf("BADID the %s is empty: use 1 to %d bytes", what, max)
	case len(name) > max:
		return errf("BADID the %s %s has %d bytes: use 1 to %d", what, quote(name), len(name), max)
	}
	return nil
}

// checkID checks an id that must name a job.
func checkID(id []byte, lim *Limits) error {
	if err := checkName("id", id, lim.MaxID); err != nil {
		return err
	}
	if isStar(id) {
		return Error("BADID '*' names no job: only an add takes it, and answers the id that it made")
	}
	return nil
}

func isStar(arg []byte) bool { return len(arg) == 1 && arg[0] == '*' }

func checkPayload(payload []byte, lim *Limits) error {
	if len(payload) > lim.MaxPayload {
		return errf("TOOBIG the payload has %d bytes, the limit is %d: store it elsewhere and queue a reference", len(payload), lim.MaxPayload)
	}
	return nil
}

// checkQueueID checks the two arguments that most job commands begin with.
func checkQueueID(queue, id []byte, lim *Limits) error {
	if err := checkQueue(queue, lim); err != nil {
		return err
	}
	return checkID(id, lim)
}

// parseIDs checks the ids of a variadic command.
func parseIDs(ids [][]byte, lim *Limits) error {
	if len(ids) > lim.MaxIDs {
		return tooMany(len(ids), lim)
	}
	for _, id := range ids {
		if err := checkID(id, lim); err != nil {
			return err
		}
	}
	return nil
}

func tooMany(n int, lim *Limits) Error {
	return errf("ERR %d ids in one command, the limit is %d: send several commands", n, lim.MaxIDs)
}

// parseCounted reads "WORD n" at the cursor and checks that n times width
// arguments follow, and no more: the form of the DQM… commands, in which no id
// can be read as an option. The word itself was seen already.
func (c *cursor) parseCounted(word string, width int, max int64) error {
	if !c.more() {
		return syntaxf("%s needs a number behind it", word)
	}
	n, err := parseRange(word, c.next(), 1, max)
	if err != nil {
		return err
	}
	if have := len(c.rest()); int64(have) != n*int64(width) {
		return syntaxf("%s %d wants %d arguments behind it, not %d", word, n, n*int64(width), have)
	}
	return nil
}

// noToken stands for an integer that no lease ever has.
const noToken = math.MaxUint64

// parseToken reads a lease's token. Tokens start at 1, so that 0 can stand for *.
func parseToken(arg []byte) (uint64, error) {
	if isStar(arg) {
		return 0, nil
	}
	n, ok := parseInt(arg)
	if !ok {
		return 0, errf("ERR value is not an integer or out of range: token %s, use the one that came with the job, or *", quote(arg))
	}
	if n < 1 {
		return noToken, nil
	}
	return uint64(n), nil
}

// parseJobTokens reads pairs of id and token into jobs, which has their number.
func parseJobTokens(jobs []JobToken, pairs [][]byte, lim *Limits) error {
	for i := range jobs {
		id, token := pairs[2*i], pairs[2*i+1]
		if err := checkID(id, lim); err != nil {
			return err
		}
		n, err := parseToken(token)
		if err != nil {
			return err
		}
		jobs[i] = JobToken{ID: id, Token: n}
	}
	return nil
}

// parseState reads the name of a state.
func parseState(arg []byte) (record.State, error) {
	var buf [keywordMax]byte
	switch string(keyword(&buf, arg)) {
	case "delayed":
		return record.Delayed, nil
	case "ready":
		return record.Ready, nil
	case "leased":
		return record.Leased, nil
	case "dead":
		return record.Dead, nil
	}
	return 0, syntaxf("STATE %s is none of delayed, ready, leased, dead", quote(arg))
}

// StateName is the word for a state, everywhere.
func StateName(s record.State) string {
	switch s {
	case record.Delayed:
		return "delayed"
	case record.Ready:
		return "ready"
	case record.Leased:
		return "leased"
	case record.Dead:
		return "dead"
	}
	panic("commands: no such state")
}

// parseListCount reads the COUNT of a list.
func parseListCount(arg []byte, lim *Limits) (int, error) {
	n, ok := parseInt(arg)
	if !ok || n < 1 {
		return 0, notInteger("COUNT", arg, 1, int64(lim.MaxList))
	}
	return int(min(n, int64(lim.MaxList))), nil
}
