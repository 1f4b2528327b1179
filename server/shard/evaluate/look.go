package evaluate

import (
	"bytes"
	"fmt"
	"math"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// get evaluates DQGET: the live job, else the newest dead one.
func (b *Batch) get(r *commands.Get) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return commands.Null{}
	}
	j := b.find(q, r.ID)
	if j == nil {
		if j = b.findDead(q, r.ID); j == nil {
			return commands.Null{}
		}
	}
	info := b.info(j)
	info.Fields = r.Fields
	b.Replied += len(info.Payload)
	return info
}

// info shows all of a job.
func (b *Batch) info(j *job) *commands.JobInfo {
	q, rec, body := j.q, j.is, b.body(j)
	info := &commands.JobInfo{
		ID: rec.ID, Queue: q.Name, State: rec.State,
		Due: b.now.shown(rec.Due), Created: rec.Created,
		Attempt: int(rec.Attempt), MaxAttempts: int(maxAttempts(q, rec)),
		Token: rec.Token, Pri: int(rec.Pri), Backoff: q.set.Backoff,
		Reason: rec.Reason, LateUs: rec.LateUs, Meta: body.Meta, Payload: body.Payload,
	}
	if body.Backoff != nil {
		info.Backoff = *body.Backoff
	}
	if rec.LeasedAt == 0 {
		info.LateUs = -1
	}
	if rec.State == record.Leased {
		info.LeaseUntil = b.now.shown(rec.Wake)
		info.Worker = rec.Worker
	}
	if rec.Expire.Ns != 0 {
		info.ExpireAt = b.now.shown(rec.Expire)
	}
	return info
}

// length evaluates DQLEN.
func (b *Batch) length(r *commands.Len) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return commands.Int(0)
	}
	switch r.State {
	case record.Delayed:
		return commands.Int(q.Delayed)
	case record.Ready:
		return commands.Int(q.Ready)
	case record.Leased:
		return commands.Int(q.Leased)
	case record.Dead:
		return commands.Int(q.Dead)
	}
	return commands.Int(q.Live())
}

// jobOverhead is about what a job takes in the store beside its payload: the
// record, and its keys in two or three indexes.
const jobOverhead = 128

// usage evaluates MEMORY USAGE: an estimate from the queue's gauges.
func (b *Batch) usage(r *commands.Usage) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return commands.Null{}
	}
	return commands.Int(q.Bytes + (q.Live()+q.Dead+1)*jobOverhead)
}

// Peek evaluates DQPEEK on a store of its own, usually a snapshot: it may read a
// lot, and runs beside the batches. It yields ready jobs, then delayed ones, in
// the order in which they would leave; leased ones in no order, dead ones in
// order of death.
func Peek(store Store, now Now, limit Limits, r *commands.Peek) commands.Reply {
	b := newReader(store, now, limit)
	q := b.queueNamed(r.Queue)
	out := commands.Peeked{}
	if q == nil {
		return out
	}
	room := b.limit.ReplyMax
	show := func(j *job) bool {
		if len(out) == r.Count {
			return false
		}
		body := b.body(j)
		job := commands.PeekedJob{ID: j.is.ID, Payload: body.Payload, Due: b.now.shown(j.is.Due), Attempt: int(j.is.Attempt)}
		if room -= job.EncodedSize(); room < 0 && len(out) > 0 {
			return false
		}
		out = append(out, job)
		return true
	}
	showReady := func(_, id []byte) bool { return show(b.indexed(q, id)) }
	showDelayed := func(s *spot) bool { return show(b.indexed(q, s.id)) }
	switch r.State {
	case 0:
		b.scan(record.AppendReadyPrefix(nil, q.Number), showReady)
		b.scanDelayed(q, anyDue, showDelayed)
	case record.Ready:
		b.scan(record.AppendReadyPrefix(nil, q.Number), showReady)
	case record.Delayed:
		b.scanDelayed(q, anyDue, showDelayed)
	case record.Leased:
		b.scanLeased(q, show)
	case record.Dead:
		b.scan(record.AppendDeadOrderPrefix(nil, q.Number), func(key, id []byte) bool {
			_, died, seq, _ := record.ParseDeadOrderKey(key)
			j := b.deadAt(q, dispatch.Hint{ID: string(id), Died: died, Seq: seq})
			if j == nil {
				corrupt(fmt.Errorf("index key %x has no job", key))
			}
			return show(j)
		})
	}
	return out
}

// scan reads all keys with a prefix.
func (b *Batch) scan(prefix []byte, fn func(key, value []byte) bool) {
	b.Store.Scan(prefix, record.PrefixEnd(prefix), fn)
}

// scanLeased yields the queue's leased jobs. They have no index of their own: it
// would be written with every lease, and is read by people only.
func (b *Batch) scanLeased(q *queue, yield func(*job) bool) {
	left := q.Leased
	b.scan(record.AppendJobPrefix(nil, q.Number), func(key, value []byte) bool {
		if left == 0 {
			return false
		}
		_, id, _ := record.ParseJobKey(key)
		rec, err := record.DecodeJob(q.Number, bytes.Clone(id), bytes.Clone(value))
		corrupt(err)
		if rec.State != record.Leased {
			return true
		}
		left--
		return yield(&job{q: q, was: rec, is: rec})
	})
}

// stats evaluates DQSTATS of a queue, as far as the replicated state knows; the node adds
// its own lateness and run times.
func (b *Batch) stats(r *commands.Stats) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return commands.NullArray{}
	}
	b.needBoundary()
	s := &commands.QueueStats{}
	fill(s, &q.Queue)
	s.Blocked = int64(b.Waiters.Waiting(string(q.Name)))
	s.Paused = b.paused(q)
	b.queueAges(s, q)
	return s
}

// TotalStats are the sums over all queues, without ages: see AddAges.
func (b *Batch) TotalStats() *commands.QueueStats {
	s := &commands.QueueStats{Paused: "none", Blocked: int64(b.Waiters.Len())}
	fill(s, &b.totals)
	return s
}

func fill(s *commands.QueueStats, q *record.Queue) {
	s.Delayed, s.Ready, s.Leased, s.Dead, s.Bytes = q.Delayed, q.Ready, q.Leased, q.Dead, q.Bytes
	s.Added, s.Delivered, s.Acked, s.Noack, s.Nacked = q.Added, q.Delivered, q.Acked, q.Noack, q.Nacked
	s.Expired, s.Cancelled, s.Purged, s.Pruned, s.LeaseTimeouts = q.Expired, q.Cancelled, q.Purged, q.Pruned, q.LeaseTimeouts
}

// queueAges sets the age of the oldest ready job and the next due time of a
// queue: of what the store has and the batch did not change, and of what the batch
// leaves.
func (b *Batch) queueAges(s *commands.QueueStats, q *queue) {
	oldest := int64(0)
	next := func(due record.Instant) {
		if at := b.now.shown(due); s.NextDue == 0 || at < s.NextDue {
			s.NextDue = at
		}
	}
	if budget := math.MaxInt; q.Ready > 0 {
		oldest = oldestReady(b.Store, b.now, q.Number, &budget, func(id []byte) bool { return b.changed(q, id) })
	}
	for d := range 2 {
		prefix := record.AppendDelayedPrefix(nil, q.Number, record.Domain(d))
		b.Store.Scan(prefix, record.PrefixEnd(prefix), func(key, id []byte) bool {
			if b.changed(q, id) {
				return true
			}
			_, due, _, _, _ := record.ParseDelayedKey(key)
			next(due)
			return false
		})
	}
	for _, j := range b.touched {
		if j.q.Number != q.Number || j.is == nil {
			continue
		}
		switch j.is.State {
		case record.Ready:
			oldest = max(oldest, b.now.Wall()-j.is.Due.Ns)
		case record.Delayed:
			next(j.is.Due)
		}
	}
	s.OldestReadyMs = max(s.OldestReadyMs, oldest/1e6)
}

// changed reports that the batch has changed, or ended, the live job with the id.
func (b *Batch) changed(q *queue, id []byte) bool {
	b.key = record.AppendJobKey(b.key[:0], q.Number, id)
	j := b.jobs.get(b.key[1:])
	return j != nil && j.batch == b.begun && (j.touched || j.is == nil)
}

// oldestReady returns how many ns ago the oldest ready job of a queue was due, 0 if it has
// none, but for those to skip. The ready index is by priority first, so each priority is
// looked at once, and counted off the budget while there is any left.
func oldestReady(store Store, now Now, queue uint32, budget *int, skip func(id []byte) bool) (oldest int64) {
	prefix := record.AppendReadyPrefix(nil, queue)
	hi := record.PrefixEnd(prefix)
	for lo := prefix; lo != nil && *budget > 0; *budget-- {
		from := lo
		lo = nil
		store.Scan(from, hi, func(key, id []byte) bool {
			if skip != nil && skip(id) {
				return true
			}
			_, pri, due, _, _ := record.ParseReadyKey(key)
			oldest = max(oldest, now.Wall()-due)
			if pri < 255 {
				lo = record.AppendReadyKey(nil, queue, pri+1, 0, 0)
			}
			return false
		})
	}
	return oldest
}

// agesMax bounds the queues that DQSTATS without a queue looks at for ages.
const agesMax = 1024

// AddAges adds the ages to TotalStats: of the first queues of the registry, read
// from a store of its own.
func AddAges(store Store, now Now, limit Limits, s *commands.QueueStats) {
	b := newReader(store, now, limit)
	n := 0
	b.scan(record.QueueSpace(), func(key, value []byte) bool {
		number, ok := record.ParseQueueKey(key)
		rec, err := record.DecodeQueue(number, bytes.Clone(value))
		if !ok {
			err = errBadNumber
		}
		corrupt(err)
		b.queueAges(s, &queue{Queue: *rec})
		n++
		return n < agesMax
	})
}

// newReader returns a batch that only reads, on a store of its own.
func newReader(store Store, now Now, limit Limits) *Batch {
	m := &Memory{Store: store, queues: map[string]*queue{}, byNum: map[uint32]*queue{}}
	return m.NewBatch(now, limit)
}
