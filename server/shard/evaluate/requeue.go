package evaluate

import (
	"bytes"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// requeueAll evaluates DQREQUEUE ALL.
func (b *Batch) requeueAll(r *commands.Requeue) (*Bulk, commands.Reply) {
	q := b.queueNamed(r.Queue)
	if err := b.checkRequeue(q, r); err != "" {
		return nil, err
	}
	if q == nil || q.Dead == 0 {
		return nil, commands.Int(0)
	}
	w := b.newBulk(q)
	step := r.Spread / q.Dead
	w.find = (*Batch).scanNewestDead
	w.take = func(b *Batch, q *queue, h *dispatch.Hint) bool {
		if atMaxLen(q) {
			w.left = 0
			return false
		}
		j := b.candidate(w, q, h)
		if j != nil && q.diedAt >= w.now.Progress && b.findDead(q, j.is.ID) != j {
			return false // one of the same id has died since
		}
		return b.requeue(j, w.now.Progress+r.Delay+w.count*step)
	}
	return w, nil
}

// scanNewestDead yields the dead jobs of the queue, of each id the newest, in order of ids.
func (b *Batch) scanNewestDead(q *queue, yield func(dispatch.Hint) bool) {
	var last []byte
	b.scan(record.AppendDeadJobPrefix(nil, q.Number), func(key, _ []byte) bool {
		_, id, died, seq, ok := record.ParseDeadJobKey(key)
		if !ok {
			corrupt(errBadDeadKey)
		}
		if last != nil && bytes.Equal(id, last) {
			return true // they come newest first
		}
		last = append(last[:0], id...)
		return yield(deadHint(id, died, seq))
	})
}

// requeueIDs evaluates DQREQUEUE IDS.
func (b *Batch) requeueIDs(r *commands.Requeue) commands.Reply {
	q := b.queueNamed(r.Queue)
	if err := b.checkRequeue(q, r); err != "" {
		return err
	}
	count := int64(0)
	step := r.Spread / int64(len(r.IDs))
	b.findAhead(len(r.IDs), func(i int) (*queue, []byte) { return q, r.IDs[i] })
	for _, id := range r.IDs {
		if q == nil || atMaxLen(q) {
			break
		}
		if b.requeue(b.findDead(q, id), b.now.Progress+r.Delay+count*step) {
			count++
		}
	}
	return commands.Int(count)
}

func (b *Batch) checkRequeue(q *queue, r *commands.Requeue) commands.Error {
	maxDelay := b.defaults.MaxDelay
	if q != nil {
		maxDelay = q.set.MaxDelay
	}
	last := commands.Due{Kind: commands.DueDelay, Ns: r.Delay + r.Spread}
	return b.checkDue(last, b.due(last), r.Queue, maxDelay)
}

// atMaxLen reports that the queue takes no more jobs.
func atMaxLen(q *queue) bool { return q.set.MaxLen > 0 && q.Live() >= q.set.MaxLen }

// requeue makes a dead job (nil: none) live again, due at a time on progress, unless
// its id is live, or it would expire at once.
func (b *Batch) requeue(j *job, due int64) bool {
	if j == nil || b.find(j.q, j.is.ID) != nil {
		return false
	}
	at := record.Instant{Domain: record.Progress, Ns: due}
	if e := j.is.Expire; e.Ns != 0 && j.is.TTL == 0 && (b.now.reached(e) || b.now.shown(e) <= b.now.shown(at)) {
		return false
	}
	rec := b.revive(j)
	rec.Due = at
	rec.Attempt, rec.LeasedAt, rec.LateUs = 0, 0, 0
	rec.TokenState = record.TokenStale
	b.countTTL(rec)
	b.settle(j, rec)
	return true
}
