package model

import "strings"

// fieldValues are what the generator sets: small, so that limits are met.
var fieldValues = map[string][]string{
	"lease":         {"5ms", "15ms", "20ms", "28s500ms"},
	"lease-max":     {"10ms", "50ms", "1m", "12h"},
	"attempts":      {"0", "1", "2", "5"},
	"backoff":       {"fixed:0", "fixed:3ms", "EXP:2ms:9ms", "exp:1ms:1h:3:0%", "list:1ms,7ms,1500us"},
	"ttl":           {"0", "40ms", "1s"},
	"expire-to":     {"drop", "Dead"},
	"id-memory":     {"0", "10ms", "200ms", "1m"},
	"max-len":       {"0", "1", "4", "6"},
	"max-payload":   {"5", "256", "300", "1048576"},
	"max-delay":     {"0", "10ms", "1s"},
	"max-inflight":  {"0", "0", "1", "2", "3"},
	"rate":          {"0", "0", "1", "3", "100", "300"},
	"burst":         {"0", "1", "2", "5"},
	"dead-keep":     {"0", "5ms", "1s", "30d"},
	"dead-count":    {"0", "1", "2"},
	"on-disconnect": {"keep", "release", "RELEASE"},
}

// policy changes or shows settings and pauses. What stops a queue is mostly short, or taken back soon: a run that stands still finds nothing.
func (g *Generator) policy() []Arg {
	queue, n := g.queue(), g.rnd.IntN(20)
	if n == 0 || n == 9 || n == 14 { // one without jobs
		queue = "never used"
	}
	switch {
	case n < 7:
		return g.setFields(queue)
	case n < 10:
		args := texts("DQCONFIG", "RESET", queue)
		if g.one(4) {
			args[2].Text = "*"
		}
		if g.one(2) {
			args = append(args, texts(g.fields(1+g.rnd.IntN(3))...)...)
		}
		return args
	case n < 12:
		args := texts("DQCONFIG", "GET", pick(g, queue, "*", "no such queue"))
		if g.one(3) {
			args = append(args, texts(pick(g, "*", "LEASE*", "max-*"))...)
		}
		return args
	case n < 15:
		args := texts("DQPAUSE", queue)
		if !g.one(3) {
			args = append(args, texts(pick(g, "IN", "out", "ALL"))...)
		}
		switch g.rnd.IntN(5) {
		case 0, 1:
			args = append(args, texts("FOR", g.dur(pick(g, 1, ms, 5*ms, 10*ms+1, 50*ms)))...)
		case 2, 3:
			args = append(args, texts("UNTIL", g.time(g.model.wallNs()+pick(g, -1, 1, ms, 5*ms, 10*ms, 50*ms)))...)
		}
		return args
	case n < 18:
		args := texts("DQRESUME", pick(g, queue, queue, "never used"))
		if g.one(2) {
			args = append(args, texts(pick(g, "IN", "OUT", "all"))...)
		}
		return args
	case g.opt.NoInvalid:
		return nil
	}
	bad := pick(g, "DQPAUSE q IN OUT", "DQPAUSE q FOR 0", "DQPAUSE q FOR 5 UNTIL 1900000000000", "DQPAUSE q UNTIL 5", "DQPAUSE q FOR", "DQRESUME q FOR 5", "DQPAUSE",
		"DQCONFIG SET q lease", "DQCONFIG SET q lease 0", "DQCONFIG SET q lease-max 13h", "DQCONFIG SET q max-len 5 colour red", "DQCONFIG SET q ttl 5 TTL 6",
		"DQCONFIG SET q rate -1", "DQCONFIG SET q max-payload 0", "DQCONFIG SET q expire-to nowhere", "DQCONFIG RESET q colour", "DQCONFIG PUT q", "DQCONFIG SET q",
		"DQCONFIG SET q max-len 5 lease 2h lease-max 1h", "DQCONFIG GET q a b")
	args := texts(strings.Fields(bad)...)
	for i := range args {
		if args[i].Text == "q" {
			args[i].Text = queue
		}
	}
	return args
}

func (g *Generator) setFields(queue string) []Arg {
	args := texts("DQCONFIG", "SET", queue)
	if g.one(4) {
		args[2].Text = "*"
	}
	for _, name := range g.fields(1 + g.rnd.IntN(3)) {
		args = append(args, texts(g.anyCase(strings.ToUpper(name)), pick(g, fieldValues[name]...))...)
	}
	return args
}

// fields are n different ones; those that hold deliveries back come up most.
func (g *Generator) fields(n int) (names []string) {
	all := fieldNames()
	if g.one(2) {
		all = []string{"max-inflight", "rate", "burst", "dead-count", "lease", "lease-max"}
	}
	for _, i := range g.rnd.Perm(len(all)) {
		if len(names) < n && (all[i] != "on-disconnect" || g.opt.Release) {
			names = append(names, all[i])
		}
	}
	if g.opt.Release && g.one(3) {
		names = append(names[:0], "on-disconnect")
	}
	return names
}
