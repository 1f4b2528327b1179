package evaluate

import (
	"bytes"
	"encoding/binary"
	"time"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/server/shard/dispatch"
)

// Store is committed state. An I/O error does not come back: the node stops.
type Store interface {
	// Get returns a key's value, which the caller may keep.
	Get(key []byte) (value []byte, ok bool)
	// GetAll returns the values of many keys, nil where there is none. It may be faster
	// than as many Gets.
	GetAll(keys [][]byte) (values [][]byte)
	// Scan calls fn for the keys in [lo, hi) in order until it returns false.
	// Keys and values are valid during the call only.
	Scan(lo, hi []byte, fn func(key, value []byte) bool)
}

// Now is the moment at which a batch is evaluated: cluster time, stamped once.
type Now struct {
	Progress int64 // ns, never goes back
	Offset   int64 // wall = progress + offset
}

// Wall returns the wall time in Unix nanoseconds.
func (n Now) Wall() int64 { return n.Progress + n.Offset }

// In returns the time of a timeline.
func (n Now) In(d record.Domain) int64 {
	if d == record.Wall {
		return n.Wall()
	}
	return n.Progress
}

// shown returns an instant as wall time: what clients see.
func (n Now) shown(t record.Instant) int64 {
	if t.Domain == record.Wall {
		return t.Ns
	}
	return t.Ns + n.Offset
}

// reached reports whether an instant has come.
func (n Now) reached(t record.Instant) bool { return t.Ns <= n.In(t.Domain) }

// passed is reached for an instant that may be zero, which is never.
func (n Now) passed(t record.Instant) bool { return t.Ns != 0 && n.reached(t) }

// Batch is one entry in the making. A memory has one at a time.
type Batch struct {
	*Memory
	*scratch
	now    Now
	limit  *Limits // its memory's
	Report Report
	// From is the connection whose request is evaluated, for on-disconnect.
	From any
	// Replied is about how many bytes the replies so far take, as far as they carry payloads.
	Replied int
}

// overlay is what the store does not have yet: what the batches in flight and the
// one under evaluation leave. All but the live jobs is forgotten when nothing is in
// flight.
type overlay struct {
	jobs  jobs
	large []largeBody       // of live jobs, in order of batches
	dead  map[uint64]*job   // dead jobs that were looked at, by acceptance
	died  map[string][]*job // those that died, oldest first, by q4 id
	idem  map[string]*idem
}

// forget drops all but the live jobs.
func (o *overlay) forget() {
	if o.dead == nil || len(o.dead)+len(o.died)+len(o.idem) > 0 {
		o.dead, o.died, o.idem = map[uint64]*job{}, map[string][]*job{}, map[string]*idem{}
	}
}

// scratch is what a batch gathers; its storage serves one batch after the other.
type scratch struct {
	touched []*job   // in order of first touch
	queued  []*queue // touched queues, likewise
	idems   []string // touched keys of idem, likewise
	loaded  []*job   // those that have a body
	effects effect.Batch
	bytes   int
	key     []byte
	undo    *undo // of the transaction under evaluation; nil = there is none
}

func (s *scratch) reset() {
	for _, j := range s.loaded { // jobs stay in memory, large bodies do not
		j.body = nil
	}
	clear(s.loaded)
	s.loaded = s.loaded[:0]
	clear(s.touched)
	s.touched, s.queued, s.idems, s.bytes = s.touched[:0], s.queued[:0], s.idems[:0], 0
	s.effects.Reset()
}

const (
	// overlayMax bounds dead jobs and IDEM memories in the overlay: then it wants to
	// be forgotten.
	overlayMax = 1 << 12
	// findCost counts a look-up against the size of a batch: it is bounded in work, too.
	findCost = 32
	// BatchReplies bounds the payloads in the replies of a batch. It is a target: one
	// reply has reply-max at most.
	BatchReplies = 8 << 20
)

// Report is what a batch did, for the statistics.
type Report struct {
	Deliveries []Delivered
	Runs       []Run
}

// Limits are the global limits that need state or time to check.
type Limits struct {
	MaxAhead  int64 // ns
	ReplyMax  int   // bytes of a list or pop reply
	MaxQueues int64
	MaxWaits  int // waiting pops
	// HotRecords is how many records of lately touched jobs are kept at least; twice
	// as many at most.
	HotRecords int
	// WindowBytes bounds what is kept in memory of jobs that are shown in an order
	// that the store does not have.
	WindowBytes int
	// Queue are the settings of all queues until somebody changes them.
	Queue record.Settings
	// Refuse says why what takes room is refused now; "" = it is not. nil = it never is.
	Refuse func() commands.Error
}

func (l *Limits) refuse() commands.Error {
	if l.Refuse == nil {
		return ""
	}
	return l.Refuse()
}

// DefaultLimits are the limits of PROMISES §2.
func DefaultLimits() Limits {
	return Limits{
		MaxAhead:    36525 * 24 * int64(time.Hour),
		ReplyMax:    4 << 20,
		MaxQueues:   1_000_000,
		MaxWaits:    10_000,
		HotRecords:  1 << 15,
		WindowBytes: 8 << 20,
		Queue:       record.DefaultSettings(),
	}
}

// Delivered is a delivery, for the statistics.
type Delivered struct {
	Name   []byte
	LateNs int64
}

// Run is the time from a delivery to its ack, for the statistics.
type Run struct {
	Name  []byte
	RunNs int64
}

// job is a job that was looked at. Its records do not change.
type job struct {
	key         string // of the overlay: q4 id; "" for a dead job that was looked up
	q           *queue
	batch       uint64       // the last one that looked at it
	was         *record.Job  // as the batch found it; nil = none
	is          *record.Job  // as the batch leaves it; nil = none
	bodyChanged bool         // by the batch
	touched     bool         // by the batch
	body        *record.Body // as the batch loaded it, if it stands apart
}

// in makes the job one of the present batch.
func (j *job) in(b *Batch) *job {
	if j.batch != b.begun {
		j.batch, j.was, j.bodyChanged, j.touched, j.body = b.begun, j.is, false, false, nil
	}
	return j
}

func (j *job) isDead() bool { return j.is != nil && j.is.State == record.Dead }

// NewBatch starts a batch at now.
func (m *Memory) NewBatch(now Now, limit Limits) *Batch {
	if !m.Flying() {
		m.committed = m.begun
	}
	m.begun++
	m.jobs.turn(limit.HotRecords, m.begun, m.committed)
	m.scratch.reset()
	if m.defaults == nil {
		m.loadDefaults(&limit.Queue)
	}
	m.limit = limit
	b := &Batch{Memory: m, scratch: &m.scratch, now: now, limit: &m.limit}
	if !m.Flying() {
		b.forgetGone()
		m.overlay.forget()
		if len(m.queues) > maxCachedQueues {
			b.forgetQueues()
		}
		if b.found != nil {
			b.list(b.found)
			b.found = nil
		}
	}
	return b
}

// Number returns the batch's number, for Committed.
func (b *Batch) Number() uint64 { return b.begun }

// Empty reports whether the batch has changed nothing.
func (b *Batch) Empty() bool {
	return len(b.touched) == 0 && len(b.queued) == 0 && len(b.idems) == 0 && b.effects.Empty()
}

// Size estimates the entry's bytes so far.
func (b *Batch) Size() int { return b.bytes + b.effects.Size() }

// Seal turns the batch into an entry. Afterwards the batch is done with.
func (b *Batch) Seal(shard uint32) []byte {
	for _, j := range b.touched {
		switch {
		case j.is != nil:
			b.effects.PutJob(j.was, j.is, j.bodyChanged)
		case j.was != nil:
			b.effects.DeleteJob(j.was)
		}
	}
	for _, q := range b.queued {
		if q.gone {
			b.sealDrop(q)
			continue
		}
		if q.created {
			b.effects.Set(record.AppendQueueNameKey(nil, q.Name), record.AppendQueueNumber(nil, q.Number))
		}
		b.effects.Set(record.AppendQueueKey(nil, q.Number), q.Queue.AppendValue(nil))
		q.touched, q.created = false, false
		b.largest.note(q)
	}
	for _, k := range b.idems {
		b.sealIdem(k)
	}
	b.Applied.Time = b.now.Progress
	b.Applied.WallOffset = b.now.Offset
	for d := range b.Windows {
		b.Applied.Cursors[d] = b.Windows[d].Cursor(b.now.In(record.Domain(d)))
	}
	b.Applied.Sequence++
	b.sealed = b.begun
	return b.effects.Seal(effect.Header{Shard: shard, Applied: b.Applied})
}

// find returns the queue's live job with the id, or nil.
func (b *Batch) find(q *queue, id []byte) *job {
	b.key = record.AppendJobKey(b.key[:0], q.Number, id)
	key := b.key[1:]
	if b.unknown(key) {
		return nil
	}
	j := b.jobs.get(key)
	if j == nil {
		b.bytes += findCost
		j = &job{key: string(key)}
		b.jobs.put(j)
		if v, ok := b.Store.Get(b.key); ok {
			j.read(q, id, v)
		}
	}
	j.q = q
	if j.in(b).is == nil {
		return nil
	}
	return j
}

// read takes the record that the store has of the job.
func (j *job) read(q *queue, id, value []byte) {
	rec, err := record.DecodeJob(q.Number, bytes.Clone(id), value)
	corrupt(err)
	j.is = rec
}

// aheadLeast is how many jobs are worth being read together.
const aheadLeast = 16

// findAhead reads together, of n jobs, those that find would read one by one. A nil
// queue stands for no job.
func (b *Batch) findAhead(n int, at func(i int) (q *queue, id []byte)) {
	if n < aheadLeast {
		return
	}
	type read struct {
		j  *job
		q  *queue
		id []byte
	}
	var (
		keys  [][]byte
		reads []read
	)
	for i := range n {
		q, id := at(i)
		if q == nil {
			continue
		}
		b.key = record.AppendJobKey(b.key[:0], q.Number, id)
		if b.unknown(b.key[1:]) || b.jobs.get(b.key[1:]) != nil {
			continue
		}
		j := &job{key: string(b.key[1:])}
		b.jobs.put(j)
		keys, reads = append(keys, bytes.Clone(b.key)), append(reads, read{j, q, id})
	}
	b.bytes += findCost * len(keys)
	for i, v := range b.Store.GetAll(keys) {
		if r := &reads[i]; v != nil {
			r.j.read(r.q, r.id, v)
		}
	}
}

// findDead returns the newest dead job with the id, or nil.
func (b *Batch) findDead(q *queue, id []byte) *job {
	if q.Dead == 0 {
		return nil
	}
	k := binary.BigEndian.AppendUint32(nil, q.Number)
	k = append(k, id...)
	died := b.died[string(k)]
	for i := len(died) - 1; i >= 0; i-- {
		if died[i].isDead() {
			return died[i].in(b)
		}
	}
	var newest *job
	b.bytes += findCost
	b.scan(record.AppendDeadIDPrefix(nil, q.Number, id), func(_, value []byte) bool {
		rec, err := record.DecodeJob(q.Number, bytes.Clone(id), bytes.Clone(value))
		corrupt(err)
		j := b.dead[rec.Seq]
		if j == nil {
			j = &job{q: q, is: rec}
			b.dead[rec.Seq] = j
		}
		if !j.isDead() {
			return true // revived or gone since
		}
		newest = j.in(b)
		return false // they come newest first
	})
	return newest
}

// body returns the job's body, loading it if it stands apart.
func (b *Batch) body(j *job) *record.Body {
	rec := j.is
	if rec.Body != nil {
		return rec.Body
	}
	if j.body == nil {
		b.key = record.AppendBodyKey(b.key[:0], rec.Queue, rec.Seq)
		v, ok := b.Store.Get(b.key)
		if !ok {
			corrupt(errNoBody)
		}
		body, err := record.DecodeBody(v)
		corrupt(err)
		j.body = body
		b.loaded = append(b.loaded, j)
	}
	return j.body
}

// place returns the overlay's place for a new live job; the id must be free.
func (b *Batch) place(q *queue, id []byte) *job {
	b.key = record.AppendJobKey(b.key[:0], q.Number, id)
	key := b.key[1:]
	j := b.jobs.get(key)
	if j == nil {
		j = &job{key: string(key)}
		b.jobs.put(j)
	}
	j.q = q
	b.learn(key)
	b.keepJob(j.in(b))
	j.bodyChanged = true
	return j
}

// edit returns a copy of the job's record to be changed and given to change.
func (j *job) edit() *record.Job {
	rec := *j.is
	return &rec
}

// change makes rec (nil: nothing) what the batch leaves of the job, and keeps
// the gauges, the windows, the ready heads and the list of touched jobs in step.
// It is the only place that does.
func (b *Batch) change(j *job, rec *record.Job) {
	old := j.is
	b.keepJob(j)
	if !j.touched {
		j.touched = true
		b.touched = append(b.touched, j)
	}
	b.touch(j.q)
	if old != nil {
		b.count(j.q, old, -1)
	}
	j.is = rec
	if old != nil && old.State == record.Leased && (rec == nil || rec.State != record.Leased) {
		b.leaseEnded(j.q, old)
	}
	if rec == nil {
		return
	}
	if old == nil || old.State != record.Ready {
		if rec.State == record.Ready {
			b.Heads.Add(j.q.Number, readyItem(rec), j.q.Ready == 0)
		}
	} else if rec.State == record.Ready && (rec.Pri != old.Pri || rec.Due != old.Due || rec.Seq != old.Seq) {
		b.Heads.Add(j.q.Number, readyItem(rec), false)
	}
	b.count(j.q, rec, 1)
	if rec.State == record.Ready {
		b.wants(j.q)
	}
	// A hint says where the record is: that of a dead job does not find a live one.
	if rec.Wake.Ns != 0 && (old == nil || old.Wake != rec.Wake || old.Seq != rec.Seq || (old.State == record.Dead) != (rec.State == record.Dead)) {
		b.Windows[rec.Wake.Domain].Add(dispatch.Hint{
			Wake: rec.Wake, Seq: rec.Seq, Queue: rec.Queue, ID: string(rec.ID),
			Dead: rec.State == record.Dead, Died: rec.Died,
		})
	}
	b.bytes += 96 + len(rec.ID)
	if rec.Separate && j.bodyChanged {
		b.large = append(b.large, largeBody{j, rec.Body, b.begun})
	}
	if rec.Body != nil && (!rec.Separate || j.bodyChanged) {
		b.bytes += len(rec.Body.Payload)
	}
}

func readyItem(rec *record.Job) dispatch.ReadyItem {
	return dispatch.ReadyItem{Pri: rec.Pri, Due: rec.Due.Ns, Seq: rec.Seq, ID: string(rec.ID)}
}

// count adds a job to the gauges, or takes it away (sign -1).
func (b *Batch) count(q *queue, rec *record.Job, sign int64) {
	for _, g := range [2]*record.Queue{&q.Queue, &b.totals} {
		switch rec.State {
		case record.Delayed:
			g.Delayed += sign
		case record.Ready:
			g.Ready += sign
		case record.Leased:
			g.Leased += sign
		case record.Dead:
			g.Dead += sign
		}
		g.Bytes += sign * int64(rec.PayloadSize)
	}
}

// bump adds n to the same counter of the queue and of the totals.
func (b *Batch) bump(q *queue, counter func(*record.Queue) *int64, n int64) {
	b.touch(q)
	*counter(&q.Queue) += n
	*counter(&b.totals) += n
}
