package model

import "strings"

// ---- how a job's facts are shown ----

func (m *Model) idReply(j *job) Reply {
	if j.made {
		return Reply{Kind: MadeID, Str: j.id}
	}
	return bulk(j.id)
}

func (m *Model) tokenReply(j *job) Reply {
	if j.shown == 0 {
		return none()
	}
	token := Reply{Kind: Lease, Num: j.shown, Str: jobKey(j.queue, j.id)}
	if j.state == "leased" {
		return token
	}
	return oneOf(none(), token)
}

func (m *Model) dueReply(j *job) Reply   { return number(ceilDiv(m.toWall(j.due), ms)) }
func (m *Model) dueNsReply(j *job) Reply { return decimal(m.toWall(j.due)) }

// lateReply is how late a job was on delivery. After a step of the wall the two clocks differ, and the contract does not say which counts.
func (m *Model) lateReply(j *job) Reply {
	byProgress := ceilDiv(max(0, m.nowNs-j.lateFrom), 1000)
	byWall := ceilDiv(max(0, m.wallNs()-j.due.ns), 1000)
	return oneOf(number(byProgress), number(byWall))
}

func (m *Model) createdReply(j *job) Reply { return number(ceilDiv(j.created, ms)) }

func (m *Model) leaseUntilReply(j *job) Reply {
	if j.state != "leased" {
		return none()
	}
	return number(ceilDiv(m.toWall(instant{ns: j.leaseEnd}), ms))
}

func (m *Model) workerReply(j *job) Reply {
	if j.state != "leased" {
		return oneOf(none(), bulk(j.worker))
	}
	return bulkOrNone(j.worker)
}

func (m *Model) expireReply(j *job) Reply {
	if !j.expires {
		return none()
	}
	at := number(ceilDiv(m.toWall(j.expire), ms))
	if j.state == "dead" {
		return oneOf(none(), at)
	}
	return at
}

func metaReply(j *job) Reply {
	if len(j.meta) == 0 {
		return none()
	}
	r := Reply{Kind: Map}
	for k, v := range j.meta {
		r.Items = append(r.Items, bulk(k), bulk(v))
	}
	return r
}

func reasonReply(j *job) Reply {
	if j.reasonOpen {
		return any_()
	}
	return bulkOrNone(j.reason)
}

// fields builds a map out of names and replies; ignored fields keep their name only.
func (m *Model) fields(pairs ...any) Reply {
	r := Reply{Kind: Map}
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i].(string), pairs[i+1].(Reply)
		if m.settings.Ignore[name] {
			value = any_()
		}
		r.Items = append(r.Items, bulk(name), value)
	}
	return r
}

// ---- commands ----

func (m *Model) dqget(args []string) Reply {
	if len(args) < 3 {
		return fail("ERR", "wrong number of arguments")
	}
	j := m.find(args[1], args[2])
	if j == nil {
		return null()
	}
	all := m.jobMap(j)
	if len(args) == 3 {
		return all
	}
	picked := Reply{Kind: Array}
	for _, name := range args[3:] {
		value, ok := all.Field(strings.ToLower(name))
		if !ok {
			value = null()
		}
		picked.Items = append(picked.Items, value)
	}
	return picked
}

// jobMap is all that DQGET shows.
func (m *Model) jobMap(j *job) Reply {
	late := any_()
	if j.state == "ready" && !m.settings.Ignore["get-late-us"] {
		late = m.lateReply(j)
	}
	return m.fields("id", m.idReply(j), "queue", bulk(j.queue), "state", bulk(j.state), "due", m.dueReply(j), "due-ns", m.dueNsReply(j),
		"created", m.createdReply(j), "attempt", number(int64(j.attempt)), "max-attempts", number(int64(m.maxAttempts(j))), "token", m.tokenReply(j),
		"lease-until", m.leaseUntilReply(j), "worker", m.workerReply(j), "pri", number(int64(j.pri)), "backoff", any_(), "expire-at", m.expireReply(j),
		"reason", reasonReply(j), "late-us", late, "size", number(int64(len(j.payload))), "meta", metaReply(j), "payload", bulk(j.payload))
}

// parseState reads `STATE s`.
func parseState(w *words) (state string, bad *Reply) {
	s, ok := w.next()
	state = strings.ToLower(s)
	if !ok {
		return "", &errSyntax
	}
	switch state {
	case "delayed", "ready", "leased", "dead":
		return state, nil
	}
	r := fail("ERR", "unknown state")
	return "", &r
}

func (m *Model) dqlen(args []string) Reply {
	switch {
	case len(args) == 2:
		return number(m.liveCount(args[1]))
	case len(args) != 4 || !strings.EqualFold(args[2], "STATE"):
		return errSyntax
	}
	state, bad := parseState(&words{args: args[3:]})
	if bad != nil {
		return *bad
	}
	return number(int64(len(m.inState(args[1], state))))
}

func (m *Model) dqpeek(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	count, state := int64(100), ""
	for !w.empty() {
		name, ok := w.option(map[string]string{"STATE": "state", "COUNT": "count"})
		if !ok {
			return errSyntax
		}
		if name == "STATE" {
			var bad *Reply
			if state, bad = parseState(w); bad != nil {
				return *bad
			}
			continue
		}
		value, _ := w.next()
		if count, ok = parseInt(value, 1, 1<<53); !ok {
			return errNumber
		}
		count = min(count, 10000)
	}
	var jobs []*job
	r := Reply{Kind: Array}
	switch state {
	case "":
		jobs = append(m.readyJobs(args[1]), m.delayedJobs(args[1])...)
	case "ready":
		jobs = m.readyJobs(args[1])
	case "delayed":
		jobs = m.delayedJobs(args[1])
	default:
		jobs = m.inState(args[1], state)
		r.Kind = Bag
	}
	for i, j := range jobs {
		if int64(i) < count {
			r.Items = append(r.Items, array(m.idReply(j), m.dueReply(j), number(int64(j.attempt)), bulk(j.payload)))
		}
	}
	return r
}

func (m *Model) dqstats(args []string) Reply {
	if len(args) != 2 {
		return any_()
	}
	c := m.counts[args[1]]
	if c == nil {
		return null()
	}
	states := map[string]int64{}
	bytes, blocked := int64(0), int64(0)
	for _, j := range m.jobs {
		if j.queue == args[1] {
			states[j.state]++
			bytes += int64(len(j.payload))
		}
	}
	for _, w := range m.waiters {
		for _, q := range w.pop.queues {
			if q == args[1] {
				blocked++
				break
			}
		}
	}
	oldest := int64(0)
	for _, j := range m.inState(args[1], "ready") {
		oldest = max(oldest, m.wallNs()-j.due.ns)
	}
	next := null()
	for _, j := range m.inState(args[1], "delayed") {
		if due := m.dueReply(j); next.Kind == Null || due.Num < next.Num {
			next = due
		}
	}
	return m.fields("delayed", number(states["delayed"]), "ready", number(states["ready"]), "leased", number(states["leased"]), "dead", number(states["dead"]),
		"bytes", number(bytes), "oldest-ready-ms", number(ceilDiv(oldest, ms)), "next-due", next,
		"added", number(c.added), "delivered", number(c.delivered), "acked", number(c.acked), "noack", number(c.noack), "nacked", number(c.nacked),
		"expired", number(c.expired), "cancelled", number(c.cancelled), "purged", number(c.purged), "pruned", number(c.pruned), "lease-timeouts", number(c.leaseTimeouts),
		"paused", bulk(m.pausedState(args[1])), "blocked", number(blocked),
		"late-p50-us", any_(), "late-p99-us", any_(), "late-max-us", any_(), "run-p50-us", any_(), "run-p99-us", any_())
}
