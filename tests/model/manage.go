package model

import (
	"math"
	"slices"
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

func (m *Model) dqrequeue(args []string) (*sliced, Reply) {
	if len(args) < 3 {
		return nil, fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	var delay, spread int64
	var ids []string
	all, given := false, false
	for !w.empty() {
		name, ok := w.option(map[string]string{"DELAY": "delay", "SPREAD": "spread", "ALL": "which", "IDS": "which"})
		if !ok {
			return nil, errSyntax
		}
		if name == "ALL" {
			all = true
			continue
		}
		if name == "IDS" {
			rows, bad := counted(&words{args: append([]string{"IDS"}, w.args...)}, "IDS", 1, 10000)
			if bad != nil {
				return nil, *bad
			}
			for _, row := range rows {
				ids = append(ids, row[0])
			}
			given = true
			break
		}
		value, ok := w.next()
		if !ok {
			return nil, errSyntax
		}
		ns, ok := parseDur(value)
		if !ok {
			return nil, badTime(value)
		}
		if name == "DELAY" {
			delay = ns
		} else {
			spread = ns
		}
	}
	if !all && !given {
		return nil, errSyntax
	}
	limit := maxAhead
	if own := m.of(args[1]).MaxDelay; own > 0 {
		limit = min(limit, own)
	}
	if delay+spread > limit {
		return nil, badTime("too far ahead")
	}
	queue, start := args[1], m.nowNs
	n := int64(len(ids))
	if all {
		n = int64(len(m.deadJobs(queue)))
	}
	requeue := func(m *Model, w *sliced, j *job) bool {
		limit := m.of(queue).MaxLen
		if limit > 0 && m.liveCount(queue) >= limit {
			w.left = 0
			return false
		}
		due := instant{ns: start + delay + w.done*(spread/n)}
		if m.find(queue, j.id) != j || j.state != "dead" || j.fixedExpire && m.toWall(j.expire) <= m.toWall(due) {
			return false
		}
		j.attempt, j.token, j.nacked = 0, 0, 0
		j.reasonOpen = true
		m.setDue(j, due)
		return true
	}
	if !all {
		w := &sliced{left: 1}
		for _, id := range ids {
			if j := m.find(queue, id); j != nil && w.left > 0 && requeue(m, w, j) {
				w.done++
			}
		}
		return nil, number(w.done)
	}
	if n == 0 {
		return nil, number(0)
	}
	return m.newBulk(&sliced{queue: queue, take: requeue, find: func(m *Model) (jobs []*job) {
		for _, j := range m.deadJobs(queue) {
			if m.find(queue, j.id) == j {
				jobs = append(jobs, j)
			}
		}
		sort.SliceStable(jobs, func(a, b int) bool { return idLess(jobs[a].id, jobs[b].id) }) // READINGS 75
		return jobs
	}})
}

// leasedJobs are the leased jobs of a queue, in the order of the bytes of their ids. Only where a bulk command stops half done may the order show.
func (m *Model) leasedJobs(queue string) []*job {
	jobs := m.inState(queue, "leased")
	sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].id < jobs[b].id })
	return jobs
}

func idLess(x, y string) bool { return len(x) < len(y) || len(x) == len(y) && x < y }

func (m *Model) dqrelease(args []string) (*sliced, Reply) {
	switch {
	case len(args) != 4:
		return nil, fail("ERR", "wrong number of arguments")
	case !strings.EqualFold(args[2], "WORKER"):
		return nil, errSyntax
	case !validName(args[3], 255):
		return nil, fail("BADID", "worker")
	}
	queue, worker, start := args[1], args[3], m.nowNs
	its := func(j *job) bool { return j.state == "leased" && j.worker == worker && j.takenNs <= start }
	return m.newBulk(&sliced{
		queue: queue,
		find: func(m *Model) []*job {
			return slices.DeleteFunc(m.leasedJobs(queue), func(j *job) bool { return !its(j) })
		},
		take: func(m *Model, _ *sliced, j *job) bool {
			if !its(j) {
				return false
			}
			j.leaseEnd = m.nowNs
			m.endLease(j)
			return true
		},
	})
}

func (m *Model) dqpurge(args []string) (*sliced, Reply) {
	if len(args) < 2 {
		return nil, fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	var states []string
	low, high, limit := bound{ms: math.MinInt64}, bound{ms: math.MaxInt64}, int64(math.MaxInt64)
	dry := false
	for !w.empty() {
		name, ok := w.option(map[string]string{"STATE": "", "DUE": "due", "LIMIT": "limit", "DRYRUN": "dryrun"})
		if !ok {
			return nil, errSyntax
		}
		switch name {
		case "STATE":
			state, bad := parseState(w)
			if bad != nil {
				return nil, *bad
			}
			states = append(states, state)
		case "DUE":
			from, _ := w.next()
			to, ok := w.next()
			if !ok {
				return nil, errSyntax
			}
			var ok1, ok2 bool
			low, ok1 = m.parseBound(from)
			high, ok2 = m.parseBound(to)
			if !ok1 || !ok2 {
				return nil, badTime(from + " " + to)
			}
		case "LIMIT":
			value, _ := w.next()
			if limit, ok = parseInt(value, 1, 1<<53-1); !ok {
				return nil, errNumber
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
	its := func(m *Model, j *job) bool { return wanted(j.state) && m.between(j, low, high) }
	purge, reply := m.newBulk(m.purging(args[1], its))
	if purge == nil {
		return nil, reply
	}
	purge.left = limit
	purge.repeat = wanted("dead") && (wanted("ready") || wanted("delayed") || wanted("leased"))
	if dry {
		return nil, number(min(limit, int64(len(purge.find(m)))))
	}
	return purge, reply
}

// purging takes the jobs of a queue: ready ones, delayed ones, leased ones, dead ones.
func (m *Model) purging(queue string, its func(m *Model, j *job) bool) *sliced {
	return &sliced{
		queue: queue,
		find: func(m *Model) []*job {
			jobs := slices.Concat(m.readyJobs(queue), m.delayedJobs(queue), m.leasedJobs(queue), m.deadJobs(queue))
			return slices.DeleteFunc(jobs, func(j *job) bool { return !its(m, j) })
		},
		take: func(m *Model, _ *sliced, j *job) bool {
			if !its(m, j) {
				return false
			}
			m.count(queue).purged++
			m.remove(j)
			if m.live(queue, j.id) == nil {
				m.forget(queue, j.id)
			}
			return true
		},
	}
}

func (m *Model) dqdrop(args []string) (*sliced, Reply) {
	switch {
	case len(args) < 2:
		return nil, fail("ERR", "wrong number of arguments")
	case len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "FORCE"):
		return nil, errSyntax
	}
	queue := args[1]
	w, reply := m.newBulk(m.purging(queue, func(*Model, *job) bool { return true }))
	switch {
	case w == nil:
		return nil, reply
	case !m.holds(queue):
		return nil, m.drop(queue)
	case len(args) == 2:
		return nil, fail("NOTEMPTY", "it holds jobs")
	}
	w.repeat = true
	w.end = func(m *Model, w *sliced) Reply {
		if !m.has(w) {
			return number(0) // somebody else did
		}
		return m.drop(queue)
	}
	return w, reply
}

func (m *Model) holds(queue string) bool {
	return slices.ContainsFunc(m.jobs, func(j *job) bool { return j.queue == queue })
}

// drop forgets a queue. Jobs that it holds came meanwhile: they are the first of a new one (READINGS 74).
func (m *Model) drop(queue string) Reply {
	m.memories = slices.DeleteFunc(m.memories, func(r memory) bool {
		j := m.live(queue, r.id)
		return r.queue == queue && (j == nil || j.accepted != r.job)
	})
	was := m.counts[queue]
	m.unmake(queue)
	if m.holds(queue) {
		m.counts[queue] = &counters{born: was.born}
		for _, j := range m.jobs {
			if j.queue == queue {
				m.counts[queue].added++
			}
		}
	}
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
