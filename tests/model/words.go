package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// shortDur is a delay, sometimes one that ends together with another.
func (g *Generator) shortDur() int64 {
	if len(g.model.jobs) > 0 && g.one(8) {
		wake, ok := g.model.wake(pick(g, g.model.jobs...))
		if left := wake - g.model.nowNs; ok && left < second {
			return left
		}
	}
	return pick(g, 0, 1, 1000, 1_000_001, ms, ms, 2*ms, 5*ms, 5*ms, 10*ms, 10*ms, 50*ms, 1500*ms)
}

// dur spells a duration in one of its ways.
func (g *Generator) dur(ns int64) string {
	var ways []string
	for _, unit := range []string{"ns", "us", "ms", "s", "m", "h", "d"} {
		if ns%unitNs[unit] == 0 {
			ways = append(ways, strconv.FormatInt(ns/unitNs[unit], 10)+unit)
		}
	}
	if ns%ms == 0 {
		ways = append(ways, strconv.FormatInt(ns/ms, 10), strconv.FormatInt(ns/ms, 10)+"MS")
	}
	if ns > second {
		ways = append(ways, fmt.Sprintf("%ds%dns", ns/second, ns%second))
	}
	if ns > ms {
		ways = append(ways, fmt.Sprintf("%dms%dus%dns", ns/ms, ns%ms/1000, ns%1000))
	}
	return pick(g, ways...)
}

// time spells an instant in one of its ways.
func (g *Generator) time(ns int64) string {
	t := time.Unix(0, ns).UTC()
	ways := []string{strconv.FormatInt(ns, 10) + "ns", t.Format(time.RFC3339Nano), t.In(time.FixedZone("", 2*3600+1800)).Format(time.RFC3339Nano)}
	for _, unit := range []string{"us", "ms", "s"} {
		if ns%unitNs[unit] == 0 {
			ways = append(ways, strconv.FormatInt(ns/unitNs[unit], 10)+unit)
		}
	}
	if ns%ms == 0 {
		ways = append(ways, strconv.FormatInt(ns/ms, 10))
	}
	return pick(g, ways...)
}

// instant is a wall time near now, sometimes past, sometimes exactly that of another job.
func (g *Generator) instant() int64 {
	now := g.model.wallNs()
	if g.one(4) && len(g.model.jobs) > 0 {
		return g.model.toWall(pick(g, g.model.jobs...).due)
	}
	at := now + pick(g, -hour, -second, -ms, -1, 0, 1, ms, 5*ms, 5*ms, 10*ms, 50*ms, second)
	if g.one(2) {
		at -= at % ms
	}
	return at
}

// ---- names ----

func (g *Generator) queue() string { return pick(g, g.queues...) }

// target is a queue and an id in it: mostly of a job that is there, else any.
func (g *Generator) target(states ...string) (string, Arg) {
	var jobs []*job
	for _, j := range g.model.jobs {
		for _, s := range states {
			if j.state == s {
				jobs = append(jobs, j)
			}
		}
	}
	if len(jobs) > 0 && !g.one(5) {
		j := pick(g, jobs...)
		if !j.made {
			return j.queue, Arg{Text: j.id}
		}
	}
	if len(g.made) > 0 && g.one(3) {
		made := g.made[max(0, len(g.made)-1-g.rnd.IntN(6))]
		return made.queue, Arg{Made: &made.ref}
	}
	return g.queue(), Arg{Text: pick(g, g.ids...)}
}

// token is the latest token of a job, or an older one, or another job's, or `*`, or one that was never given.
func (g *Generator) token(queue string, id Arg) Arg {
	ref := func(queue string, id Arg, back int) Arg {
		return Arg{Token: &TokenRef{queue, id, max(0, len(g.model.issued[jobKey(queue, g.modelID(id))])-1-back)}}
	}
	switch n := g.rnd.IntN(20); {
	case n < 12:
		return ref(queue, id, 0)
	case n < 15:
		return ref(queue, id, 1+g.rnd.IntN(2))
	case n < 17:
		return Arg{Text: "*"}
	case n < 18:
		q, other := g.target("leased")
		return ref(q, other, 0)
	case n < 19:
		return Arg{Token: &TokenRef{queue, id, 1 << 30}}
	}
	return Arg{Text: pick(g, "0", "4611686018427387903")}
}

func (g *Generator) modelID(id Arg) string {
	if id.Made == nil {
		return id.Text
	}
	return g.madeIDs[*id.Made]
}

func (g *Generator) payload() string {
	tag := "p" + strconv.Itoa(g.n) + ":"
	switch n := g.rnd.IntN(20); {
	case n < 2:
		return ""
	case n < 13:
		return tag
	case n < 14:
		return tag + "\x00\r\n\xff"
	case n < 18:
		return tag + strings.Repeat("x", 300-len(tag))
	case n < 19:
		return tag + strings.Repeat("y", pick(g, 254, 255, 256, 257)-len(tag))
	}
	return tag + strings.Repeat("z", 70_000)
}

func (g *Generator) addOptions(common bool) []option {
	var out []option
	maybe := func(in int, o option) {
		if g.one(in) {
			out = append(out, o)
		}
	}
	switch n := g.rnd.IntN(10); {
	case common:
	case n < 4:
		out = append(out, option{name: "DELAY", dur: g.shortDur()})
	case n < 7:
		out = append(out, option{name: "AT", at: g.instant()})
	}
	maybe(3, option{name: "PRI", text: []string{pick(g, "0", "1", "127", "128", "129", "255")}})
	maybe(3, option{name: "ATTEMPTS", text: []string{pick(g, "0", "1", "1", "2", "3", "65535")}})
	maybe(3, option{name: "BACKOFF", text: []string{g.anyCase(pick(g, "fixed:0", "fixed:5ms", "fixed:1ns", "exp:2ms:11ms", "exp:1ms:1h:3", "EXP:5ms:5ms:2:0%",
		"list:1ms,7ms,2ms", "list:4ms", "exp:1s:1h"))}})
	maybe(4, option{name: "LEASE", dur: pick(g, ms, 2*ms, 5*ms, 10*ms+1, 60*ms, 40*second)})
	switch n := g.rnd.IntN(10); {
	case n < 2:
		out = append(out, option{name: "TTL", dur: pick(g, 1, ms, 4*ms, 10*ms, second, hour)})
	case n < 4:
		at := g.model.wallNs() + pick(g, ms, 5*ms, 20*ms, second, hour)
		for _, o := range out {
			if !g.opt.LateExpire && o.name == "AT" {
				at = max(at, o.at+1)
			}
		}
		if g.opt.LateExpire && g.one(6) {
			at -= second
		}
		out = append(out, option{name: "EXPIREAT", at: at})
	}
	if g.one(4) {
		for i := range 1 + g.rnd.IntN(3) {
			out = append(out, option{name: "META", text: []string{fmt.Sprint("f", i, "\x00"), fmt.Sprint("v", g.rnd.IntN(5))}})
		}
	}
	maybe(8, option{name: "MAXLEN", text: []string{strconv.Itoa(1 + g.rnd.IntN(8))}})
	return out
}

// flags is one of the flags, with GT or LT where allowed.
func (g *Generator) flags() []option {
	flag := pick(g, "", "", "", "NX", "XX", "UPSERT", "UPSERT", "IDEM", "IDEM")
	if flag == "" {
		return nil
	}
	out := []option{{name: flag, text: []string{}}}
	if (flag == "XX" || flag == "UPSERT") && g.one(2) {
		out = append(out, option{name: pick(g, "GT", "LT"), text: []string{}})
	}
	return out
}

// spell writes options in random order; META keeps its order, because the last value wins.
func (g *Generator) spell(options []option) []Arg {
	var out []Arg
	for _, i := range g.rnd.Perm(len(options)) {
		o := options[i]
		if o.name == "META" {
			continue
		}
		out = append(out, Arg{Text: g.anyCase(o.name)})
		switch {
		case o.text != nil:
			out = append(out, texts(o.text...)...)
		case o.at != 0:
			out = append(out, Arg{Text: g.time(o.at)})
		default:
			out = append(out, Arg{Text: g.dur(o.dur)})
		}
	}
	for _, o := range options {
		if o.name == "META" {
			out = append(out, texts("META", o.text[0], o.text[1])...)
		}
	}
	return out
}
