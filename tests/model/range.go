package model

import (
	"math"
	"sort"
	"strings"
)

// bound is an end of a range of due times, in ms as shown.
type bound struct {
	ms   int64
	open bool
}

// parseBound reads min or max.
func (m *Model) parseBound(s string) (b bound, ok bool) {
	if strings.HasPrefix(s, "(") {
		s, b.open = s[1:], true
	}
	switch strings.ToLower(s) {
	case "-inf":
		b.ms = math.MinInt64
		return b, true
	case "+inf", "inf":
		b.ms = math.MaxInt64
		return b, true
	case "now":
		b.ms = ceilDiv(m.wallNs(), ms)
		return b, true
	}
	if n, unit, rest, numbered := numberAndUnit(s); numbered && unit == "" && rest == "" {
		b.ms = n
		return b, true
	}
	ns, ok := parseTime(s)
	b.ms = ceilDiv(ns, ms)
	return b, ok
}

// between says whether a job's due is in a range.
func (m *Model) between(j *job, min, max bound) bool {
	due := m.dueReply(j).Num
	above := due > min.ms || due == min.ms && !min.open
	below := due < max.ms || due == max.ms && !max.open
	return above && below
}

// rangeOf lists the jobs of a state (none = delayed and ready) whose due is in the range, by due.
func (m *Model) rangeOf(queue, state string, min, max bound) []*job {
	jobs := m.inState(queue, state)
	if state == "" {
		jobs = append(m.inState(queue, "delayed"), m.inState(queue, "ready")...)
	}
	var in []*job
	for _, j := range jobs {
		if m.between(j, min, max) {
			in = append(in, j)
		}
	}
	sort.Slice(in, func(a, b int) bool {
		x, y := in[a], in[b]
		if dx, dy := m.toWall(x.due), m.toWall(y.due); dx != dy {
			return dx < dy
		}
		if x.pri != y.pri {
			return x.pri < y.pri
		}
		return x.accepted < y.accepted
	})
	return in
}

func (m *Model) dqrange(args []string) Reply {
	if len(args) < 4 {
		return fail("ERR", "wrong number of arguments")
	}
	min, ok1 := m.parseBound(args[2])
	max, ok2 := m.parseBound(args[3])
	w := &words{args: args[4:]}
	state, rev, payload := "", false, false
	off, count := int64(0), int64(100)
	for !w.empty() {
		name, ok := w.option(map[string]string{"STATE": "state", "LIMIT": "limit", "REV": "rev", "WITHPAYLOAD": "payload"})
		if !ok {
			return errSyntax
		}
		switch name {
		case "STATE":
			var bad *Reply
			if state, bad = parseState(w); bad != nil {
				return *bad
			}
		case "LIMIT":
			a, _ := w.next()
			b, ok := w.next()
			if !ok {
				return errSyntax
			}
			if off, ok = parseInt(a, 0, math.MaxInt64); !ok {
				return errNumber
			}
			if count, ok = parseInt(b, -1, math.MaxInt64); !ok || count == 0 {
				return errNumber
			}
			if count == -1 || count > 10000 {
				count = 10000
			}
		case "REV":
			rev = true
		case "WITHPAYLOAD":
			payload = true
		}
	}
	if !ok1 || !ok2 {
		return badTime(args[2] + " " + args[3])
	}
	jobs := m.rangeOf(args[1], state, min, max)
	r := array()
	for i := range jobs {
		j := jobs[i]
		if rev {
			j = jobs[len(jobs)-1-i]
		}
		if int64(i) < off || int64(len(r.Items)) == count {
			continue
		}
		item := array(m.idReply(j), m.dueReply(j))
		if payload {
			item.Items = append(item.Items, bulk(j.payload))
		}
		r.Items = append(r.Items, item)
	}
	return r
}

func (m *Model) dqcount(args []string) Reply {
	if len(args) < 4 {
		return fail("ERR", "wrong number of arguments")
	}
	min, ok1 := m.parseBound(args[2])
	max, ok2 := m.parseBound(args[3])
	state := ""
	switch {
	case len(args) == 4:
	case len(args) != 6 || !strings.EqualFold(args[4], "STATE"):
		return errSyntax
	default:
		var bad *Reply
		if state, bad = parseState(&words{args: args[5:]}); bad != nil {
			return *bad
		}
	}
	if !ok1 || !ok2 {
		return badTime(args[2] + " " + args[3])
	}
	return number(int64(len(m.rangeOf(args[1], state, min, max))))
}
