package evaluate

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

var errBadDeadKey = errors.New("the key of a dead job does not parse")

// purge evaluates DQPURGE.
func (b *Batch) purge(r *commands.Purge) (*Bulk, commands.Reply) {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return nil, commands.Int(0)
	}
	return b.newPurge(q, r), nil
}

func (b *Batch) newPurge(q *queue, r *commands.Purge) *Bulk {
	w := b.newBulk(q)
	if r.Limit > 0 {
		w.left = r.Limit
	}
	live := r.States[record.Delayed] || r.States[record.Ready] || r.States[record.Leased]
	w.repeat = live && r.States[record.Dead] // a live job may die, or come back
	due := b.between(r)
	w.find = func(b *Batch, q *queue, yield func(dispatch.Hint) bool) {
		b.findPurged(q, &r.States, due, yield)
	}
	w.take = func(b *Batch, q *queue, h *dispatch.Hint) bool {
		j := b.candidate(w, q, h)
		if j == nil || !r.States[j.is.State] || !due.holds(b.now.shown(j.is.Due)) {
			return false
		}
		// The request that a live job remembers, or made it, is not this dead one's.
		if !h.Dead || b.memory(q, j.is.ID) != nil && b.find(q, j.is.ID) == nil {
			b.forget(q, j.is.ID)
		}
		b.bump(q, purged, 1)
		b.change(j, nil)
		return true
	}
	return w
}

// DryPurge evaluates DQPURGE … DRYRUN on a store of its own, usually a snapshot.
func DryPurge(store Store, now Now, limit Limits, r *commands.Purge) commands.Reply {
	b := newReader(store, now, limit)
	count := int64(0)
	if q := b.queueNamed(r.Queue); q != nil {
		b.findPurged(q, &r.States, b.between(r), func(dispatch.Hint) bool {
			count++
			return count != r.Limit
		})
	}
	return commands.Int(count)
}

// dueRange has the due times from one to the other, wall ns, both included.
type dueRange struct{ from, to int64 }

var anyDue = dueRange{0, math.MaxInt64}

func (d dueRange) holds(due int64) bool { return d.from <= due && due <= d.to }

func (b *Batch) between(r *commands.Purge) (d dueRange) {
	d.from, d.to = commands.Between(r.Min, r.Max, b.now.Wall())
	return d
}

// findPurged yields the queue's jobs in some states and due times: the ready and the
// delayed ones in the order of DQPEEK, then the leased ones, then the dead ones in order of death.
func (b *Batch) findPurged(q *queue, states *commands.StateSet, due dueRange, yield func(dispatch.Hint) bool) {
	more := true
	take := func(h dispatch.Hint) bool {
		more = yield(h)
		return more
	}
	if states[record.Ready] {
		b.scan(record.AppendReadyPrefix(nil, q.Number), func(key, id []byte) bool {
			_, _, at, seq, _ := record.ParseReadyKey(key)
			return !due.holds(at) || take(liveHint(id, seq))
		})
	}
	if states[record.Delayed] && more {
		b.scanDelayed(q, due, func(s *spot) bool { return take(liveHint(s.id, s.seq)) })
	}
	if states[record.Leased] && more {
		b.scanLeased(q, func(j *job) bool {
			return !due.holds(b.now.shown(j.is.Due)) || take(liveHint(j.is.ID, j.is.Seq))
		})
	}
	if states[record.Dead] && more {
		b.scanDead(q, func(h dispatch.Hint) bool {
			return !due.holds(b.dueOfDead(q, &h)) || take(h)
		})
	}
}

// dueOfDead returns the due time, as wall time, of a dead job that the store has.
func (b *Batch) dueOfDead(q *queue, h *dispatch.Hint) int64 {
	b.key = record.AppendDeadJobKey(b.key[:0], q.Number, []byte(h.ID), h.Died, h.Seq)
	v, ok := b.Store.Get(b.key)
	if !ok {
		corrupt(fmt.Errorf("dead job %x of the order of death is missing", b.key))
	}
	rec, err := record.DecodeJob(q.Number, bytes.Clone([]byte(h.ID)), v)
	corrupt(err)
	return b.now.shown(rec.Due)
}

// drop evaluates DQDROP. A queue that holds jobs is purged first; jobs that are added
// meanwhile are the first of a new queue.
func (b *Batch) drop(r *commands.Drop) (*Bulk, commands.Reply) {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return nil, commands.Int(0)
	}
	if q.Live()+q.Dead == 0 {
		b.remove(q)
		return nil, commands.Int(1)
	}
	if !r.Force {
		return nil, commands.Error(fmt.Sprintf("NOTEMPTY queue %s holds %d live and %d dead jobs: DQPURGE it first, or drop it with FORCE", quote(r.Queue), q.Live(), q.Dead))
	}
	all := commands.StateSet{record.Delayed: true, record.Ready: true, record.Leased: true, record.Dead: true}
	w := b.newPurge(q, &commands.Purge{Queue: r.Queue, States: all, Min: commands.NoMin, Max: commands.NoMax})
	w.end = func(b *Batch, q *queue) commands.Reply {
		switch {
		case q == nil: // somebody else did
			return commands.Int(0)
		case q.Live()+q.Dead == 0:
			b.remove(q)
		default:
			b.renew(q)
		}
		return commands.Int(1)
	}
	return w, nil
}

// remove removes an empty queue. Its number is not given again. Waiting pops go on
// waiting for its name; its IDEM memories are out of reach and swept in time.
func (b *Batch) remove(q *queue) {
	b.touch(q)
	b.totals.Subtract(&q.Queue)
	b.queueCount--
	q.own = record.Own{} // which bind the defaults no more
	q.gone = true
	b.gone = append(b.gone, q)
}

// removeIfBare removes a queue that holds neither a job nor a setting, a pause or a
// counter: what held it was taken back. A pause that is over holds it until it is
// resumed, since a step of the wall may bring it back.
func (b *Batch) removeIfBare(q *queue) {
	if q.Added == 0 && q.own.Given == 0 && q.InUntil.Ns == 0 && q.OutUntil.Ns == 0 { // all counters are of jobs that were added
		b.remove(q)
	}
}

// renew makes a queue as if the jobs that it holds had been added to a new one. Like
// those of a removed queue, its IDEM memories are out of reach and swept in time.
func (b *Batch) renew(q *queue) {
	b.touch(q)
	b.totals.Subtract(&q.Queue)
	q.Queue = record.Queue{
		Number: q.Number, Name: q.Name,
		Delayed: q.Delayed, Ready: q.Ready, Leased: q.Leased, Dead: q.Dead, Bytes: q.Bytes,
		Added:      q.Live() + q.Dead,
		IdemNumber: b.Applied.NextQueue,
	}
	b.Applied.NextQueue++
	b.totals.Sum(&q.Queue)
	q.own = record.Own{}
	b.storeOwn(q.Number, &q.own)
	b.useSettings(q)
	b.wants(q) // it may have been held back
	b.markOver(q)
}

// sealDrop writes that a queue was removed.
func (b *Batch) sealDrop(q *queue) {
	if other := b.queues[string(q.Name)]; other == nil || other == q { // else a new one has the name
		b.effects.Delete(record.AppendQueueNameKey(nil, q.Name))
	}
	b.effects.Delete(record.AppendQueueKey(nil, q.Number))
	b.effects.Delete(record.AppendSettingsKey(nil, q.Number))
	q.touched = false
}

func (q *queue) unlessGone() *queue {
	if q.gone {
		return nil
	}
	return q
}

// forgetGone forgets the dropped queues: the store has them no more.
func (b *Batch) forgetGone() {
	for _, q := range b.gone {
		delete(b.byNum, q.Number)
		b.Heads.Forget(q.Number)
		if b.queues[string(q.Name)] == q {
			delete(b.queues, string(q.Name))
		}
	}
	b.gone = nil
}
