package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// instant is a moment on one of the two clocks. Progress never steps; the wall can be set back.
type instant struct {
	ns   int64
	wall bool
}

// job is one job, live or dead. A job that ended is simply removed from the slice.
type job struct {
	queue, id string
	made      bool // the server made the id
	payload   string
	meta      map[string]string

	state    string // delayed ready leased dead
	due      instant
	look     instant // when time changes a delayed job: at its due or its expiry, as the clocks stood when it was set
	lateFrom int64   // due on the progress clock, fixed when the job became ready
	accepted int64   // order of acceptance
	created  int64   // wall ns
	died     int64   // order of death
	diedNs   int64   // progress
	diedWall int64
	cause    string
	pruneNs  int64 // progress; 0 = never

	pri, attempt int
	ownAttempts  *int     // nil: as the queue says
	ownBackoff   *Backoff // likewise
	lease        int64    // the job's own, 0 = the queue's
	ttl          int64    // 0 = none
	expire       instant
	expires      bool
	fixedExpire  bool // by EXPIREAT

	token    int64 // the latest, 0 once stale
	shown    int64 // the latest, stale or not
	nacked   int64 // the token whose DQNACK may be repeated
	takenNs  int64 // progress
	leaseEnd int64 // progress
	worker   string
	holder   int // the client whose end ends the lease; -1 = none

	reason     string
	reasonOpen bool // the contract does not say what reason shows now
}

// memory is what an id remembers of an IDEM add.
type memory struct {
	queue, id, request string
	answer             Reply
	until              int64 // progress; at that moment it is forgotten
	job                int64 // order of acceptance of the job that was made
}

// counters are those of DQSTATS.
type counters struct {
	added, delivered, acked, noack, nacked, expired, cancelled, purged, pruned, leaseTimeouts int64

	born int64 // order of the queues
}

// waiter is a blocked pop.
type waiter struct {
	client int
	pop    popOptions
	until  int64 // progress
}

// Arrival is the answer to a pop that was parked.
type Arrival struct {
	Client int
	Reply  Reply
}

// Model is the whole server: one slice of jobs, scanned from end to end for everything.
type Model struct {
	settings Settings
	policy
	client int // who sends the command that is run
	atMost int // a bulk command takes so many jobs and does not end; 0 = all

	nowNs    int64 // progress
	offsetNs int64 // wall = progress + offset
	clock    systemClock

	jobs     []*job
	memories []memory
	counts   map[string]*counters // a queue that has one exists
	waiters  []*waiter            // in order of arrival
	arrived  []Arrival

	lastAccepted, lastDied, lastToken, lastMade, lastBorn int64

	issued map[string][]int64 // tokens given, by job key, for whoever wants to send an old one
}

// New is an empty server.
func New(settings Settings) *Model {
	return &Model{settings: settings, policy: newPolicy(), client: -1, counts: map[string]*counters{}, issued: map[string][]int64{}}
}

func jobKey(queue, id string) string { return fmt.Sprintf("%d:%s%s", len(queue), queue, id) }

func (m *Model) wallNs() int64 { return m.nowNs + m.offsetNs }

func (m *Model) toWall(t instant) int64 {
	if t.wall {
		return t.ns
	}
	return t.ns + m.offsetNs
}

func (m *Model) toProgress(t instant) int64 {
	if t.wall {
		return t.ns - m.offsetNs
	}
	return t.ns
}

func (m *Model) count(queue string) *counters {
	if m.counts[queue] == nil {
		m.lastBorn++
		m.counts[queue] = &counters{born: m.lastBorn}
	}
	return m.counts[queue]
}

// live finds the live job of an id.
func (m *Model) live(queue, id string) *job {
	for _, j := range m.jobs {
		if j.queue == queue && j.id == id && j.state != "dead" {
			return j
		}
	}
	return nil
}

// find is the live job of an id, else the one that died last.
func (m *Model) find(queue, id string) *job {
	found := m.live(queue, id)
	if found != nil {
		return found
	}
	for _, j := range m.jobs {
		if j.queue == queue && j.id == id && (found == nil || j.died > found.died) {
			found = j
		}
	}
	return found
}

func (m *Model) liveCount(queue string) int64 {
	n := int64(0)
	for _, j := range m.jobs {
		if j.queue == queue && j.state != "dead" {
			n++
		}
	}
	return n
}

func (m *Model) remove(gone *job) {
	for i, j := range m.jobs {
		if j == gone {
			m.jobs = append(m.jobs[:i], m.jobs[i+1:]...)
			return
		}
	}
}

// forget makes an id forget its IDEM request.
func (m *Model) forget(queue, id string) {
	kept := m.memories[:0]
	for _, r := range m.memories {
		if r.queue != queue || r.id != id {
			kept = append(kept, r)
		}
	}
	m.memories = kept
}

// ---- wake-ups ----

// wake is the next moment at which time alone changes a job.
func (m *Model) wake(j *job) (atNs int64, ok bool) {
	switch j.state {
	case "leased":
		return j.leaseEnd, true
	case "delayed":
		return m.toProgress(j.look), true
	case "ready":
		return m.toProgress(j.expire), j.expires
	case "dead":
		return j.pruneNs, j.pruneNs > 0
	}
	return 0, false
}

// lookAt is when to look at a delayed job, on the clock of its due (READINGS 46).
func (m *Model) lookAt(j *job) instant {
	if !j.expires || m.toWall(j.expire) >= m.toWall(j.due) {
		return j.due
	}
	if j.due.wall {
		return instant{m.toWall(j.expire), true}
	}
	return instant{m.toProgress(j.expire), false}
}

// NextWake is the next moment (progress) at which time alone changes anything.
func (m *Model) NextWake() (atNs int64, ok bool) {
	earlier := func(t int64) {
		if !ok || t < atNs {
			atNs, ok = t, true
		}
	}
	for _, j := range m.jobs {
		if t, wakes := m.wake(j); wakes {
			earlier(t)
		}
	}
	for _, r := range m.memories {
		earlier(r.until)
	}
	for _, w := range m.waiters {
		earlier(w.until)
	}
	if m.clock.aheadNs > 0 && m.clock.followNs > 0 {
		earlier(m.clock.followNs)
	}
	for _, t := range m.policyWakes() {
		earlier(t)
	}
	return atNs, ok
}

// Advance brings the model to a moment, wake-up by wake-up in time order.
func (m *Model) Advance(nowProgressNs int64) {
	for {
		t, ok := m.NextWake()
		if !ok || t > nowProgressNs {
			break
		}
		m.nowNs = max(m.nowNs, t)
		m.stood()
		m.settle()
	}
	m.nowNs = max(m.nowNs, nowProgressNs)
}

// settle does all that is due by now: wake-ups, then waiting pops, then waits that ran out.
func (m *Model) settle() {
	m.wakeUps()
	m.trim()
	kept := m.memories[:0]
	for _, r := range m.memories {
		if r.until > m.nowNs {
			kept = append(kept, r)
		}
	}
	m.memories = kept
	if m.settings.Readings.TimeoutBeatsJob {
		m.endWaits()
	}
	m.serve()
	m.endWaits()
}

// wakeUps does what is due by now, but for waiting pops.
func (m *Model) wakeUps() {
	for j := m.firstDue(); j != nil; j = m.firstDue() {
		m.wakeUp(j)
		if m.settings.Readings.ServeEachWake {
			m.serve()
		}
	}
}

// firstDue is the job that wakes first of those that wake by now.
func (m *Model) firstDue() *job {
	var first *job
	var firstNs int64
	for _, j := range m.jobs {
		t, ok := m.wake(j)
		if !ok || t > m.nowNs {
			continue
		}
		if first == nil || t < firstNs || t == firstNs && j.accepted < first.accepted {
			first, firstNs = j, t
		}
	}
	return first
}

// wakeUp does to one job what its time has come for.
func (m *Model) wakeUp(j *job) {
	switch {
	case j.state == "leased":
		m.endLease(j)
	case j.state == "dead":
		m.prune(j)
	case j.expires && m.toProgress(j.expire) <= m.nowNs:
		m.expireJob(j)
	case m.toProgress(j.due) > m.nowNs:
		j.look = m.lookAt(j) // the expiry has moved since
	default:
		m.makeReady(j)
	}
}

// endLease: nobody acked. The retry delay counts from the end of the lease.
func (m *Model) endLease(j *job) {
	m.count(j.queue).leaseTimeouts++
	j.reasonOpen = true
	if m.usedUp(j) {
		m.bury(j, "attempts")
		return
	}
	m.delay(j, instant{ns: j.leaseEnd + m.backoff(j).After(j.attempt)})
}

func (m *Model) maxAttempts(j *job) int {
	if j.ownAttempts != nil {
		return *j.ownAttempts
	}
	return m.of(j.queue).Attempts
}

func (m *Model) backoff(j *job) Backoff {
	if j.ownBackoff != nil {
		return *j.ownBackoff
	}
	return m.of(j.queue).Backoff
}

func (m *Model) usedUp(j *job) bool { return m.maxAttempts(j) > 0 && j.attempt >= m.maxAttempts(j) }

func (m *Model) expireJob(j *job) {
	if m.of(j.queue).ExpireTo == "dead" {
		if !m.settings.Readings.ExpiredDeadKeepsToken {
			j.token = 0
		}
		j.nacked = 0
		j.reasonOpen = true
		m.bury(j, "expired")
		return
	}
	m.count(j.queue).expired++
	m.remove(j)
}

func (m *Model) bury(j *job, cause string) {
	m.lastDied++
	j.state, j.died, j.cause = "dead", m.lastDied, cause
	j.diedNs, j.diedWall, j.pruneNs = m.nowNs, m.wallNs(), 0
	if keep := m.of(j.queue).DeadKeep; keep > 0 {
		j.pruneNs = m.nowNs + keep
	}
	j.due = instant{m.toWall(j.due), true}
}

// delay puts a job to a due time; one that has come makes it ready at once.
func (m *Model) delay(j *job, due instant) {
	j.state, j.due = "delayed", due
	j.look = m.lookAt(j)
	if m.toProgress(due) <= m.nowNs {
		m.makeReady(j)
	}
}

// makeReady fixes the due that is shown from now on: a later step of the wall does not move it.
func (m *Model) makeReady(j *job) {
	j.state = "ready"
	j.lateFrom = m.toProgress(j.due)
	j.due = instant{m.toWall(j.due), true}
}

// readyJobs are the ready jobs of a queue in the order in which they leave.
func (m *Model) readyJobs(queue string) []*job {
	jobs := m.inState(queue, "ready")
	sort.SliceStable(jobs, func(a, b int) bool {
		x, y := jobs[a], jobs[b]
		dx, dy := x.due.ns, y.due.ns
		if m.settings.Readings.OrderByProgress {
			dx, dy = x.lateFrom, y.lateFrom
		}
		if x.pri != y.pri {
			return x.pri < y.pri
		}
		if dx != dy {
			return dx < dy
		}
		return x.accepted < y.accepted
	})
	return jobs
}

// delayedJobs are the delayed jobs of a queue in the order in which they will leave.
func (m *Model) delayedJobs(queue string) []*job {
	jobs := m.inState(queue, "delayed")
	sort.SliceStable(jobs, func(a, b int) bool {
		x, y := jobs[a], jobs[b]
		if dx, dy := m.toWall(x.due), m.toWall(y.due); dx != dy {
			return dx < dy
		}
		if x.pri != y.pri && !m.settings.Readings.PeekIgnoresPriority {
			return x.pri < y.pri
		}
		return x.accepted < y.accepted
	})
	return jobs
}

func (m *Model) inState(queue, state string) []*job {
	var jobs []*job
	for _, j := range m.jobs {
		if j.queue == queue && j.state == state {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// ---- commands ----

// Do runs one command at a moment of both clocks. A BLOCK does not block here; see Park.
func (m *Model) Do(nowProgressNs, nowWallNs int64, args ...string) Reply {
	m.at(nowProgressNs, nowWallNs)
	reply := m.command(args)
	m.settle()
	return reply
}

// Park runs a pop that may wait. When it does, its answer comes out of Arrived later.
func (m *Model) Park(client int, nowProgressNs, nowWallNs int64, args ...string) (reply Reply, parked bool) {
	m.at(nowProgressNs, nowWallNs)
	p, bad := m.parsePop(args)
	if bad != nil {
		return *bad, false
	}
	p.client = client
	reply = m.take(p)
	if reply.Kind != Null || !p.blocks {
		m.settle()
		return reply, false
	}
	m.waiters = append(m.waiters, &waiter{client, p, m.nowNs + p.block})
	return null(), true
}

// Drop is the end of a client's connection: its waiting pop ends, and where the queue says so its leases do.
func (m *Model) Drop(client int) {
	kept := m.waiters[:0]
	for _, w := range m.waiters {
		if w.client != client {
			kept = append(kept, w)
		}
	}
	m.waiters = kept
	m.endLeases(client)
	m.settle()
}

// Arrived hands out, once, the answers to parked pops.
func (m *Model) Arrived() []Arrival {
	out := m.arrived
	m.arrived = nil
	return out
}

// Exec runs commands as one transaction at a moment: on a copy of the state, which is kept unless one of them is answered with an error. It does nothing and
// returns None where the contract leaves it open whether one is.
func (m *Model) Exec(nowProgressNs, nowWallNs int64, commands [][]string) Reply {
	m.at(nowProgressNs, nowWallNs)
	before := m.copy()
	var replies []Reply
	for i, args := range commands {
		reply := m.command(args)
		if reply.Kind == Error {
			*m = *before
			return fail("EXECABORT", fmt.Sprintf("command %d: %s", i+1, reply.Str))
		}
		if reply.Kind == OneOf && slices.ContainsFunc(reply.Items, func(r Reply) bool { return r.Kind == Error }) {
			*m = *before
			return Reply{Kind: None} // whether it takes place is open
		}
		replies = append(replies, reply)
		m.wakeUps()
	}
	m.settle()
	return array(replies...)
}

// copy is the model with a state of its own.
func (m *Model) copy() *Model {
	c := *m
	c.jobs, c.counts, c.issued = nil, map[string]*counters{}, map[string][]int64{}
	for _, j := range m.jobs {
		one := *j
		c.jobs = append(c.jobs, &one)
	}
	for queue, n := range m.counts {
		one := *n
		c.counts[queue] = &one
	}
	for key, tokens := range m.issued {
		c.issued[key] = slices.Clone(tokens)
	}
	c.memories, c.waiters, c.arrived = slices.Clone(m.memories), slices.Clone(m.waiters), slices.Clone(m.arrived)
	c.policy = m.policy.copy()
	return &c
}

func (m *Model) at(nowProgressNs, nowWallNs int64) {
	m.offsetNs = nowWallNs - nowProgressNs
	m.Advance(nowProgressNs)
}

func (m *Model) command(args []string) Reply {
	if len(args) == 0 {
		return fail("ERR", "empty command")
	}
	run := map[string]func([]string) Reply{
		"DQADD": m.dqadd, "DQMADD": m.dqmadd, "DQCANCEL": m.dqcancel, "DQMCANCEL": m.dqmcancel, "DQRESCHEDULE": m.dqreschedule,
		"DQCONFIG": m.dqconfig, "DQPAUSE": m.dqpause, "DQRESUME": m.dqresume, "DQPOP": m.dqpop, "DQMPOP": m.dqpop, "DQACK": m.dqack, "DQMACK": m.dqmack, "DQNACK": m.dqnack,
		"DQEXTEND": m.dqextend, "DQMEXTEND": m.dqmextend, "DQGET": m.dqget, "DQLEN": m.dqlen, "DQPEEK": m.dqpeek, "DQSTATS": m.dqstats,
		"DQRANGE": m.dqrange, "DQCOUNT": m.dqcount, "DQSCAN": m.page, "DQDEAD": m.page, "DQQUEUES": m.page, "SCAN": m.page,
		"DQREQUEUE": m.whole(m.dqrequeue), "DQRELEASE": m.whole(m.dqrelease), "DQPURGE": m.whole(m.dqpurge), "DQDROP": m.whole(m.dqdrop),
		"DBSIZE": m.dbsize, "EXISTS": m.exists, "TYPE": m.typeOf,
	}[strings.ToUpper(args[0])]
	if run == nil {
		return fail("ERR", "unknown command")
	}
	return run(args)
}
