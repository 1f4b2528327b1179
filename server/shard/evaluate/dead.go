package evaluate

import (
	"cmp"
	"fmt"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// A walk over dead jobs goes by the millisecond of their death, and within one by the
// low bits of their seq: that fits into its cursor, until the year 2109, and names a
// place in the order although the job that stood there may be gone. Two jobs of one
// millisecond that have the same low bits were accepted millions of jobs apart; they
// are never separated.
const (
	deadSeqBits = 22
	msNs        = int64(1e6)
)

func deadCursor(s *spot) uint64 {
	return uint64(s.died/msNs)<<deadSeqBits | s.seq&(1<<deadSeqBits-1)
}

// byDeath is the order of the walk.
func byDeath(a, b *spot) int {
	return cmp.Or(cmp.Compare(deadCursor(a), deadCursor(b)), cmp.Compare(a.seq, b.seq))
}

// walkDead shows the dead jobs of a queue behind the pager's cursor, until that is full.
func (b *Batch) walkDead(q *queue, p *pager, show func(*spot) bool) commands.Reply {
	from := p.page.Cursor
	ms := int64(from >> deadSeqBits)
	group := nearest{order: byDeath, budget: b.limit.WindowBytes} // those of one ms
	flush := func() (goOn bool) {
		group.done()
		for i := range group.spots {
			s := &group.spots[i]
			if !p.visit(s.id, deadCursor(s), func() bool { return show(s) }) {
				return false
			}
		}
		goOn = !group.more
		group = nearest{order: byDeath, budget: b.limit.WindowBytes}
		return goOn
	}
	goOn := true
	hi := record.PrefixEnd(record.AppendDeadOrderPrefix(nil, q.Number))
	b.Store.Scan(record.AppendDeadOrderKey(nil, q.Number, ms*msNs, 0), hi, func(key, id []byte) bool {
		_, died, seq, ok := record.ParseDeadOrderKey(key)
		if !ok {
			corrupt(fmt.Errorf("order-of-death key %x does not parse", key))
		}
		if died/msNs != ms {
			if goOn = flush(); !goOn {
				return false
			}
			ms = died / msNs
		}
		if s := (spot{died: died, seq: seq, id: id}); deadCursor(&s) > from {
			group.add(s)
		}
		return true
	})
	if goOn && flush() {
		return p.end()
	}
	return p.page
}

// deadSpot returns the dead job that stands at the spot.
func (b *Batch) deadSpot(q *queue, s *spot) *job {
	j := b.deadAt(q, dispatch.Hint{ID: string(s.id), Died: s.died, Seq: s.seq})
	if j == nil {
		corrupt(fmt.Errorf("an index of queue %d has id %x, which is no dead job", q.Number, s.id))
	}
	return j
}

// Dead evaluates DQDEAD on a snapshot, beside the batches.
func Dead(store Snapshot, now Now, limit Limits, r *commands.DeadJobs) commands.Reply {
	b := newReader(store, now, limit)
	p := b.newPager(r.Cursor, r.Count, nil)
	q := b.queueNamed(r.Queue)
	if q == nil {
		return p.end()
	}
	return b.walkDead(q, p, func(s *spot) bool {
		j := b.deadSpot(q, s)
		job := &commands.DeadJob{
			ID: j.is.ID, Payload: b.body(j).Payload, Attempt: int(j.is.Attempt), Cause: j.is.Cause, Reason: j.is.Reason,
			Died: now.shown(record.Instant{Domain: record.Progress, Ns: j.is.Died}),
		}
		return p.add(job, job.EncodedSize())
	})
}
