package evaluate

import (
	"time"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// What holds deliveries back: a pause, max-inflight, a rate. A queue that is held
// back behaves as empty, and has waiting pops served as soon as it is not.

// before reports that an instant is still to come; the zero instant is not.
func (n Now) before(t record.Instant) bool { return t.Ns != 0 && !n.reached(t) }

// open reports whether the queue hands out a job now.
func (b *Batch) open(q *queue) bool {
	return !b.now.before(q.OutUntil) && !full(q) && b.nextAllowed(q) <= b.now.Progress
}

// full reports that as many jobs are leased as the queue allows.
func full(q *queue) bool { return q.set.MaxInflight > 0 && q.Leased >= q.set.MaxInflight }

// A rate is kept by a bucket of burst deliveries that refills evenly. All that is
// stored of it is when it is full again: with each delivery one interval later.

// interval is what a delivery costs, in ns rounded up: never more than the rate.
func interval(q *queue) int64 {
	return (int64(time.Second) + q.set.Rate - 1) / q.set.Rate
}

// bucketFull returns when the queue's bucket is full, progress ns; in the past if it is.
func (b *Batch) bucketFull(q *queue) int64 {
	if q.BucketRate != q.set.Rate || q.BucketBurst != q.set.BurstOrRate() {
		return 0 // it was counted by other settings
	}
	return q.BucketFull
}

// nextAllowed returns when the queue's rate allows the next delivery, progress ns.
func (b *Batch) nextAllowed(q *queue) int64 {
	if q.set.Rate == 0 {
		return 0
	}
	return b.bucketFull(q) - (q.set.BurstOrRate()-1)*interval(q)
}

// spend counts a delivery against the queue's rate.
func (b *Batch) spend(q *queue) {
	if q.set.Rate > 0 {
		b.touch(q)
		q.BucketFull = max(b.bucketFull(q), b.now.Progress) + interval(q)
		q.BucketRate, q.BucketBurst = q.set.Rate, q.set.BurstOrRate()
	}
}

// wants asks for the queue's waiting pops to be served.
func (b *Batch) wants(q *queue) {
	if !q.wanted && q.Ready > 0 && b.Waiters.Waiting(string(q.Name)) > 0 {
		b.keepQueue(q)
		q.wanted = true
		b.want = append(b.want, q)
	}
}

// lookAgain asks for a look at a queue that is held back, when it will not be.
func (b *Batch) lookAgain(q *queue) {
	switch {
	case b.now.before(q.OutUntil):
		if q.OutUntil != record.Endless {
			b.Looks.Set(q.Number, q.OutUntil)
		}
	case full(q): // the end of a lease wants the queue
	case b.nextAllowed(q) > b.now.Progress:
		b.Looks.Set(q.Number, record.Instant{Domain: record.Progress, Ns: b.nextAllowed(q)})
	}
}

// Look has the queues served that were held back until now.
func (b *Batch) Look() {
	for d := range b.Windows {
		for _, n := range b.Looks.Take(record.Domain(d), b.now.In(record.Domain(d))) {
			if q := b.queueNumbered(n); q != nil {
				b.wants(q)
			}
		}
	}
}

// leaseEnded is told of each lease that ends, by whatever.
func (b *Batch) leaseEnded(q *queue, old *record.Job) {
	b.keepHold(old.Token)
	b.Holders.Drop(old.Token)
	if q.set.MaxInflight > 0 {
		b.wants(q)
	}
}

// hold notes that a lease shall run out when the connection ends that it is given over.
func (b *Batch) hold(j *job) {
	if j.q.set.Release {
		b.Holders.Add(dispatch.Held{Client: b.From, Queue: j.q.Number, ID: string(j.is.ID), Token: j.is.Token})
	}
}

// tidySlice bounds what Trim and ReleaseGone do in one batch, in jobs.
const tidySlice = 1024

// ReleaseGone lets leases run out whose connection has ended.
func (b *Batch) ReleaseGone() {
	for _, l := range b.Holders.Ended(tidySlice) {
		q := b.queueNumbered(l.Queue)
		if q == nil || !q.set.Release {
			continue
		}
		if j := b.find(q, []byte(l.ID)); j != nil && j.is.State == record.Leased && j.is.Token == l.Token {
			b.release(j, b.now.Progress)
		}
	}
}
