package evaluate

import (
	"fmt"
	"slices"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// pop evaluates DQPOP and DQMPOP against what is ready now. It returns nil when
// there is nothing.
func (b *Batch) pop(r *commands.Pop) commands.Reply {
	out := &commands.Deliveries{Full: r.Full}
	room := b.limit.ReplyMax
	b.fillHeads(r)
	for _, name := range r.Queues {
		q := b.queueNamed(name)
		if q == nil || !b.open(q) {
			continue
		}
		for len(out.Jobs) < r.Count && b.open(q) {
			j := b.first(q, len(out.Jobs) > 0)
			if j == nil {
				break
			}
			if b.now.passed(j.is.Expire) {
				b.Heads.Drop(q.Number)
				b.expire(j, j.edit())
				continue
			}
			body := b.body(j)
			job := b.delivery(j, j.is, body, 0)
			size := job.EncodedSize()
			if room -= size; room < 0 && len(out.Jobs) > 0 {
				return out
			}
			b.Replied += size
			b.Heads.Drop(q.Number)
			if len(out.Jobs) == cap(out.Jobs) {
				out.Jobs = slices.Grow(out.Jobs, min(r.Count-len(out.Jobs), int(q.Ready)))
			}
			out.Jobs = append(out.Jobs, b.deliver(j, body, r))
		}
		if len(out.Jobs) == r.Count {
			break
		}
	}
	if len(out.Jobs) == 0 {
		return nil
	}
	return out
}

// fillHeads fills the heads of the queues that a pop takes its jobs from, before it
// takes the first: then it could not ask for a boundary any more.
func (b *Batch) fillHeads(r *commands.Pop) {
	left := int64(r.Count)
	for _, name := range r.Queues {
		q := b.queueNamed(name)
		if q == nil || q.Ready == 0 || !b.open(q) {
			continue
		}
		if b.Heads.Short(q.Number, r.Count) {
			b.needBoundary()
			b.refill(q)
		}
		if q.set.Rate > 0 || q.set.MaxInflight > 0 {
			continue // it may give less than it has
		}
		if left -= q.Ready; left <= 0 {
			return
		}
	}
}

// deliver hands a ready job out: leases it, or ends it with NOACK.
func (b *Batch) deliver(j *job, body *record.Body, r *commands.Pop) commands.Delivery {
	due := b.now.shown(j.is.Due)
	b.spend(j.q)
	if r.NoAck {
		rec := j.edit()
		b.delivered(j, rec)
		// A token of its own, although there is nothing to settle: it only grows.
		rec.Token = b.Applied.NextToken
		b.Applied.NextToken++
		b.bump(j.q, noack, 1)
		d := b.delivery(j, rec, body, due)
		b.end(j, rec)
		return d
	}
	lease := r.Lease
	if lease == 0 {
		lease = body.Lease
	}
	if lease == 0 {
		lease = j.q.set.Lease
	}
	b.lease(j, min(lease, j.q.set.LeaseMax), r.Worker)
	b.hold(j)
	return b.delivery(j, j.is, body, due)
}

func (b *Batch) delivery(j *job, rec *record.Job, body *record.Body, due int64) commands.Delivery {
	d := commands.Delivery{
		Queue: j.q.Name, ID: rec.ID, Payload: body.Payload,
		Token: rec.Token, Attempt: int(rec.Attempt), Due: due,
		LateUs: rec.LateUs, Created: rec.Created,
		MaxAttempts: int(maxAttempts(j.q, rec)), Pri: int(rec.Pri), Meta: body.Meta, Reason: rec.Reason,
	}
	if rec.State == record.Leased {
		d.LeaseUntil = b.now.shown(rec.Wake)
	}
	return d
}

// checkPop refuses a pop whose lease is longer than a queue allows; DQMPOP cuts it per queue.
func (b *Batch) checkPop(r *commands.Pop) commands.Error {
	if r.CutLease || r.Lease == 0 {
		return ""
	}
	limit := b.defaults.LeaseMax
	if q := b.queueNamed(r.Queues[0]); q != nil {
		limit = q.set.LeaseMax
	}
	if r.Lease > limit {
		return commands.Error(fmt.Sprintf("BADTIME LEASE %d ms is longer than the queue's lease-max of %d ms: ask for less, or raise it with DQCONFIG SET", commands.MsUp(r.Lease), commands.MsUp(limit)))
	}
	return ""
}

// boundary asks for what the batch has so far to be committed before the request
// is evaluated again: it needs committed state.
type boundary struct{}

// needBoundary ends the evaluation of a request that needs the store to have all that
// was before the batch. What the batch itself has changed is for the caller to add.
func (b *Batch) needBoundary() {
	if b.Flying() {
		panic(boundary{})
	}
}

// first returns the queue's first ready job, or nil. What the head holds is
// checked against the record; jobs that are ready no more are dropped. started
// says that the pop has jobs already: then it ends with them, where a boundary
// would be needed to go on.
func (b *Batch) first(q *queue, started bool) *job {
	for q.Ready > 0 {
		item, more := b.Heads.Next(q.Number)
		if item == nil {
			if !more {
				corrupt(fmt.Errorf("queue %d counts %d ready jobs, its ready index has none", q.Number, q.Ready))
			}
			if started && b.Flying() {
				return nil
			}
			b.needBoundary()
			b.refill(q)
			continue
		}
		j := b.find(q, []byte(item.ID))
		if j != nil && j.is.State == record.Ready && j.is.Seq == item.Seq && j.is.Due.Ns == item.Due && j.is.Pri == item.Pri {
			return j
		}
		b.Heads.Drop(q.Number)
	}
	return nil
}

// refill reads the next part of the queue's ready index, and adds what the batch has made
// ready there: a transaction may pop what it added.
func (b *Batch) refill(q *queue) {
	lo := record.AppendReadyPrefix(nil, q.Number)
	hi := record.PrefixEnd(lo)
	var bound *dispatch.ReadyItem
	b.Heads.Refill(q.Number, func(after *dispatch.ReadyItem, yield func(dispatch.ReadyItem) bool) {
		bound = after
		if after != nil {
			lo = append(record.AppendReadyKey(nil, q.Number, after.Pri, after.Due, after.Seq), 0)
		}
		b.Store.Scan(lo, hi, func(key, id []byte) bool {
			_, pri, due, seq, ok := record.ParseReadyKey(key)
			if !ok {
				corrupt(fmt.Errorf("ready key %x does not parse", key))
			}
			return yield(dispatch.ReadyItem{Pri: pri, Due: due, Seq: seq, ID: string(id)})
		})
	})
	for _, j := range b.touched {
		if j.q.Number != q.Number || j.is == nil || j.is.State != record.Ready {
			continue
		}
		if item := readyItem(j.is); bound == nil || item.Compare(bound) > 0 {
			b.Heads.Add(q.Number, item, false)
		}
	}
}

// Undelivered takes back a job whose reply could not be written: it is ready at
// once, and the attempt does not count.
func (b *Batch) Undelivered(name, id []byte, token uint64) {
	q := b.queueNamed(name)
	if q == nil {
		return
	}
	j := b.find(q, id)
	if j == nil {
		j = b.findDead(q, id)
	}
	if j == nil || j.is.Token != token {
		return
	}
	var rec *record.Job
	switch {
	case j.is.State == record.Leased:
		rec = j.edit()
	case j.is.TokenState != record.TokenRanOut:
		return
	// The lease ran out before it was known that nobody had got it.
	case j.is.State == record.Dead:
		rec = b.revive(j)
	default:
		rec = j.edit()
		if !b.now.reached(rec.Due) {
			rec.Due = record.Instant{Domain: record.Progress, Ns: b.now.Progress}
		}
	}
	rec.Attempt--
	rec.TokenState = record.TokenStale
	if b.now.passed(rec.Expire) {
		b.expire(j, rec)
	} else {
		b.ready(j, rec) // also if the wall clock has gone back behind its due time
	}
}

// ServeWaiters gives the jobs that became ready to the waiting pops, in order of
// arrival. alive says whether a waiter's client is still there: one that is gone
// gets nothing; answer gets each served waiter with its reply. It reports whether
// it stopped because it needs committed state: then call it again in the next batch.
func (b *Batch) ServeWaiters(alive func(*dispatch.Waiter) bool, answer func(*dispatch.Waiter, commands.Reply)) (again bool) {
	for len(b.want) > 0 {
		q := b.want[0]
		for q.Ready > 0 {
			w := b.Waiters.First(string(q.Name))
			if w == nil {
				break
			}
			if b.Replied >= BatchReplies {
				return true
			}
			if !alive(w) {
				b.Waiters.Remove(w)
				continue
			}
			b.From = w.Client
			reply, again := b.tryPop(w.Pop)
			if again {
				return true
			}
			if reply == nil {
				b.lookAgain(q)
				break
			}
			b.Waiters.Remove(w)
			answer(w, reply)
		}
		q.wanted = false
		b.want = b.want[1:]
	}
	return false
}

// tryPop is pop, with the need for a boundary as a result.
func (b *Batch) tryPop(r *commands.Pop) (reply commands.Reply, again bool) {
	defer catchBoundary(&again)
	return b.pop(r), false
}

func catchBoundary(again *bool) {
	if p := recover(); p != nil {
		if _, ok := p.(boundary); !ok {
			panic(p)
		}
		*again = true
	}
}
