package evaluate

import (
	"bytes"
	"math"

	"dqd/commands"
	"dqd/persist/record"
)

// Queues evaluates DQQUEUES and SCAN on a snapshot, beside the batches. The cursor is
// the number of a queue: numbers grow, and none is given twice.
func Queues(store Snapshot, now Now, limit Limits, r *commands.Queues) commands.Reply {
	b := newReader(store, now, limit)
	p := b.newPager(r.Cursor, r.Count, r.Match)
	if r.Nothing || r.Cursor >= math.MaxUint32 {
		return p.end()
	}
	over := true
	hi := record.PrefixEnd(record.QueueSpace())
	store.Scan(record.AppendQueueKey(nil, uint32(r.Cursor)+1), hi, func(key, value []byte) bool {
		number, ok := record.ParseQueueKey(key)
		q, err := record.DecodeQueue(number, value)
		if !ok {
			err = errBadNumber
		}
		corrupt(err)
		over = p.visit(q.Name, uint64(number), func() bool {
			name := bytes.Clone(q.Name)
			if !r.WithLen {
				return p.addName(name)
			}
			return p.add(commands.Array{commands.Bulk(name), commands.Int(q.Live())}, len(name)+64)
		})
		return over
	})
	if over {
		return p.end()
	}
	return p.page
}

// exists evaluates EXISTS.
func (b *Batch) exists(r *commands.Exists) commands.Reply {
	n := commands.Int(0)
	for _, name := range r.Keys {
		b.bytes += findCost
		if b.queueNamed(name) != nil {
			n++
		}
	}
	return n
}

// typeOf evaluates TYPE.
func (b *Batch) typeOf(r *commands.Type) commands.Reply {
	if b.queueNamed(r.Key) == nil {
		return commands.Status("none")
	}
	return commands.Status(commands.KeyType)
}
