package evaluate

import (
	"bytes"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// Bulk is a command on any number of jobs of a queue, at work. It takes effect in
// slices, one per batch, so that others do not wait for it.
//
// Its jobs are found on a snapshot of committed state, beside the batches
// (Candidates). What is found is a hint: Take looks at each job anew and passes
// over the ones that are not what the command is about any more.
type Bulk struct {
	queue  uint32
	now    Now    // when it was accepted
	before uint64 // jobs from this order of acceptance on came later: they are not its
	find   func(b *Batch, q *queue, yield func(dispatch.Hint) bool)
	take   func(b *Batch, q *queue, h *dispatch.Hint) bool
	end    func(b *Batch, q *queue) commands.Reply // its reply; nil = the count
	// repeat says that a job which is not where it was found is looked for anew: it
	// may be dead now, or live again, and the command is about both.
	repeat  bool
	slipped bool  // since it last began to look for jobs there was such a job
	left    int64 // how many more it may take
	count   int64
}

// BeginBulk accepts a request that works in slices (commands.Slices). It returns what is
// to be done, or the reply if there is nothing. The batch must be empty and nothing in
// flight: a snapshot that is taken from now on has all that the command is about.
func (b *Batch) BeginBulk(r commands.Request) (*Bulk, commands.Reply) {
	switch r := r.(type) {
	case *commands.Requeue:
		return b.requeueAll(r)
	case *commands.Release:
		return b.releaseWorker(r)
	case *commands.Purge:
		return b.purge(r)
	case *commands.Drop:
		return b.drop(r)
	}
	panic("evaluate: no bulk command")
}

func (b *Batch) newBulk(q *queue) *Bulk {
	return &Bulk{queue: q.Number, now: b.now, before: b.Applied.NextSeq, left: 1<<63 - 1}
}

// Candidates yields the jobs that the command may be about, from a store of its own,
// usually a snapshot. What came later is left out: the jobs that come and go meanwhile
// must not keep it at work. It may run beside the batches.
func (w *Bulk) Candidates(store Store, limit Limits, yield func(dispatch.Hint) bool) {
	b := newReader(store, w.now, limit)
	if q := b.queueNumbered(w.queue); q != nil {
		w.find(b, q, func(h dispatch.Hint) bool { return h.Seq >= w.before || yield(h) })
	}
}

// Take takes the jobs that were found, until the batch has grown by room bytes. It
// returns those that are left, none if the command needs no more.
func (b *Batch) Take(w *Bulk, found []dispatch.Hint, room int) (rest []dispatch.Hint) {
	q := b.queueNumbered(w.queue)
	if q == nil { // dropped
		w.left = 0
	}
	begin := b.Size()
	if w.left > 0 {
		b.findAhead(len(found), func(i int) (*queue, []byte) {
			if found[i].Dead {
				return nil, nil
			}
			return q, []byte(found[i].ID)
		})
	}
	for n := range found {
		switch {
		case w.left <= 0:
			return nil
		case b.Size()-begin >= room:
			return found[n:]
		}
		if w.take(b, q, &found[n]) {
			w.left--
			w.count++
		}
	}
	return nil
}

// Full reports that the command needs no more jobs.
func (w *Bulk) Full() bool { return w.left <= 0 }

// Count returns how many jobs the command has taken so far.
func (w *Bulk) Count() int64 { return w.count }

// Pass tells that all that Candidates found was taken, or passed over. It returns the
// reply, or nil if the command has to look for jobs anew, in what is committed then.
func (b *Batch) Pass(w *Bulk) commands.Reply {
	q := b.queueNumbered(w.queue)
	if q != nil && w.repeat && w.slipped && w.left > 0 {
		w.slipped = false
		return nil
	}
	if w.end != nil {
		return w.end(b, q)
	}
	return commands.Int(w.count)
}

// liveHint and deadHint name a job that was found.
func liveHint(id []byte, seq uint64) dispatch.Hint { return dispatch.Hint{Seq: seq, ID: string(id)} }

func deadHint(id []byte, died int64, seq uint64) dispatch.Hint {
	return dispatch.Hint{Seq: seq, ID: string(id), Dead: true, Died: died}
}

// candidate returns the job that a hint names, if it was there when the command was
// accepted, or nil.
func (b *Batch) candidate(w *Bulk, q *queue, h *dispatch.Hint) *job {
	var j *job
	if h.Dead {
		b.bytes += findCost
		j = b.deadAt(q, *h)
	} else {
		j = b.find(q, []byte(h.ID))
	}
	if j == nil || j.is.Seq != h.Seq {
		w.slipped = true
	}
	if j == nil || j.is.Seq >= w.before {
		return nil
	}
	return j
}

// scanDead yields the queue's dead jobs in order of death.
func (b *Batch) scanDead(q *queue, yield func(dispatch.Hint) bool) {
	b.scan(record.AppendDeadOrderPrefix(nil, q.Number), func(key, id []byte) bool {
		_, died, seq, ok := record.ParseDeadOrderKey(key)
		if !ok {
			corrupt(errBadDeadKey)
		}
		return yield(deadHint(id, died, seq))
	})
}

// releaseWorker evaluates DQRELEASE: there is no index of leases, so all live jobs are looked at.
func (b *Batch) releaseWorker(r *commands.Release) (*Bulk, commands.Reply) {
	q := b.queueNamed(r.Queue)
	if q == nil || q.Leased == 0 {
		return nil, commands.Int(0)
	}
	w := b.newBulk(q)
	its := func(rec *record.Job) bool {
		return rec.State == record.Leased && rec.LeasedAt <= w.now.Progress && bytes.Equal(rec.Worker, r.Worker)
	}
	w.find = func(b *Batch, q *queue, yield func(dispatch.Hint) bool) {
		b.scanLeased(q, func(j *job) bool {
			return !its(j.is) || yield(liveHint(j.is.ID, j.is.Seq))
		})
	}
	w.take = func(b *Batch, q *queue, h *dispatch.Hint) bool {
		j := b.candidate(w, q, h)
		if j == nil || !its(j.is) {
			return false
		}
		if j.is.Separate && j.is.Body == nil {
			b.bytes += int(j.is.PayloadSize) // which is read with its BACKOFF
		}
		b.release(j, min(b.now.Progress, j.is.Wake.Ns))
		return true
	}
	return w, nil
}
