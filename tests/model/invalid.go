package model

import (
	"strconv"
	"strings"
)

// invalid is a command that must be refused and change nothing.
func (g *Generator) invalid() []Arg {
	q, id := g.queue(), pick(g, g.ids...)
	add := func(options ...string) []Arg {
		return texts(append([]string{"DQADD", q, id, "invalid"}, options...)...)
	}
	switch g.rnd.IntN(34) {
	case 0:
		return add("DELAY", pick(g, "1.5", "-5", "", "1e3", "200000d", "5x", "99999999999999999999", "ms", " 5", "5 ", "+5"))
	case 1:
		return add("AT", pick(g, "1800000900", "-1", "", "1800000000000.5", "soon", "2030-01-01T00:00:00", "0"))
	case 2:
		return add("DELAY", "5", pick(g, "DELAY", "AT"), "1800000000000")
	case 3:
		return add(pick(g, "NX", "XX", "IDEM"), "UPSERT")
	case 4:
		return add(pick(g, "GT", "LT"))
	case 5:
		return add("PRI", pick(g, "256", "-1", "x", ""))
	case 6:
		return add("ATTEMPTS", pick(g, "65536", "-1"))
	case 7:
		return add("BACKOFF", pick(g, "foo", "fixed", "exp:1s", "list:", "fixed:1.5s"))
	case 8:
		return add("TTL", "5", "EXPIREAT", "1900000000000")
	case 9:
		return texts("DQADD", q, pick(g, "", strings.Repeat("i", 1025)), "p")
	case 10:
		return texts("DQADD", pick(g, "", strings.Repeat("q", 256)), id, "p")
	case 11:
		return texts("DQADD", q, "*", "p", pick(g, "NX", "UPSERT", "IDEM"))
	case 12:
		return texts("DQMADD", q, "JOBS", "2", id, "p", "+5", id, "p", "+6")
	case 13:
		return texts("DQMADD", q, "JOBS", pick(g, "0", "2", "x"), id, "p", "+5")
	case 14:
		return texts("DQMADD", q, "JOBS", "1", id, "p", pick(g, "5", "+-5", "+", "", "1800000900"))
	case 15:
		return texts("DQPOP", q, "COUNT", pick(g, "0", "1001", "-1"))
	case 16:
		return texts("DQPOP", q, "LEASE", pick(g, "0", "999us", "13h", "-1"))
	case 17:
		return texts("DQEXTEND", q, id, "5", pick(g, "0", "999us", "-1", "x"))
	case 18:
		return texts("DQACK", q, id, pick(g, "x", "", "1.5"))
	case 19:
		return texts("DQMACK", q, "JOBS", "2", id, "5")
	case 20:
		return texts("DQLEN", q, "STATE", "lost")
	case 21:
		args := add()
		for i := range 33 {
			args = append(args, texts("META", strconv.Itoa(i), "v")...)
		}
		return args
	case 22:
		return texts("DQRESCHEDULE", q, id, pick(g, "GT", "SOON"))
	case 23: // one word short
		short := pick(g, "DQADD q a", "DQMADD q", "DQPOP", "DQMPOP 2 q", "DQACK q a", "DQACK q a 1 b", "DQMACK q JOBS", "DQNACK q a", "DQEXTEND q a 1",
			"DQMEXTEND q 5", "DQCANCEL q", "DQMCANCEL q IDS", "DQRESCHEDULE q a", "DQGET q", "DQLEN", "DQPEEK", "DQLEN q STATE", "DQPEEK q COUNT",
			"DQRANGE q 0", "DQRANGE q 0 5 LIMIT 1", "DQCOUNT q 0", "DQSCAN q", "DQSCAN q 0 MATCH", "DQDEAD q", "DQQUEUES", "SCAN", "TYPE", "EXISTS")
		return texts(strings.Fields(short)...)
	case 24: // an option without its value
		return append(add(), texts(pick(g, "DELAY", "AT", "TTL", "EXPIREAT", "PRI", "ATTEMPTS", "BACKOFF", "LEASE", "META", "MAXLEN", "SOON", ""))...)
	case 25: // beyond the limits
		switch g.rnd.IntN(3) {
		case 0:
			return texts("DQADD", q, id, strings.Repeat("p", maxPayload+1))
		case 1:
			return texts("DQMADD", q, "JOBS", "2", "first", "p", "+5", id, "p", g.time(g.model.wallNs()+150*365*day))
		}
		return add("META", "k", strings.Repeat("v", 8<<10))
	case 26:
		bad := pick(g, "DELAY 5 NOW", "NOW GT LT", "NOW PRI 256", "NOW PRI", "DELAY -5", "AT 5", "NOW NOW")
		return append(texts("DQRESCHEDULE", q, id), texts(strings.Fields(bad)...)...)
	case 27:
		bad := pick(g, "DELAY 1.5", "AT 1800000900", "REASON", "FREE FREE", "SOON", "DELAY 5 DELAY 5")
		return append(texts("DQNACK", q, id, "5"), texts(strings.Fields(bad)...)...)
	case 28:
		bad := pick(g, "BLOCK -1", "BLOCK 1.5", "LEASE", "COUNT 1 COUNT 1", "NOACK NOACK", "FULL 1", "WORKER", "LEASE x")
		return append(texts("DQPOP", q), texts(strings.Fields(bad)...)...)
	case 29:
		bad := pick(g, "-1 5", "0 1.5", "soon 5", "0 5d", "( 5", "0 99999999999999999999", "0 5 LIMIT 0 0", "0 5 LIMIT -1 1", "0 5 LIMIT 0 x", "0 5 REV REV", "0 5 SOON", "0 5 STATE lost")
		return append(texts("DQRANGE", q), texts(strings.Fields(bad)...)...)
	case 30:
		bad := pick(g, "-1 5", "0 1.5", "0 5 REV", "0 5 STATE", "0 5 STATE lost", "0 5 LIMIT 0 1")
		return append(texts("DQCOUNT", q), texts(strings.Fields(bad)...)...)
	case 31:
		bad := pick(g, "-1", "x", "1.0", "99999999999999999999", "0 COUNT 0", "0 COUNT x", "0 COUNT 1 COUNT 1", "0 SOON", "0 COUNT")
		return append(texts(pick(g, "DQSCAN", "DQDEAD"), q), texts(strings.Fields(bad)...)...)
	case 32:
		bad := pick(g, "-1", "x", "0 COUNT 0", "0 COUNT x", "0 COUNT 1 COUNT 1", "0 SOON", "0 COUNT")
		return append(texts(pick(g, "DQQUEUES", "SCAN")), texts(strings.Fields(bad)...)...)
	case 33:
		bad := pick(g, "DQREQUEUE q", "DQREQUEUE q IDS 2 a", "DQREQUEUE q ALL IDS 1 a", "DQREQUEUE q SPREAD 1.5 ALL", "DQREQUEUE q DELAY 30000d SPREAD 30000d ALL",
			"DQPURGE q DUE 1", "DQPURGE q DUE 1 -5", "DQPURGE q LIMIT 0", "DQPURGE q STATE lost", "DQPURGE q DRYRUN DRYRUN", "DQPURGE q DUE 1 2 DUE 1 2",
			"DQDROP q FORCE FORCE", "DQDROP q ALL", "DQRELEASE q WORKER", "DQRELEASE q w1")
		args := texts(strings.Fields(bad)...)
		args[1].Text = q
		return args
	}
	return texts("DQNACK", q, id, "5", "DELAY", "5", "AT", "1800000000000")
}
