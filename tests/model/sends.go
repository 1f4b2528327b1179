package model

import (
	"strconv"
	"strings"
)

func (g *Generator) command() []Arg {
	switch n := g.rnd.IntN(100); {
	case n < 21:
		return g.add()
	case n < 25:
		return g.madd()
	case n < 31:
		return g.resend()
	case n < 45:
		return g.pop(false)
	case n < 52:
		return g.pop(true)
	case n < 60:
		return g.ack()
	case n < 69:
		return g.nack()
	case n < 74:
		return g.extend()
	case n < 79:
		return g.cancel()
	case n < 87:
		return g.reschedule()
	case n < 92:
		return g.look()
	case n < 95:
		return g.manage()
	}
	if g.opt.NoInvalid {
		return nil
	}
	return g.invalid()
}

// neverQueued are commands that are no part of a transaction.
var neverQueued = map[string]bool{"DQPEEK": true, "DQRANGE": true, "DQCOUNT": true, "DQSCAN": true, "DQDEAD": true, "DQQUEUES": true, "SCAN": true,
	"DQPURGE": true, "DQDROP": true, "DQRELEASE": true}

// transaction is a few commands, seldom with one that cannot be read.
func (g *Generator) transaction() (commands [][]Arg) {
	for n := 1 + g.rnd.IntN(6); len(commands) < n; {
		args := g.command()
		if !g.opt.NoPolicy && g.one(9) {
			args = g.policy()
		}
		if len(args) == 0 || g.opt.Skip[args[0].Text] || neverQueued[args[0].Text] || args[0].Text == "DQREQUEUE" && args[len(args)-1].Text == "ALL" {
			continue
		}
		commands = append(commands, args)
	}
	return commands
}

func (g *Generator) add() []Arg {
	queue, id := g.target("delayed", "ready", "dead")
	payload := g.payload()
	if g.one(8) {
		g.made = append(g.made, madeJob{queue, MadeRef{g.n, 0}})
		return append(texts("DQADD", queue, "*", payload), g.spell(g.addOptions(false))...)
	}
	if id.Made != nil || g.one(3) {
		queue, id = g.queue(), Arg{Text: pick(g, g.ids...)}
	}
	options := append(g.addOptions(false), g.flags()...)
	for _, o := range options {
		if o.name == "IDEM" {
			g.adds = append(g.adds, idemAdd{queue, id.Text, payload, options})
		}
	}
	return append(texts("DQADD", queue, id.Text, payload), g.spell(options)...)
}

// resend sends an IDEM add again: the same spelled differently, as a DQMADD, or a little changed.
func (g *Generator) resend() []Arg {
	if len(g.adds) == 0 {
		return g.add()
	}
	a := g.adds[max(0, len(g.adds)-1-g.rnd.IntN(3))]
	var remembered []idemAdd
	for _, add := range g.adds[max(0, len(g.adds)-20):] {
		for _, r := range g.model.memories {
			if r.queue == add.queue && r.id == add.id {
				remembered = append(remembered, add)
				if g.model.live(add.queue, add.id) == nil {
					remembered = append(remembered, add, add, add)
				}
			}
		}
	}
	if len(remembered) > 0 && g.one(2) {
		a = pick(g, remembered...)
	}
	options := append([]option(nil), a.options...)
	change := g.one(4)
	if change {
		switch i := g.rnd.IntN(len(options)); {
		case options[i].name == "DELAY":
			options[i].dur++
		case options[i].name == "AT":
			options[i].at++
		case options[i].name == "PRI":
			options = append(options[:i], options[i+1:]...)
		default:
			a.payload += "!"
		}
	}
	if g.one(3) {
		for i, o := range options {
			if o.name == "DELAY" || o.name == "AT" {
				due := "+" + g.dur(o.dur)
				if o.at != 0 {
					due = g.time(o.at)
				}
				rest := append(append([]option(nil), options[:i]...), options[i+1:]...)
				return append(append(texts("DQMADD", a.queue), g.spell(rest)...), texts("JOBS", "1", a.id, a.payload, due)...)
			}
		}
	}
	return append(texts("DQADD", a.queue, a.id, a.payload), g.spell(options)...)
}

func (g *Generator) madd() []Arg {
	queue := g.queue()
	options := g.addOptions(true)
	stars := g.one(4)
	idem := false
	if !stars {
		flags := g.flags()
		idem = len(flags) > 0 && flags[0].name == "IDEM"
		options = append(options, flags...)
	}
	args := append(texts("DQMADD", queue), g.spell(options)...)
	ids := g.rnd.Perm(len(g.ids))[:1+g.rnd.IntN(3)]
	args = append(args, texts("JOBS", strconv.Itoa(len(ids)))...)
	for i, k := range ids {
		id := g.ids[k]
		if stars {
			id = "*"
			g.made = append(g.made, madeJob{queue, MadeRef{g.n, i}})
		}
		o := option{name: "DELAY", dur: g.shortDur()}
		if g.one(3) {
			o = option{name: "AT", at: max(1, g.instant())}
		}
		due := "+" + g.dur(o.dur)
		if o.at != 0 {
			due = g.time(o.at)
		}
		payload := g.payload()
		if idem {
			var alone []option
			alone = append(append(alone, options...), o)
			g.adds = append(g.adds, idemAdd{queue, id, payload, alone})
		}
		args = append(args, texts(id, payload, due)...)
	}
	return args
}

func (g *Generator) pop(block bool) []Arg {
	queue := g.queue()
	args := texts("DQPOP", queue)
	if g.one(6) {
		args = texts("DQMPOP", "2", queue, g.queue())
	}
	var options []option
	maybe := func(in int, o option) {
		if g.one(in) {
			options = append(options, o)
		}
	}
	maybe(2, option{name: "COUNT", text: []string{pick(g, "1", "2", "3", "1000")}})
	// Lease-max of the queues is between 50 ms and 12 h: a lease above it is refused, which is also worth asking for.
	maybe(3, option{name: "LEASE", dur: pick(g, ms, 2*ms, 3*ms+1, 8*ms, 50*ms, 50*ms+1, 2*second)})
	maybe(10, option{name: "NOACK", text: []string{}})
	maybe(4, option{name: "WORKER", text: []string{pick(g, "w1", "w2\x00")}})
	maybe(3, option{name: "FULL", text: []string{}})
	if block {
		// Never a round number: a wait that ends in the nanosecond of a wake-up is a tie that the contract leaves open.
		options = append(options, option{name: "BLOCK", dur: pick(g, 0, 3*ms+137, 20*ms+139, 2*second+141, 45*second)})
	}
	return append(args, g.spell(options)...)
}

func (g *Generator) ack() []Arg {
	queue, id := g.target("leased", "leased", "delayed", "ready", "dead")
	if g.one(2) {
		args := append(texts("DQACK", queue), id, g.token(queue, id))
		if g.one(4) {
			args = append(args, id, g.token(queue, id))
		}
		return args
	}
	other := Arg{Text: pick(g, g.ids...)}
	return append(texts("DQMACK", queue, "JOBS", "2"), id, g.token(queue, id), other, g.token(queue, other))
}

func (g *Generator) nack() []Arg {
	queue, id := g.target("leased", "leased", "leased", "delayed", "ready", "dead")
	var options []option
	if g.one(3) {
		options = append(options, option{name: "DELAY", dur: g.shortDur()})
	} else if g.one(4) {
		options = append(options, option{name: "AT", at: g.instant()})
	}
	switch g.rnd.IntN(6) {
	case 0, 1:
		options = append(options, option{name: "FREE", text: []string{}})
	case 2:
		options = nil
		options = append(options, option{name: "DEAD", text: []string{}})
	}
	if g.one(3) {
		options = append(options, option{name: "REASON", text: []string{pick(g, "boom", "", strings.Repeat("r", 1024), strings.Repeat("r", 1025), "\x00\xff")}})
	}
	return append(append(texts("DQNACK", queue), id, g.token(queue, id)), g.spell(options)...)
}

func (g *Generator) extend() []Arg {
	queue, id := g.target("leased", "leased", "delayed", "ready", "dead")
	d := g.dur(pick(g, ms, 2*ms, 10*ms, 45*ms, 50*ms, 50*ms+1, 29*second, 12*hour, 12*hour+1))
	if g.one(2) {
		return append(texts("DQEXTEND", queue), id, g.token(queue, id), Arg{Text: d})
	}
	other := Arg{Text: pick(g, g.ids...)}
	return append(texts("DQMEXTEND", queue, d, "JOBS", "2"), id, g.token(queue, id), other, g.token(queue, other))
}

func (g *Generator) cancel() []Arg {
	queue, id := g.target("leased", "delayed", "ready", "dead")
	other := Arg{Text: pick(g, g.ids...)}
	switch g.rnd.IntN(3) {
	case 0:
		return append(texts("DQCANCEL", queue), id)
	case 1:
		return append(texts("DQCANCEL", queue), id, other, id)
	}
	args := texts("DQMCANCEL", queue)
	if g.one(2) {
		args = append(args, texts("FORCE")...)
	}
	return append(append(args, texts("IDS", "2")...), id, other)
}

func (g *Generator) reschedule() []Arg {
	queue, id := g.target("delayed", "delayed", "ready", "leased", "dead")
	var options []option
	switch g.rnd.IntN(3) {
	case 0:
		options = append(options, option{name: "DELAY", dur: g.shortDur()})
	case 1:
		options = append(options, option{name: "AT", at: g.instant()})
	default:
		options = append(options, option{name: "NOW", text: []string{}})
	}
	if g.one(2) {
		options = append(options, option{name: pick(g, "GT", "LT"), text: []string{}})
	}
	if g.one(3) {
		options = append(options, option{name: "PRI", text: []string{pick(g, "0", "128", "255")}})
	}
	if g.one(4) {
		options = append(options, option{name: "PAYLOAD", text: []string{g.payload()}})
	}
	return append(append(texts("DQRESCHEDULE", queue), id), g.spell(options)...)
}

func (g *Generator) look() []Arg {
	queue, id := g.target("delayed", "ready", "leased", "dead")
	switch g.rnd.IntN(12) {
	case 6, 7:
		return g.dueRange(queue)
	case 8, 11:
		args := texts("DQCOUNT", queue, g.bound(queue), g.bound(queue))
		if g.one(2) {
			args = append(args, texts("STATE", pick(g, "delayed", "ready", "LEASED", "dead"))...)
		}
		return args
	case 9:
		return texts("EXISTS", queue, pick(g, "no such queue", queue))
	case 10:
		return texts("TYPE", pick(g, queue, "no such queue"))
	case 0:
		return append(texts("DQGET", queue), id)
	case 1:
		return append(append(texts("DQGET", queue), id), texts("state", "PAYLOAD", "no-such-field", "due-ns", "attempt", "token")...)
	case 2:
		return texts("DQLEN", queue, "STATE", pick(g, "delayed", "READY", "leased", "dead"))
	case 3:
		return texts("DQPEEK", queue, "COUNT", pick(g, "1", "2", "10001"))
	case 4:
		return texts("DQPEEK", queue, "STATE", pick(g, "ready", "Delayed", "leased", "dead"), "COUNT", "10000")
	}
	return texts("DQSTATS", pick(g, queue, "no such queue"))
}

// manage is a command on many jobs. Drops are rare: they take a queue's settings with them.
func (g *Generator) manage() []Arg {
	queue, id := g.target("dead")
	switch n := g.rnd.IntN(20); {
	case n < 9:
		args := texts("DQREQUEUE", queue)
		if g.one(3) {
			args = append(args, texts("DELAY", g.dur(g.shortDur()))...)
		}
		if g.one(3) {
			args = append(args, texts("SPREAD", g.dur(pick(g, 1, 7*ms+1, 50*ms, second)))...)
		}
		if g.one(2) {
			return append(args, texts("ALL")...)
		}
		return append(append(args, texts("IDS", "3")...), id, Arg{Text: pick(g, g.ids...)}, id)
	case n < 12:
		queue, _ = g.target("leased")
		return texts("DQRELEASE", queue, "WORKER", pick(g, "w1", "w2\x00", "w3"))
	case n < 18:
		return g.purge()
	case n < 19:
		return texts("DQDROP", queue)
	}
	return texts("DQDROP", queue, pick(g, "FORCE", "force"))
}

// purge purges a little, mostly: else there would never be much.
func (g *Generator) purge() []Arg {
	queue := g.queue()
	args := texts("DQPURGE", queue)
	leased := g.one(4)
	switch {
	case leased:
		args = append(args, texts("STATE", "leased", "STATE", pick(g, "dead", "READY", "leased"))...)
	case g.one(2):
		args = append(args, texts("STATE", pick(g, "ready", "delayed", "dead", "dead"))...)
	}
	if !g.one(5) {
		args = append(args, texts("DUE", g.bound(queue), g.bound(queue))...)
	}
	if !leased && g.one(2) { // leased jobs have no order
		args = append(args, texts("LIMIT", pick(g, "1", "2", "100"))...)
	}
	if g.one(3) {
		args = append(args, texts("DRYRUN")...)
	}
	return args
}

// bound is an end of a range: often the due of a job, as shown or near it.
func (g *Generator) bound(queue string) string {
	open := pick(g, "", "", "(")
	at := g.instant()
	var here []*job
	for _, j := range g.model.jobs {
		if j.queue == queue {
			here = append(here, j)
		}
	}
	if len(here) > 0 && !g.one(4) {
		at = g.model.toWall(pick(g, here...).due)
	}
	switch g.rnd.IntN(8) {
	case 0:
		return open + pick(g, "-inf", "-INF")
	case 1:
		return open + pick(g, "+inf", "inf")
	case 2:
		return open + g.anyCase("NOW")
	case 3:
		return pick(g, "0", "(0", "99999999999999")
	case 4:
		return open + g.time(at)
	}
	return open + strconv.FormatInt(ceilDiv(at, ms)+pick[int64](g, 0, 0, 0, -1, 1), 10)
}

func (g *Generator) dueRange(queue string) []Arg {
	var options []option
	maybe := func(in int, o option) {
		if g.one(in) {
			options = append(options, o)
		}
	}
	maybe(2, option{name: "STATE", text: []string{pick(g, "delayed", "Ready", "leased", "dead")}})
	maybe(2, option{name: "LIMIT", text: []string{pick(g, "0", "1", "3"), pick(g, "-1", "1", "2", "20000")}})
	maybe(2, option{name: "REV", text: []string{}})
	maybe(2, option{name: "WITHPAYLOAD", text: []string{}})
	min, max := g.bound(queue), g.bound(queue)
	if g.one(3) {
		min, max = "-inf", "+inf"
	}
	return append(texts("DQRANGE", queue, min, max), g.spell(options)...)
}

// walk is the begin of a walk by cursor.
func (g *Generator) walk() []Arg {
	var options []option
	maybe := func(in int, o option) {
		if g.one(in) {
			options = append(options, o)
		}
	}
	options = append(options, option{name: "COUNT", text: []string{pick(g, "1", "1", "2", "3", "10000")}})
	name := pick(g, "DQSCAN", "DQSCAN", "DQSCAN", "DQDEAD", "DQDEAD", "DQQUEUES", "SCAN")
	args := texts(name)
	if name == "DQSCAN" || name == "DQDEAD" {
		args = append(args, texts(g.queue())...)
	}
	args = append(args, texts("0")...)
	if name != "DQDEAD" {
		maybe(4, option{name: "MATCH", text: []string{pick(g, "[a-c]*", "?", "*", "q3", "1*", "[^a]", "no such")}})
	}
	switch name {
	case "DQSCAN":
		maybe(2, option{name: "STATE", text: []string{pick(g, "delayed", "ready", "LEASED", "dead")}})
		maybe(8, option{name: "WORKER", text: []string{pick(g, "w1", "w2\x00")}})
		maybe(3, option{name: "FULL", text: []string{}})
	case "DQQUEUES":
		maybe(2, option{name: "WITHLEN", text: []string{}})
	case "SCAN":
		maybe(4, option{name: "TYPE", text: []string{pick(g, "dqueue", "DQueue", "string")}})
	}
	return append(args, g.spell(options)...)
}
