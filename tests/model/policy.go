package model

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// policy is what DQCONFIG and DQPAUSE have set, and what holds deliveries back.
type policy struct {
	defaults  map[string]string            // fields set with queue *
	own       map[string]map[string]string // fields set by queue
	pausedIn  map[string]pause
	pausedOut map[string]pause
	buckets   map[string]bucket
}

// pause lasts until its end, or for ever.
type pause struct {
	end     instant
	endless bool
}

// bucket knows when each delivery that it let through comes back, oldest first. It is for one rate and burst: for others it is full.
type bucket struct {
	rate, burst int64
	back        []int64 // progress
}

func newPolicy() policy {
	return policy{map[string]string{}, map[string]map[string]string{}, map[string]pause{}, map[string]pause{}, map[string]bucket{}}
}

// copy is the policy with maps of its own.
func (p policy) copy() policy {
	c := policy{maps.Clone(p.defaults), map[string]map[string]string{}, maps.Clone(p.pausedIn), maps.Clone(p.pausedOut), map[string]bucket{}}
	for queue, fields := range p.own {
		c.own[queue] = maps.Clone(fields)
	}
	for queue, b := range p.buckets {
		b.back = slices.Clone(b.back)
		c.buckets[queue] = b
	}
	return c
}

// of are the settings that count for a queue.
func (m *Model) of(queue string) *Settings {
	s := m.settings
	for _, fields := range []map[string]string{m.defaults, m.own[queue]} {
		for name, value := range fields {
			if !s.set(name, value) {
				panic("a value that was refused: " + name + " " + value)
			}
		}
	}
	return &s
}

// set parses the value of a field.
func (s *Settings) set(name, value string) (ok bool) {
	number := func(n *int64, min, max int64) { *n, ok = parseInt(value, min, max) }
	switch name {
	case "lease":
		s.Lease, ok = parseDur(value)
		return ok && s.Lease >= minLease && s.Lease <= 12*hour
	case "lease-max":
		s.LeaseMax, ok = parseDur(value)
		return ok && s.LeaseMax >= minLease && s.LeaseMax <= 12*hour
	case "attempts":
		var n int64
		number(&n, 0, 65535)
		s.Attempts = int(n)
	case "backoff":
		s.Backoff, ok = parseBackoff(value)
	case "ttl":
		s.TTL, ok = parseDur(value)
	case "expire-to":
		s.ExpireTo = strings.ToLower(value)
		ok = s.ExpireTo == "drop" || s.ExpireTo == "dead"
	case "id-memory":
		s.IDMemory, ok = parseDur(value)
	case "max-len":
		number(&s.MaxLen, 0, 1<<53-1)
	case "max-payload":
		number(&s.MaxPayload, 1, maxPayload)
	case "max-delay":
		s.MaxDelay, ok = parseDur(value)
	case "max-inflight":
		number(&s.MaxInflight, 0, 1<<53-1)
	case "rate":
		number(&s.Rate, 0, 1_000_000)
	case "burst":
		number(&s.Burst, 0, 1_000_000)
	case "dead-keep":
		s.DeadKeep, ok = parseDur(value)
	case "dead-count":
		number(&s.DeadCount, 0, 1<<53-1)
	case "on-disconnect":
		s.OnDisconnect = strings.ToLower(value)
		ok = s.OnDisconnect == "keep" || s.OnDisconnect == "release"
	}
	return ok
}

// burst is how many deliveries may come at once.
func (s *Settings) burst() int64 {
	if s.Burst == 0 {
		return s.Rate
	}
	return s.Burst
}

func (m *Model) dqconfig(args []string) Reply {
	if len(args) < 3 {
		return fail("ERR", "wrong number of arguments")
	}
	queue := args[2]
	if !validName(queue, 255) {
		return fail("BADID", "queue")
	}
	if queue == "*" && m.own["*"] == nil {
		m.own["*"] = m.defaults // DQCONFIG does not know a queue of that name
	}
	switch fields := args[3:]; strings.ToUpper(args[1]) {
	case "GET":
		if len(fields) > 1 {
			return fail("ERR", "wrong number of arguments")
		}
		all := m.of(queue).show()
		if len(fields) == 0 {
			return all
		}
		prefix, ok := strings.CutSuffix(strings.ToLower(fields[0]), "*")
		if !ok {
			panic("the model knows no such glob")
		}
		some := Reply{Kind: Map}
		for i := 0; i < len(all.Items); i += 2 {
			if strings.HasPrefix(all.Items[i].Str, prefix) {
				some.Items = append(some.Items, all.Items[i], all.Items[i+1])
			}
		}
		return some
	case "SET":
		if len(fields) == 0 || len(fields)%2 != 0 {
			return fail("ERR", "wrong number of arguments")
		}
		changed := map[string]string{}
		for i := 0; i < len(fields); i += 2 {
			name := strings.ToLower(fields[i])
			var try Settings
			if _, twice := changed[name]; twice || !try.set(name, fields[i+1]) {
				return fail("ERR|BADTIME", "config")
			}
			changed[name] = fields[i+1]
		}
		return m.changeFields(queue, changed, nil)
	case "RESET":
		var names []string
		for _, name := range fields {
			name = strings.ToLower(name)
			if !slices.Contains(fieldNames(), name) || slices.Contains(names, name) {
				return fail("ERR", "field")
			}
			names = append(names, name)
		}
		if len(fields) == 0 {
			names = fieldNames()
		}
		if m.own[queue] == nil {
			return status("OK")
		}
		return m.changeFields(queue, nil, names)
	}
	return fail("ERR", "no such sub-command")
}

// changeFields changes all, or nothing when a lease would be above its maximum.
func (m *Model) changeFields(queue string, set map[string]string, reset []string) Reply {
	was, is := m.own[queue], map[string]string{}
	for name, value := range was {
		is[name] = value
	}
	for _, name := range reset {
		delete(is, name)
	}
	for name, value := range set {
		is[name] = value
	}
	put := func(fields map[string]string) {
		if queue == "*" {
			m.defaults = fields
		}
		m.own[queue] = fields
	}
	put(is)
	for name := range m.own {
		if s := m.of(name); s.Lease > s.LeaseMax {
			put(was)
			return fail("ERR", "lease is above lease-max")
		}
	}
	if queue != "*" {
		m.count(queue)
		m.unmakeIfBare(queue)
	}
	return status("OK")
}

// show is the answer of DQCONFIG GET.
func (s *Settings) show() Reply {
	dur := func(ns int64) Reply { return decimal(ceilDiv(ns, ms)) }
	return Reply{Kind: Map, Items: []Reply{
		bulk("lease"), dur(s.Lease), bulk("lease-max"), dur(s.LeaseMax), bulk("attempts"), decimal(int64(s.Attempts)), bulk("backoff"), bulk(s.Backoff.show()),
		bulk("ttl"), dur(s.TTL), bulk("expire-to"), bulk(s.ExpireTo), bulk("id-memory"), dur(s.IDMemory), bulk("max-len"), decimal(s.MaxLen),
		bulk("max-payload"), decimal(s.MaxPayload), bulk("max-delay"), dur(s.MaxDelay), bulk("max-inflight"), decimal(s.MaxInflight),
		bulk("rate"), decimal(s.Rate), bulk("burst"), decimal(s.burst()), bulk("dead-keep"), dur(s.DeadKeep), bulk("dead-count"), decimal(s.DeadCount),
		bulk("on-disconnect"), bulk(s.OnDisconnect),
	}}
}

func fieldNames() (names []string) {
	var s Settings
	for i, item := range s.show().Items {
		if i%2 == 0 {
			names = append(names, item.Str)
		}
	}
	return names
}

// show is the full form, in milliseconds.
func (b Backoff) show() string {
	msOf := func(ns int64) string { return strconv.FormatInt(ceilDiv(ns, ms), 10) }
	switch b.Kind {
	case "fixed":
		return "fixed:" + msOf(b.First)
	case "exp":
		return fmt.Sprintf("exp:%s:%s:%d:0%%", msOf(b.First), msOf(b.Max), b.Factor)
	}
	var items []string
	for _, d := range b.List {
		items = append(items, msOf(d))
	}
	return "list:" + strings.Join(items, ",")
}

// ---- pauses ----

func (m *Model) dqpause(args []string) Reply  { return m.pauseOrResume(args, true) }
func (m *Model) dqresume(args []string) Reply { return m.pauseOrResume(args, false) }

func (m *Model) pauseOrResume(args []string, pausing bool) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	queue := args[1]
	if !validName(queue, 255) {
		return fail("BADID", "queue")
	}
	slots := map[string]string{"IN": "way", "OUT": "way", "ALL": "way"}
	if pausing {
		slots["FOR"], slots["UNTIL"] = "end", "end"
	}
	way, p := "OUT", pause{endless: true}
	for w := (&words{args: args[2:]}); !w.empty(); {
		name, ok := w.option(slots)
		if !ok {
			return errSyntax
		}
		if name != "FOR" && name != "UNTIL" {
			way = name
			continue
		}
		value, ok := w.next()
		if !ok {
			return errSyntax
		}
		if name == "FOR" {
			d, ok := parseDur(value)
			if !ok || d == 0 {
				return badTime(value)
			}
			p = pause{end: instant{m.nowNs + d, false}}
		} else {
			t, ok := parseTime(value)
			if !ok || t <= m.wallNs() || t > m.wallNs()+maxAhead {
				return badTime(value)
			}
			p = pause{end: instant{t, true}}
		}
	}
	if pausing {
		m.count(queue)
	}
	if way != "OUT" {
		m.pausedIn[queue] = p
		if !pausing {
			delete(m.pausedIn, queue)
		}
	}
	if way != "IN" {
		m.pausedOut[queue] = p
		if !pausing {
			delete(m.pausedOut, queue)
		}
	}
	if !pausing {
		m.unmakeIfBare(queue)
	}
	until := func(pauses map[string]pause) Reply {
		if p := pauses[queue]; m.isPaused(pauses, queue) && !p.endless {
			return number(ceilDiv(m.toWall(p.end), ms))
		}
		return number(0)
	}
	return Reply{Kind: Map, Items: []Reply{bulk("state"), bulk(m.pausedState(queue)), bulk("in-until"), until(m.pausedIn), bulk("out-until"), until(m.pausedOut)}}
}

func (m *Model) isPaused(pauses map[string]pause, queue string) bool {
	p, ok := pauses[queue]
	return ok && (p.endless || m.toProgress(p.end) > m.nowNs)
}

func (m *Model) pausedState(queue string) string {
	in, out := m.isPaused(m.pausedIn, queue), m.isPaused(m.pausedOut, queue)
	switch {
	case in && out:
		return "all"
	case in:
		return "in"
	case out:
		return "out"
	}
	return "none"
}

// ---- what holds deliveries back ----

// open says whether the queue hands out one job more.
func (m *Model) open(queue string) bool {
	s := m.of(queue)
	return !m.isPaused(m.pausedOut, queue) &&
		(s.MaxInflight == 0 || int64(len(m.inState(queue, "leased"))) < s.MaxInflight) &&
		(s.Rate == 0 || int64(len(m.bucket(queue).back)) < s.burst())
}

// bucket is that of the present rate, without what has come back.
func (m *Model) bucket(queue string) bucket {
	s := m.of(queue)
	b := m.buckets[queue]
	if b.rate != s.Rate || b.burst != s.burst() {
		return bucket{rate: s.Rate, burst: s.burst()}
	}
	for len(b.back) > 0 && b.back[0] <= m.nowNs {
		b.back = b.back[1:]
	}
	return b
}

// spend takes a delivery out of the bucket. They come back one by one.
func (m *Model) spend(queue string) {
	if m.of(queue).Rate == 0 {
		return
	}
	b := m.bucket(queue)
	from := m.nowNs
	if len(b.back) > 0 {
		from = b.back[len(b.back)-1]
	}
	b.back = append(slices.Clone(b.back), from+ceilDiv(second, b.rate))
	m.buckets[queue] = b
}

// policyWakes are the coming moments at which a queue may open.
func (m *Model) policyWakes() (times []int64) {
	for _, p := range m.pausedOut {
		if !p.endless {
			times = append(times, m.toProgress(p.end))
		}
	}
	for queue := range m.buckets {
		times = append(times, m.bucket(queue).back...)
	}
	return slices.DeleteFunc(times, func(t int64) bool { return t <= m.nowNs })
}

// ---- dead jobs, and connections that end ----

// trim prunes the oldest dead jobs that are too many.
func (m *Model) trim() {
	for queue := range m.counts {
		dead, limit := m.inState(queue, "dead"), m.of(queue).DeadCount
		if limit == 0 {
			continue
		}
		sort.SliceStable(dead, func(a, b int) bool {
			if dead[a].diedNs != dead[b].diedNs {
				return dead[a].diedNs < dead[b].diedNs
			}
			return dead[a].accepted < dead[b].accepted
		})
		for ; int64(len(dead)) > limit; dead = dead[1:] {
			m.prune(dead[0])
		}
	}
}

func (m *Model) prune(j *job) {
	m.count(j.queue).pruned++
	m.remove(j)
}

// endLeases ends the leases given over a connection that ends, where the queue says so.
func (m *Model) endLeases(client int) {
	for _, j := range slices.Clone(m.jobs) {
		if j.state == "leased" && j.holder == client && m.of(j.queue).OnDisconnect == "release" {
			j.leaseEnd = m.nowNs
			m.endLease(j)
		}
	}
}
