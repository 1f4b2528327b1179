package model

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// addOptions are the options of DQADD and the common options of DQMADD.
type addOptions struct {
	flag, than string // NX XX UPSERT IDEM; GT LT
	due        dueOption
	ttl        *int64
	expireAt   *int64
	pri        *int64
	attempts   *int64
	backoff    *Backoff
	lease      *int64
	maxLen     *int64
	meta       map[string]string
}

// dueOption is a due time as the client gave it.
type dueOption struct {
	kind string // "", "DELAY", "AT", "NOW"
	ns   int64
}

var addSlots = map[string]string{
	"DELAY": "due", "AT": "due", "NX": "flag", "XX": "flag", "UPSERT": "flag", "IDEM": "flag", "GT": "than", "LT": "than",
	"TTL": "expire", "EXPIREAT": "expire", "PRI": "pri", "ATTEMPTS": "attempts", "BACKOFF": "backoff", "LEASE": "lease", "META": "", "MAXLEN": "maxlen",
}

// parseAdd reads options until the end, or until JOBS when stopAtJobs.
func parseAdd(w *words, stopAtJobs bool) (o addOptions, bad *Reply) {
	refuse := func(r Reply) (addOptions, *Reply) { return o, &r }
	for !w.empty() {
		if stopAtJobs && strings.EqualFold(w.args[0], "JOBS") {
			break
		}
		name, ok := w.option(addSlots)
		if !ok || stopAtJobs && (name == "DELAY" || name == "AT") {
			return refuse(errSyntax)
		}
		switch name {
		case "NX", "XX", "UPSERT", "IDEM":
			o.flag = name
			continue
		case "GT", "LT":
			o.than = name
			continue
		}
		value, ok := w.next()
		if !ok {
			return refuse(errSyntax)
		}
		switch name {
		case "DELAY", "TTL", "LEASE":
			d, ok := parseDur(value)
			if !ok || name == "LEASE" && d < minLease {
				return refuse(badTime(value))
			}
			switch name {
			case "DELAY":
				o.due = dueOption{"DELAY", d}
			case "TTL":
				o.ttl = &d
			default:
				o.lease = &d
			}
		case "AT", "EXPIREAT":
			t, ok := parseTime(value)
			if !ok {
				return refuse(badTime(value))
			}
			if name == "AT" {
				o.due = dueOption{"AT", t}
			} else {
				o.expireAt = &t
			}
		case "PRI", "ATTEMPTS", "MAXLEN":
			limit := map[string]int64{"PRI": 255, "ATTEMPTS": 65535, "MAXLEN": 1 << 53}[name]
			n, ok := parseInt(value, 0, limit)
			if !ok {
				return refuse(errNumber)
			}
			switch name {
			case "PRI":
				o.pri = &n
			case "ATTEMPTS":
				o.attempts = &n
			default:
				o.maxLen = &n
			}
		case "BACKOFF":
			b, ok := parseBackoff(value)
			if !ok {
				return refuse(fail("ERR|BADTIME", "backoff"))
			}
			o.backoff = &b
		case "META":
			second, ok := w.next()
			if !ok {
				return refuse(errSyntax)
			}
			if o.meta == nil {
				o.meta = map[string]string{}
			}
			o.meta[value] = second
		}
	}
	if o.than != "" && o.flag != "XX" && o.flag != "UPSERT" {
		return refuse(errSyntax)
	}
	bytes := 0
	for k, v := range o.meta {
		bytes += len(k) + len(v)
	}
	if len(o.meta) > 32 || bytes > 8<<10 {
		return refuse(fail("TOOBIG", "meta"))
	}
	return o, nil
}

// request is what IDEM compares: everything after parsing, nothing of how it was spelled.
func (o addOptions) request(payload string) string {
	show := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatInt(*n, 10)
	}
	var meta []string
	for k, v := range o.meta {
		meta = append(meta, fmt.Sprintf("%q=%q", k, v))
	}
	sort.Strings(meta)
	backoff := "-"
	if o.backoff != nil {
		backoff = fmt.Sprint(*o.backoff)
	}
	return fmt.Sprintf("%q %v ttl=%s expireat=%s pri=%s attempts=%s lease=%s maxlen=%s backoff=%s meta=%s", payload, o.due, show(o.ttl), show(o.expireAt),
		show(o.pri), show(o.attempts), show(o.lease), show(o.maxLen), backoff, strings.Join(meta, ","))
}

// newDue is the moment that a due option means now. No option is "now", on the progress clock like a DELAY of 0.
func (m *Model) newDue(d dueOption) instant {
	if d.kind == "AT" {
		return instant{d.ns, true}
	}
	return instant{m.nowNs + d.ns, false}
}

// tooFar says whether a due is beyond the limit.
func (m *Model) tooFar(due instant) bool { return m.toWall(due) > m.wallNs()+maxAhead }

// beyondMaxDelay says whether a due that is given is further ahead than the queue allows.
func (m *Model) beyondMaxDelay(queue string, d dueOption) bool {
	limit := m.of(queue).MaxDelay
	return limit > 0 && (d.kind == "DELAY" && d.ns > limit || d.kind == "AT" && d.ns > m.wallNs()+limit)
}

func (m *Model) dqadd(args []string) Reply {
	if len(args) < 4 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[4:]}
	o, bad := parseAdd(w, false)
	if bad != nil {
		return *bad
	}
	return m.add(args[1], o, []newJob{{args[2], args[3], o.due}}).single()
}

var errCount = fail("ERR", "the count does not fit")

func (m *Model) dqmadd(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	o, bad := parseAdd(w, true)
	if bad != nil {
		return *bad
	}
	triples, bad := counted(w, "JOBS", 3, 4096)
	if bad != nil {
		return *bad
	}
	var jobs []newJob
	for _, t := range triples {
		due := dueOption{kind: "AT"}
		var ok bool
		if rest, delay := strings.CutPrefix(t[2], "+"); delay {
			due.kind = "DELAY"
			due.ns, ok = parseDur(rest)
		} else {
			due.ns, ok = parseTime(t[2])
		}
		if !ok {
			return badTime(t[2])
		}
		jobs = append(jobs, newJob{t[0], t[1], due})
	}
	return m.add(args[1], o, jobs)
}

// counted reads `JOBS n …` or `IDS n …`: n groups of the given size, and nothing after.
func counted(w *words, keyword string, size, limit int) (groups [][]string, bad *Reply) {
	if name, ok := w.next(); !ok || !strings.EqualFold(name, keyword) {
		return nil, &errSyntax
	}
	value, _ := w.next()
	n, ok := parseInt(value, 1, int64(limit))
	if !ok || int(n)*size != len(w.args) {
		return nil, &errCount
	}
	for i := 0; i < len(w.args); i += size {
		groups = append(groups, w.args[i:i+size])
	}
	return groups, nil
}

// newJob is one job as asked for.
type newJob struct {
	id, payload string
	due         dueOption
}

// single is the answer of DQADD out of that of DQMADD.
func (r Reply) single() Reply {
	if r.Kind == Array {
		return r.Items[0]
	}
	return r
}

// add takes all jobs or none. It first decides about each, then does it.
func (m *Model) add(queue string, o addOptions, jobs []newJob) Reply {
	var refused []string
	refuse := func(word string) { refused = append(refused, word) }
	if !validName(queue, 255) {
		refuse("BADID")
	}
	named := map[string]bool{}
	for _, n := range jobs {
		if n.id != "*" && !validName(n.id, 1024) {
			refuse("BADID")
		}
		if n.id == "*" && o.flag != "" {
			return fail("ERR|BADID", "a flag needs an id that you choose")
		}
		if n.id != "*" && named[n.id] {
			refuse("DUPID")
		}
		named[n.id] = true
		if len(n.payload) > maxPayload {
			refuse("TOOBIG")
		}
	}
	if len(refused) > 0 {
		return fail(strings.Join(refused, "|"), "arguments")
	}

	const (
		create = iota
		replace
		answered
	)
	plans := make([]int, len(jobs))
	answers := make([]Reply, len(jobs))
	created := int64(0)
	for i, n := range jobs {
		if o.flag == "IDEM" {
			if r, ok := m.remembered(queue, n.id, o.withDue(n.due).request(n.payload)); ok {
				plans[i], answers[i] = answered, r
				continue
			}
		}
		if m.isPaused(m.pausedIn, queue) {
			refuse("PAUSED")
		}
		if int64(len(n.payload)) > m.of(queue).MaxPayload {
			refuse("TOOBIG")
		}
		if m.tooFar(m.newDue(n.due)) || m.beyondMaxDelay(queue, n.due) {
			refuse("BADTIME")
		}
		due := m.newDue(n.due)
		if o.expireAt != nil && *o.expireAt <= m.toWall(due) {
			refuse("BADTIME")
		}
		old := m.live(queue, n.id)
		replacing := o.flag == "UPSERT" || o.flag == "XX"
		switch {
		case old == nil && o.flag == "XX", old != nil && o.flag == "NX":
			plans[i], answers[i] = answered, null()
		case old == nil:
			created++
		case !replacing:
			refuse("DUPID")
		case old.state == "leased":
			refuse("LEASED")
		case !m.later(o.than, due, old.due):
			plans[i], answers[i] = answered, null()
		default:
			plans[i] = replace
		}
	}
	replaces := false
	for _, p := range plans {
		replaces = replaces || p == replace
	}
	if created > 0 || replaces && m.settings.Readings.FullRefusesReplacing {
		live, limit := m.liveCount(queue), m.of(queue).MaxLen
		if o.maxLen != nil && live+created > *o.maxLen || limit > 0 && live+created > limit {
			refuse("QUEUEFULL")
		}
	}
	if len(refused) > 0 {
		return fail(strings.Join(refused, "|"), "refused")
	}

	for i, n := range jobs {
		if plans[i] != answered {
			answers[i] = m.accept(queue, n, o)
		}
	}
	return array(answers...)
}

func (o addOptions) withDue(d dueOption) addOptions {
	o.due = d
	return o
}

// later says whether the condition GT or LT, if any, is met.
func (m *Model) later(than string, new, old instant) bool {
	n, was := m.toWall(new), m.toWall(old)
	return than == "" || than == "GT" && n > was || than == "LT" && n < was
}

func (m *Model) remembered(queue, id, request string) (Reply, bool) {
	for _, r := range m.memories {
		if r.queue == queue && r.id == id && r.request == request {
			return r.answer, true
		}
	}
	return Reply{}, false
}

// accept makes or replaces one job that add has already allowed.
func (m *Model) accept(queue string, n newJob, o addOptions) Reply {
	j := m.live(queue, n.id)
	if j == nil {
		m.count(queue).added++
		j = &job{queue: queue, id: n.id, created: m.wallNs()}
		if n.id == "*" {
			m.lastMade++
			j.id, j.made = fmt.Sprintf("%d-%d", ceilDiv(m.wallNs(), ms), m.lastMade), true
		}
		m.jobs = append(m.jobs, j)
	} else {
		j.reasonOpen = true
		if !m.settings.Readings.UpsertKeepsCreated {
			j.created = m.wallNs()
		}
	}
	for _, dead := range m.jobs {
		if dead.queue == queue && dead.id == j.id && dead.state == "dead" {
			dead.token, dead.nacked = 0, 0
		}
	}

	m.lastAccepted++
	j.accepted = m.lastAccepted
	j.payload, j.meta = n.payload, o.meta
	j.attempt, j.token, j.nacked = 0, 0, 0
	set := m.of(queue)
	j.pri, j.ownAttempts, j.ownBackoff, j.lease, j.ttl, j.expires, j.fixedExpire = 128, nil, nil, 0, set.TTL, false, false
	if o.pri != nil {
		j.pri = int(*o.pri)
	}
	if o.attempts != nil {
		n := int(*o.attempts)
		j.ownAttempts = &n
	}
	if o.backoff != nil {
		j.ownBackoff = o.backoff
	}
	if o.lease != nil {
		j.lease = *o.lease
	}
	if o.ttl != nil {
		j.ttl = *o.ttl
	}
	if o.expireAt != nil {
		j.ttl, j.expires, j.fixedExpire, j.expire = 0, true, true, instant{*o.expireAt, true}
	}
	m.setDue(j, m.newDue(n.due))

	answer := Reply{Kind: Bulk, Str: j.id}
	if j.made {
		answer.Kind = MadeID
	}
	switch o.flag {
	case "IDEM":
		m.forget(queue, j.id)
		m.memories = append(m.memories, memory{queue, j.id, o.withDue(n.due).request(n.payload), answer, m.nowNs + m.idMemory(queue), j.accepted})
	case "UPSERT", "XX":
		m.forget(queue, j.id)
	default:
		if m.settings.Readings.PlainAddForgets {
			m.forget(queue, j.id)
		}
	}
	return answer
}

func (m *Model) idMemory(queue string) int64 {
	d := m.of(queue).IDMemory
	if m.settings.Readings.IdemLastInstant {
		d++
	}
	return d
}

// setDue is a due set by add, upsert or reschedule: the TTL counts anew from the later of it and now. A retry does not come here.
func (m *Model) setDue(j *job, due instant) {
	if j.ttl > 0 {
		from := due
		if m.toProgress(due) < m.nowNs {
			from = instant{m.nowNs, false}
			if due.wall && m.settings.Readings.PastATExpiresByWall {
				from = instant{m.wallNs(), true}
			}
		}
		j.expires, j.expire = true, instant{from.ns + j.ttl, from.wall}
	}
	m.delay(j, due)
}

func (m *Model) dqcancel(args []string) Reply {
	if len(args) < 3 {
		return fail("ERR", "wrong number of arguments")
	}
	n := int64(0)
	for _, id := range args[2:] {
		if m.cancel(args[1], id, false) == 1 {
			n++
		}
	}
	return number(n)
}

func (m *Model) dqmcancel(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[2:]}
	force := !w.empty() && strings.EqualFold(w.args[0], "FORCE")
	if force {
		w.next()
	}
	ids, bad := counted(w, "IDS", 1, 10000)
	if bad != nil {
		return *bad
	}
	var codes []Reply
	for _, id := range ids {
		codes = append(codes, number(m.cancel(args[1], id[0], force)))
	}
	return array(codes...)
}

func (m *Model) cancel(queue, id string, force bool) int64 {
	j := m.find(queue, id)
	switch {
	case j == nil:
		return -2
	case j.state == "dead", j.state == "leased" && !force:
		return -3
	}
	m.count(queue).cancelled++
	m.remove(j)
	m.forget(queue, id)
	return 1
}

var rescheduleSlots = map[string]string{"DELAY": "due", "AT": "due", "NOW": "due", "GT": "than", "LT": "than", "PRI": "pri", "PAYLOAD": "payload"}

func (m *Model) dqreschedule(args []string) Reply {
	if len(args) < 4 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[3:]}
	var due dueOption
	var than string
	var pri, payload *string
	for !w.empty() {
		name, ok := w.option(rescheduleSlots)
		if !ok {
			return errSyntax
		}
		switch name {
		case "NOW":
			due = dueOption{"NOW", 0}
			continue
		case "GT", "LT":
			than = name
			continue
		}
		value, ok := w.next()
		if !ok {
			return errSyntax
		}
		switch name {
		case "DELAY":
			due.kind = name
			due.ns, ok = parseDur(value)
		case "AT":
			due.kind = name
			due.ns, ok = parseTime(value)
		case "PRI":
			if _, ok := parseInt(value, 0, 255); !ok {
				return errNumber
			}
			pri = &value
		case "PAYLOAD":
			payload = &value
		}
		if !ok {
			return badTime(value)
		}
	}
	switch {
	case due.kind == "":
		return errSyntax
	case m.tooFar(m.newDue(due)):
		return badTime("too far ahead")
	case payload != nil && len(*payload) > maxPayload:
		return fail("TOOBIG", "payload")
	}

	j := m.find(args[1], args[2])
	over := m.beyondMaxDelay(args[1], due) || payload != nil && int64(len(*payload)) > m.of(args[1]).MaxPayload
	open := func(code int64) Reply {
		if !over {
			return number(code)
		}
		return oneOf(number(code), fail("BADTIME|TOOBIG", "policy of the queue"))
	}
	if j == nil {
		return open(-2)
	}
	if j.state == "dead" || j.state == "leased" {
		return open(-3)
	}
	at := m.newDue(due)
	met := m.later(than, at, j.due)
	if over {
		refused := fail("BADTIME|TOOBIG", "policy of the queue")
		if !met {
			return oneOf(number(0), refused)
		}
		return refused
	}
	if j.fixedExpire && m.toWall(at) >= j.expire.ns && !m.settings.Readings.RescheduleOverExpireAt {
		if !met {
			return oneOf(number(0), fail("BADTIME", "after EXPIREAT"))
		}
		return fail("BADTIME", "after EXPIREAT")
	}
	if !met {
		return number(0)
	}
	if pri != nil {
		n, _ := parseInt(*pri, 0, 255)
		j.pri = int(n)
	}
	if payload != nil {
		j.payload = *payload
	}
	j.token, j.nacked = 0, 0
	m.setDue(j, at)
	return number(1)
}
