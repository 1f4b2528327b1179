package model

import (
	"strconv"
	"strings"
)

// popOptions are those of DQPOP and DQMPOP.
type popOptions struct {
	queues        []string
	count         int
	blocks        bool
	block         int64
	lease         *int64
	noack, full   bool
	worker        string
	client        int  // whose connection it is, -1 = nobody's
	cutsLeaseEach bool // DQMPOP: LEASE is cut to each queue's lease-max instead of refused
}

var popSlots = map[string]string{"COUNT": "count", "BLOCK": "block", "LEASE": "lease", "NOACK": "noack", "WORKER": "worker", "FULL": "full"}

func (m *Model) parsePop(args []string) (p popOptions, bad *Reply) {
	refuse := func(r Reply) (popOptions, *Reply) { return p, &r }
	if len(args) < 2 {
		return refuse(fail("ERR", "wrong number of arguments"))
	}
	w := &words{args: args[2:]}
	p.queues, p.count, p.client = args[1:2], 1, m.client
	if strings.EqualFold(args[0], "DQMPOP") {
		n, ok := parseInt(args[1], 1, int64(len(args)-2))
		if !ok {
			return refuse(errCount)
		}
		p.cutsLeaseEach = true
		p.queues, w.args = args[2:2+n], args[2+n:]
	}
	for !w.empty() {
		name, ok := w.option(popSlots)
		if !ok {
			return refuse(errSyntax)
		}
		switch name {
		case "NOACK":
			p.noack = true
			continue
		case "FULL":
			p.full = true
			continue
		}
		value, ok := w.next()
		if !ok {
			return refuse(errSyntax)
		}
		switch name {
		case "COUNT":
			n, ok := parseInt(value, 1, 1000)
			if !ok {
				return refuse(errNumber)
			}
			p.count = int(n)
		case "WORKER":
			p.worker = value
		default:
			d, ok := parseDur(value)
			if !ok {
				return refuse(badTime(value))
			}
			if name == "BLOCK" {
				p.blocks, p.block = true, d
				if d == 0 || d > maxBlock {
					p.block = maxBlock
				}
				break
			}
			if d < minLease || !p.cutsLeaseEach && d > m.of(p.queues[0]).LeaseMax {
				return refuse(badTime(value))
			}
			p.lease = &d
		}
	}
	for _, q := range p.queues {
		if !validName(q, 255) {
			return refuse(fail("BADID", "queue"))
		}
	}
	return p, nil
}

func (m *Model) dqpop(args []string) Reply {
	p, bad := m.parsePop(args)
	if bad != nil {
		return *bad
	}
	return m.take(p)
}

// take delivers what is ready now, null when nothing is.
func (m *Model) take(p popOptions) Reply {
	var tuples []Reply
	for _, queue := range p.queues {
		for _, j := range m.readyJobs(queue) {
			if len(tuples) < p.count && m.open(queue) {
				tuples = append(tuples, m.deliver(j, p))
			}
		}
	}
	if len(tuples) == 0 {
		return null()
	}
	return array(tuples...)
}

func (m *Model) deliver(j *job, p popOptions) Reply {
	c := m.count(j.queue)
	m.spend(j.queue)
	j.attempt++
	token := any_()
	if p.noack {
		c.noack++
		if !m.settings.Readings.NoAckNotDelivered {
			c.delivered++
		}
		m.remove(j)
	} else {
		c.delivered++
		length := m.of(j.queue).Lease
		if j.lease > 0 {
			length = j.lease
		}
		if p.lease != nil {
			length = *p.lease
		}
		m.lastToken++
		j.token, j.shown, j.nacked = m.lastToken, m.lastToken, 0
		j.takenNs, j.leaseEnd = m.nowNs, m.nowNs+min(length, m.of(j.queue).LeaseMax)
		j.state, j.worker, j.holder = "leased", p.worker, -1
		if m.of(j.queue).OnDisconnect == "release" {
			j.holder = p.client
		}
		key := jobKey(j.queue, j.id)
		m.issued[key] = append(m.issued[key], j.token)
		token = m.tokenReply(j)
	}
	tuple := []Reply{bulk(j.queue), m.idReply(j), bulk(j.payload), token, number(int64(j.attempt)), m.dueReply(j)}
	if p.full {
		tuple = append(tuple, m.fields("due-ns", m.dueNsReply(j), "late-us", m.lateReply(j), "created", m.createdReply(j),
			"lease-until", m.leaseUntilReply(j), "max-attempts", number(int64(m.maxAttempts(j))), "pri", number(int64(j.pri)),
			"meta", metaReply(j), "reason", reasonReply(j)))
	}
	return array(tuple...)
}

// serve gives ready jobs to waiting pops, in order of arrival.
func (m *Model) serve() {
	kept := m.waiters[:0]
	for _, w := range m.waiters {
		if reply := m.take(w.pop); reply.Kind != Null {
			m.arrived = append(m.arrived, Arrival{w.client, reply})
		} else {
			kept = append(kept, w)
		}
	}
	m.waiters = kept
}

// endWaits answers the pops that waited long enough.
func (m *Model) endWaits() {
	kept := m.waiters[:0]
	for _, w := range m.waiters {
		if w.until <= m.nowNs {
			m.arrived = append(m.arrived, Arrival{w.client, null()})
		} else {
			kept = append(kept, w)
		}
	}
	m.waiters = kept
}

// claim checks a token: 0 means that it is the job's latest and not stale.
func (m *Model) claim(queue, id, token string) (*job, int64) {
	j := m.find(queue, id)
	switch {
	case j == nil:
		return nil, -2
	case token == "*" && j.state != "leased":
		return j, -3
	case token == "*":
		return j, 0
	}
	if n, _ := strconv.ParseInt(token, 10, 64); j.token == 0 || n != j.token {
		return j, -1
	}
	return j, 0
}

func badToken(token string) bool {
	_, ok := parseInt(token, 0, 1<<62)
	return token != "*" && !ok
}

func (m *Model) dqack(args []string) Reply {
	if len(args) < 4 || len(args)%2 != 0 {
		return fail("ERR", "wrong number of arguments")
	}
	for i := 3; i < len(args); i += 2 {
		if badToken(args[i]) {
			return errNumber
		}
	}
	n := int64(0)
	for i := 2; i < len(args); i += 2 {
		if m.ack(args[1], args[i], args[i+1]) == 1 {
			n++
		}
	}
	return number(n)
}

func (m *Model) dqmack(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	pairs, bad := counted(&words{args: args[2:]}, "JOBS", 2, 10000)
	if bad != nil {
		return *bad
	}
	for _, p := range pairs {
		if badToken(p[1]) {
			return errNumber
		}
	}
	var codes []Reply
	for _, p := range pairs {
		codes = append(codes, number(m.ack(args[1], p[0], p[1])))
	}
	return array(codes...)
}

// ack ends a job: leased, or back after its lease ran out, or dead that way.
func (m *Model) ack(queue, id, token string) int64 {
	j, code := m.claim(queue, id, token)
	if code != 0 {
		return code
	}
	m.count(queue).acked++
	m.remove(j)
	return 1
}

var nackSlots = map[string]string{"DELAY": "due", "AT": "due", "FREE": "free", "DEAD": "dead", "REASON": "reason"}

func (m *Model) dqnack(args []string) Reply {
	if len(args) < 4 {
		return fail("ERR", "wrong number of arguments")
	}
	w := &words{args: args[4:]}
	var due dueOption
	var free, dead bool
	var reason *string
	for !w.empty() {
		name, ok := w.option(nackSlots)
		if !ok {
			return errSyntax
		}
		switch name {
		case "FREE":
			free = true
			continue
		case "DEAD":
			dead = true
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
		default:
			value = value[:min(len(value), 1024)]
			reason = &value
		}
		if !ok {
			return badTime(value)
		}
	}
	switch {
	case badToken(args[3]):
		return errNumber
	case free && dead:
		return errSyntax
	case m.tooFar(m.newDue(due)):
		return badTime("too far ahead")
	}
	if j, code := m.claim(args[1], args[2], args[3]); code == 0 && m.beyondMaxDelay(j.queue, due) {
		return badTime("beyond max-delay")
	}
	return number(m.nack(args[1], args[2], args[3], due, free, dead, reason))
}

func (m *Model) nack(queue, id, token string, due dueOption, free, dead bool, reason *string) int64 {
	if j := m.find(queue, id); j != nil && j.nacked != 0 && token == strconv.FormatInt(j.nacked, 10) {
		return 1
	}
	j, code := m.claim(queue, id, token)
	if code != 0 {
		return code
	}
	j.nacked, j.token = j.token, 0
	j.reasonOpen = reason == nil
	if reason != nil {
		j.reason = *reason
	}
	if j.state == "dead" && !free {
		if !m.settings.Readings.DeadNackNotCounted {
			m.count(queue).nacked++
		}
		return 1
	}
	m.count(queue).nacked++
	if dead || m.usedUp(j) && !free {
		cause := "attempts"
		if dead {
			cause = "nack"
		}
		m.bury(j, cause)
		return 1
	}
	wait := m.backoff(j).After(j.attempt)
	if free {
		j.attempt--
		if m.settings.Readings.FreeBackoffOneLess {
			wait = m.backoff(j).After(j.attempt)
		}
	}
	next := instant{m.nowNs + wait, false}
	if due.kind != "" {
		next = m.newDue(due)
	}
	m.delay(j, next)
	return 1
}

func (m *Model) dqextend(args []string) Reply {
	if len(args) != 5 {
		return fail("ERR", "wrong number of arguments")
	}
	d, ok := parseDur(args[4])
	switch {
	case !ok || d < minLease:
		return badTime(args[4])
	case badToken(args[3]):
		return errNumber
	}
	return number(m.extend(args[1], args[2], args[3], d))
}

func (m *Model) dqmextend(args []string) Reply {
	if len(args) < 3 {
		return fail("ERR", "wrong number of arguments")
	}
	d, ok := parseDur(args[2])
	if !ok || d < minLease {
		return badTime(args[2])
	}
	pairs, bad := counted(&words{args: args[3:]}, "JOBS", 2, 10000)
	if bad != nil {
		return *bad
	}
	for _, p := range pairs {
		if badToken(p[1]) {
			return errNumber
		}
	}
	var codes []Reply
	for _, p := range pairs {
		codes = append(codes, number(m.extend(args[1], p[0], p[1], d)))
	}
	return array(codes...)
}

func (m *Model) extend(queue, id, token string, d int64) int64 {
	j, code := m.claim(queue, id, token)
	switch {
	case code != 0:
		return code
	case j.state != "leased":
		return -3
	case m.nowNs+d > j.takenNs+m.of(queue).LeaseMax:
		return -4
	}
	j.leaseEnd = m.nowNs + d
	if j.holder != m.client {
		j.holder = -1
	}
	return 1
}
