package evaluate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

var (
	errNoBody    = errors.New("a job's body is missing")
	errBadNumber = errors.New("a queue's number does not parse")
)

// corrupt stops the node on a record that does not decode or fit: it never acts
// on damaged state.
func corrupt(err error) {
	if err != nil {
		panic(fmt.Sprintf("damaged state store: %v", err))
	}
}

// wakeOf returns when to look at a delayed job: at its due time, or at its
// expiry, if that is earlier. The result is always on the timeline of the due
// time: were it on the other one, a step of the wall clock back could move it
// behind the due time, and the job would be late. A look that comes too early
// because of such a step asks for the next one.
func (b *Batch) wakeOf(due, expire record.Instant) record.Instant {
	if expire.Ns == 0 || b.now.shown(expire) >= b.now.shown(due) {
		return due
	}
	due.Ns = b.now.shown(expire)
	if due.Domain == record.Progress {
		due.Ns -= b.now.Offset
	}
	return due
}

// settle makes rec wait for its due time: delayed, or ready if due has come, or
// ended if it has expired (then it returns nil, and says so with the job).
// Whoever calls it has set Due and gives the result to change.
func (b *Batch) settle(j *job, rec *record.Job) {
	switch {
	case b.now.passed(rec.Expire):
		b.expire(j, rec)
	case b.now.reached(rec.Due):
		b.ready(j, rec)
	default:
		rec.State = record.Delayed
		rec.Wake = b.wakeOf(rec.Due, rec.Expire)
		b.change(j, rec)
	}
}

// frozen returns an instant as wall time, where no later step of the clock moves it.
func (b *Batch) frozen(t record.Instant) record.Instant {
	return record.Instant{Domain: record.Wall, Ns: b.now.shown(t)}
}

// ready makes a due job ready. Its due time is history now, so it is frozen on
// the wall timeline: the order of the ready index never changes.
func (b *Batch) ready(j *job, rec *record.Job) {
	rec.State = record.Ready
	rec.Due = b.frozen(rec.Due)
	rec.Wake = rec.Expire
	b.change(j, rec)
}

// expire ends a job that nobody took in time, by its queue's expire-to.
func (b *Batch) expire(j *job, rec *record.Job) {
	if j.q.set.ExpireToDead {
		rec.TokenState = record.TokenStale
		b.die(j, rec, record.CauseExpired)
		return
	}
	b.bump(j.q, expired, 1)
	b.end(j, rec)
}

// end removes a job; if an IDEM request made it, that is remembered.
func (b *Batch) end(j *job, rec *record.Job) {
	b.remember(j.q, rec)
	b.change(j, nil)
}

// die makes a live job dead. The id is free again.
func (b *Batch) die(j *job, rec *record.Job, cause record.Cause) {
	b.remember(j.q, rec)
	rec.State = record.Dead
	rec.Due = b.frozen(rec.Due)
	rec.Cause = cause
	rec.Died = b.now.Progress // in this order, whatever the wall clock does
	rec.Wake = record.Instant{}
	if j.q.set.DeadKeep > 0 {
		rec.Wake = record.Instant{Domain: record.Progress, Ns: b.now.Progress + j.q.set.DeadKeep}
	}
	k := liveKey(rec.Queue, rec.ID)
	b.keepJob(j)
	b.keepPlace(k)
	j.key = k // also of a job that was never live before: its place is empty now
	b.jobs.put((&job{q: j.q, key: k}).in(b))
	b.died[k] = append(b.died[k], j)
	b.dead[rec.Seq] = j
	b.change(j, rec)
	j.q.diedAt = rec.Died
	b.markOver(j.q)
}

// revive makes a dead job live again under its id, which must be free. The
// caller gives the record a state.
func (b *Batch) revive(j *job) *record.Job {
	rec := j.edit()
	rec.Cause, rec.Died = record.CauseNone, 0
	b.keepJob(j)
	j.key = liveKey(rec.Queue, rec.ID)
	b.keepPlace(j.key)
	b.jobs.put(j)
	b.learn([]byte(j.key))
	return rec
}

func liveKey(q uint32, id []byte) string {
	return string(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(id)), q), id...))
}

// lease gives a ready job to a worker until now + ns.
func (b *Batch) lease(j *job, ns int64, worker []byte) {
	rec := j.edit()
	b.delivered(j, rec)
	rec.State = record.Leased
	rec.Token = b.Applied.NextToken
	b.Applied.NextToken++
	rec.TokenState = record.TokenHeld
	rec.Wake = record.Instant{Domain: record.Progress, Ns: b.now.Progress + ns}
	rec.Worker = bytes.Clone(worker)
	b.change(j, rec)
}

// delivered counts a delivery.
func (b *Batch) delivered(j *job, rec *record.Job) {
	late := max(0, b.now.Wall()-b.now.shown(rec.Due))
	rec.Attempt++
	rec.LateUs = (late + 999) / 1000 // rounded up, as all times are
	rec.LeasedAt = b.now.Progress
	b.bump(j.q, delivered, 1)
	b.Report.Deliveries = append(b.Report.Deliveries, Delivered{Name: j.q.Name, LateNs: late})
}

// release ends a lease that nobody settled: the job waits for its retry, or is
// dead. at is the end of the lease, which the retry delay counts from.
func (b *Batch) release(j *job, at int64) {
	rec := j.edit()
	rec.TokenState = record.TokenRanOut
	b.bump(j.q, leaseTimeouts, 1)
	if b.usedUp(j, rec) {
		b.die(j, rec, record.CauseAttempts)
		return
	}
	rec.Due = record.Instant{Domain: record.Progress, Ns: at + b.backoff(j, rec.Attempt)}
	b.settle(j, rec)
}

// maxAttempts returns the job's limit of deliveries; 0 = none.
func maxAttempts(q *queue, rec *record.Job) int32 {
	if rec.MaxAttempts >= 0 {
		return rec.MaxAttempts
	}
	return int32(q.set.Attempts)
}

func (b *Batch) usedUp(j *job, rec *record.Job) bool {
	limit := maxAttempts(j.q, rec)
	return limit > 0 && int64(rec.Attempt) >= int64(limit)
}

// WakeAll looks at jobs whose wake-ups have come.
func (b *Batch) WakeAll(hints []dispatch.Hint) {
	b.findAhead(len(hints), func(i int) (*queue, []byte) {
		if hints[i].Dead {
			return nil, nil
		}
		return b.queueNumbered(hints[i].Queue), []byte(hints[i].ID)
	})
	for _, h := range hints {
		b.wake(h)
	}
}

// wake looks at a job whose wake-up has come. A hint that the job's record does
// not confirm is from before a change, and dropped.
func (b *Batch) wake(h dispatch.Hint) {
	q := b.queueNumbered(h.Queue)
	if q == nil {
		return
	}
	var j *job
	if h.Dead {
		j = b.deadAt(q, h)
	} else {
		j = b.find(q, []byte(h.ID))
	}
	if j == nil || j.is.Seq != h.Seq || j.is.Wake != h.Wake {
		return
	}
	switch rec := j.is; rec.State {
	case record.Leased:
		b.release(j, rec.Wake.Ns)
	case record.Dead:
		b.bump(q, pruned, 1)
		b.change(j, nil)
	case record.Delayed:
		b.settle(j, j.edit())
	case record.Ready:
		b.expire(j, j.edit())
	}
}

// deadAt returns the dead job that a hint names, or nil.
func (b *Batch) deadAt(q *queue, h dispatch.Hint) *job {
	if j, ok := b.dead[h.Seq]; ok {
		if !j.isDead() {
			return nil
		}
		return j.in(b)
	}
	v, ok := b.Store.Get(record.AppendDeadJobKey(nil, q.Number, []byte(h.ID), h.Died, h.Seq))
	if !ok {
		return nil
	}
	rec, err := record.DecodeJob(q.Number, []byte(h.ID), v)
	corrupt(err)
	j := &job{q: q, is: rec}
	b.dead[h.Seq] = j
	return j.in(b)
}

// The counters that bump takes.
func added(q *record.Queue) *int64         { return &q.Added }
func delivered(q *record.Queue) *int64     { return &q.Delivered }
func acked(q *record.Queue) *int64         { return &q.Acked }
func noack(q *record.Queue) *int64         { return &q.Noack }
func nacked(q *record.Queue) *int64        { return &q.Nacked }
func expired(q *record.Queue) *int64       { return &q.Expired }
func cancelled(q *record.Queue) *int64     { return &q.Cancelled }
func purged(q *record.Queue) *int64        { return &q.Purged }
func pruned(q *record.Queue) *int64        { return &q.Pruned }
func leaseTimeouts(q *record.Queue) *int64 { return &q.LeaseTimeouts }
