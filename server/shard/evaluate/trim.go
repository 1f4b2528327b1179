package evaluate

import (
	"bytes"
	"fmt"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// A death that makes more dead jobs than dead-count marks its queue; the next
// batch begins with pruning the oldest, so that no later command sees them.

// trims are the queues to be looked at, by number.
type trims struct {
	over []uint32
	// from is where in the registry to go on looking for more, since dead-count of
	// all queues was lowered; nil = nowhere.
	from []byte
}

// markOver has the queue trimmed if it has too many dead jobs.
func (b *Batch) markOver(q *queue) {
	if !q.over && q.set.DeadCount > 0 && q.Dead > q.set.DeadCount {
		q.over = true
		b.trims.over = append(b.trims.over, q.Number)
	}
}

// Trim prunes dead jobs that are too many, as far as one batch may. It reads the
// store, so while there is something to do (Untidy) no batch begins with others in
// flight.
func (b *Batch) Trim() {
	if len(b.trims.over) == 0 && b.trims.from == nil {
		return
	}
	b.findOver()
	for room := int64(tidySlice); len(b.trims.over) > 0; b.trims.over = b.trims.over[1:] {
		q := b.queueNumbered(b.trims.over[0])
		if q == nil {
			continue
		}
		if q.over = false; q.set.DeadCount == 0 {
			continue
		}
		surplus := max(0, q.Dead-q.set.DeadCount)
		b.prune(q, min(surplus, room))
		if room -= surplus; room < 0 {
			q.over = true
			break
		}
	}
}

// Untidy reports that there is more to do for Trim or ReleaseGone.
func (m *Memory) Untidy() bool {
	return len(m.trims.over) > 0 || m.trims.from != nil || m.Holders.More()
}

// prune removes the queue's n oldest dead jobs, which are committed.
func (b *Batch) prune(q *queue, n int64) {
	b.scan(record.AppendDeadOrderPrefix(nil, q.Number), func(key, id []byte) bool {
		if n <= 0 {
			return false
		}
		n--
		_, died, seq, _ := record.ParseDeadOrderKey(key)
		j := b.deadAt(q, dispatch.Hint{ID: string(id), Died: died, Seq: seq})
		if j == nil {
			corrupt(fmt.Errorf("index key %x has no job", key))
		}
		b.bump(q, pruned, 1)
		b.change(j, nil)
		return true
	})
}

// findOver looks for more queues to be trimmed, some at a time.
func (b *Batch) findOver() {
	if b.trims.from == nil {
		return
	}
	lo := b.trims.from
	b.trims.from = nil
	n := 0
	b.Store.Scan(lo, record.PrefixEnd(record.QueueSpace()), func(key, value []byte) bool {
		if n == tidySlice {
			b.trims.from = bytes.Clone(key)
			return false
		}
		n++
		number, ok := record.ParseQueueKey(key)
		rec, err := record.DecodeQueue(number, value)
		if !ok {
			err = errBadNumber
		}
		corrupt(err)
		if rec.Dead > b.defaults.DeadCount {
			b.markOver(b.queueNumbered(number))
		}
		return true
	})
}
