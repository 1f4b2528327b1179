package model

import (
	"math"
	"sort"
	"strings"
)

// deadJobs are the dead jobs of a queue in order of death; of one moment, in order of acceptance.
func (m *Model) deadJobs(queue string) []*job {
	jobs := m.inState(queue, "dead")
	sort.SliceStable(jobs, func(a, b int) bool {
		if x, y := jobs[a].diedNs, jobs[b].diedNs; x != y {
			return x < y
		}
		return jobs[a].accepted < jobs[b].accepted
	})
	return jobs
}

func (m *Model) dqrequeue(args []string) Reply {
	if len(args) < 3 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	var delay, spread int64
	var ids []string
	all, given := false, false
	for !w.empty() {
		name, ok := w.option(map[string]string{"DELAY": "delay", "SPREAD": "spread", "ALL": "which", "IDS": "which"})
		if !ok {
			return errSyntax
		}
		if name == "ALL" {
			all = true
			continue
		}
		if name == "IDS" {
			rows, bad := counted(&words{args: append([]string{"IDS"}, w.args...)}, "IDS", 1, 10000)
			if bad != nil {
				return *bad
			}
			for _, row := range rows {
				ids = append(ids, row[0])
			}
			given = true
			break
		}
		value, ok := w.next()
		if !ok {
			return errSyntax
		}
		ns, ok := parseDur(value)
		if !ok {
			return badTime(value)
		}
		if name == "DELAY" {
			delay = ns
		} else {
			spread = ns
		}
	}
	if !all && !given {
		return errSyntax
	}
	limit := maxAhead
	if own := m.of(args[1]).MaxDelay; own > 0 {
		limit = min(limit, own)
	}
	if delay+spread > limit {
		return badTime("too far ahead")
	}
	var jobs []*job
	n := int64(len(ids))
	if all {
		jobs = m.deadJobs(args[1])
		n = int64(len(jobs))
		sort.SliceStable(jobs, func(a, b int) bool { return idLess(jobs[a].id, jobs[b].id) }) // READINGS 75
	}
	for _, id := range ids {
		if j := m.find(args[1], id); j != nil && j.state == "dead" {
			jobs = append(jobs, j)
		}
	}
	done := int64(0)
	for _, j := range jobs {
		limit := m.of(args[1]).MaxLen
		if limit > 0 && m.liveCount(args[1]) >= limit {
			break
		}
		due := instant{ns: m.nowNs + delay + done*(spread/n)}
		if m.find(args[1], j.id) != j || j.state != "dead" || j.fixedExpire && m.toWall(j.expire) <= m.toWall(due) {
			continue
		}
		j.attempt, j.token, j.nacked = 0, 0, 0
		j.reasonOpen = true
		m.setDue(j, due)
		if done++; all && done == int64(m.atMost) {
			break
		}
	}
	return number(done)
}

// leasedJobs are the leased jobs of a queue, in the order of the bytes of their ids. Only where a bulk command stops half done may the order show.
func (m *Model) leasedJobs(queue string) []*job {
	jobs := m.inState(queue, "leased")
	sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].id < jobs[b].id })
	return jobs
}

func idLess(x, y string) bool { return len(x) < len(y) || len(x) == len(y) && x < y }

func (m *Model) dqrelease(args []string) Reply {
	switch {
	case len(args) != 4:
		return fail("ERR", "wrong number of arguments")
	case !strings.EqualFold(args[2], "WORKER"):
		return errSyntax
	case !validName(args[3], 255):
		return fail("BADID", "worker")
	}
	done := int64(0)
	for _, j := range m.leasedJobs(args[1]) {
		if j.worker == args[3] {
			j.leaseEnd = m.nowNs
			m.endLease(j)
			if done++; done == int64(m.atMost) {
				break
			}
		}
	}
	return number(done)
}

func (m *Model) dqpurge(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	var states []string
	low, high, limit := bound{ms: math.MinInt64}, bound{ms: math.MaxInt64}, int64(math.MaxInt64)
	dry := false
	for !w.empty() {
		name, ok := w.option(map[string]string{"STATE": "", "DUE": "due", "LIMIT": "limit", "DRYRUN": "dryrun"})
		if !ok {
			return errSyntax
		}
		switch name {
		case "STATE":
			state, bad := parseState(w)
			if bad != nil {
				return *bad
			}
			states = append(states, state)
		case "DUE":
			from, _ := w.next()
			to, ok := w.next()
			if !ok {
				return errSyntax
			}
			var ok1, ok2 bool
			low, ok1 = m.parseBound(from)
			high, ok2 = m.parseBound(to)
			if !ok1 || !ok2 {
				return badTime(from + " " + to)
			}
		case "LIMIT":
			value, _ := w.next()
			if limit, ok = parseInt(value, 1, 1<<53-1); !ok {
				return errNumber
			}
		case "DRYRUN":
			dry = true
		}
	}
	wanted := func(state string) bool {
		for _, s := range states {
			if s == state {
				return true
			}
		}
		return states == nil && (state == "ready" || state == "delayed")
	}
	var jobs []*job
	for _, some := range [][]*job{m.readyJobs(args[1]), m.delayedJobs(args[1]), m.leasedJobs(args[1]), m.deadJobs(args[1])} {
		for _, j := range some {
			if wanted(j.state) && m.between(j, low, high) && int64(len(jobs)) < limit {
				jobs = append(jobs, j)
			}
		}
	}
	for i, j := range jobs {
		if dry || m.atMost > 0 && i == m.atMost {
			break
		}
		m.count(args[1]).purged++
		m.remove(j)
		if m.live(args[1], j.id) == nil {
			m.forget(args[1], j.id)
		}
	}
	return number(int64(len(jobs)))
}

func (m *Model) dqdrop(args []string) Reply {
	switch {
	case len(args) < 2:
		return fail("ERR", "wrong number of arguments")
	case len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "FORCE"):
		return errSyntax
	}
	queue := args[1]
	if m.counts[queue] == nil {
		return number(0)
	}
	var jobs []*job
	for _, j := range m.jobs {
		if j.queue == queue {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) > 0 && len(args) == 2 {
		return fail("NOTEMPTY", "it holds jobs")
	}
	if m.atMost > 0 { // until its end it purges
		return m.dqpurge([]string{"DQPURGE", queue, "STATE", "ready", "STATE", "delayed", "STATE", "leased", "STATE", "dead"})
	}
	for _, j := range jobs {
		m.remove(j)
		m.forget(queue, j.id)
	}
	kept := m.memories[:0]
	for _, r := range m.memories {
		if r.queue != queue {
			kept = append(kept, r)
		}
	}
	m.memories = kept
	m.unmake(queue)
	return number(1)
}

// unmake ends a queue without jobs.
func (m *Model) unmake(queue string) {
	delete(m.counts, queue)
	delete(m.own, queue)
	delete(m.pausedIn, queue)
	delete(m.pausedOut, queue)
	delete(m.buckets, queue)
}

// unmakeIfBare ends a queue that holds neither a job nor a setting nor a counter. A pause holds it too.
func (m *Model) unmakeIfBare(queue string) {
	c := m.counts[queue]
	if c == nil || *c != (counters{born: c.born}) || len(m.own[queue]) > 0 {
		return
	}
	for _, pauses := range []map[string]pause{m.pausedIn, m.pausedOut} {
		if _, ok := pauses[queue]; ok {
			return
		}
	}
	for _, j := range m.jobs {
		if j.queue == queue {
			return
		}
	}
	m.unmake(queue)
}
