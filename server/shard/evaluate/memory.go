package evaluate

import (
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// Memory is what the leader keeps between batches. It is void after a failed
// proposal: make a new one from the applied position.
type Memory struct {
	Store   Store
	Applied record.Applied // counters as the next batch continues them
	Windows [2]*dispatch.Window
	Heads   *dispatch.Heads
	Waiters *dispatch.Waiters
	Looks   *dispatch.Looks
	Holders *dispatch.Holders

	defaults   *record.Settings // of all queues; nil = not loaded yet
	all        record.Own       // what was changed of them
	queues     map[string]*queue
	byNum      map[uint32]*queue
	totals     record.Queue
	queueCount int64
	want       []*queue // with a waiter, and with a job that became ready
	gone       []*queue // dropped by a batch that is not committed yet
	scratch    scratch  // of the batch under evaluation
	limit      Limits   // that it keeps
	overlay
	begun        uint64          // batches so far; the newest one's number
	sealed       uint64          // the newest batch that was sealed
	committed    uint64          // all batches up to it are in the store
	known        *dispatch.Known // nil = not built yet: any id may exist
	filling      bool            // a new one is filled
	learned      []uint64        // what became live since, for the new one
	transactions uint64          // so far; the newest one's number
	trims        trims
	largest      largest
	found        *largest // by the census; nil = listed
	// sweepAt is when the next IDEM memories may be swept, progress ns.
	sweepAt int64
}

// queue is a queue's registry entry and settings in memory.
type queue struct {
	record.Queue
	own     record.Own
	set     *record.Settings // those that count
	touched bool             // by the batch
	created bool             // by the batch
	wanted  bool             // its waiters are to be served
	over    bool             // it is to be trimmed
	kept    uint64           // the last transaction that kept a copy
	listed  bool             // it is in largest
	gone    bool             // dropped: no such queue, whatever the store says until it has the drop
	diedAt  int64            // no job has died later, progress ns
}

// maxCachedQueues bounds the queues in memory; beyond it the cache starts anew at a boundary.
const maxCachedQueues = 1 << 17

// NewMemory returns the memory of a leader that starts from the applied state.
func NewMemory(store Store, applied record.Applied, census *Census) *Memory {
	m := &Memory{
		Store:      store,
		Applied:    applied,
		Heads:      dispatch.NewHeads(),
		Waiters:    dispatch.NewWaiters(applied.Time),
		Looks:      dispatch.NewLooks(),
		Holders:    dispatch.NewHolders(),
		totals:     census.Totals,
		queueCount: census.Queues,
		found:      &census.largest,
		queues:     map[string]*queue{},
		byNum:      map[uint32]*queue{},
		sweepAt:    applied.Time,
	}
	for d := range m.Windows {
		m.Windows[d] = dispatch.NewWindow(record.Domain(d), applied.Cursors[d])
	}
	return m
}

// Totals returns the sums over all queues and their number.
func (m *Memory) Totals() (record.Queue, int64) { return m.totals, m.queueCount }

// WallWentBack makes the wall window anew after the wall offset was lowered:
// what it holds counts from a clock that was wrong. The cursor goes back with
// it, in the entry that lowers the offset.
func (m *Memory) WallWentBack(now Now) {
	cursor := min(m.Applied.Cursors[record.Wall], now.Wall())
	m.Applied.Cursors[record.Wall] = cursor
	m.Windows[record.Wall] = dispatch.NewWindow(record.Wall, cursor)
}

// forgetQueues empties the cache of queues, but for those that are to be served or are
// listed as the largest.
func (b *Batch) forgetQueues() {
	want := b.want
	b.largest.keep(b.byNum)
	b.want, b.queues, b.byNum = nil, map[string]*queue{}, map[uint32]*queue{}
	for _, q := range b.largest.queues {
		b.queues[string(q.Name)], b.byNum[q.Number] = q, q
	}
	for _, old := range want {
		if q := b.queueNamed(old.Name); q != nil {
			q.wanted = true
			b.want = append(b.want, q)
		}
	}
}

// Flying reports whether a sealed batch is not committed yet: the store lacks it.
func (m *Memory) Flying() bool { return m.sealed > m.committed }

// Full reports whether the overlay wants a batch that begins with nothing in flight.
func (m *Memory) Full() bool {
	return len(m.overlay.dead)+len(m.overlay.idem) > overlayMax || len(m.queues) > maxCachedQueues
}

// queueNamed returns the queue, or nil if it does not exist. That it does not is
// not remembered: names come from clients, and there is no end of them.
func (b *Batch) queueNamed(name []byte) *queue {
	if q := b.queues[string(name)]; q != nil {
		return q.unlessGone()
	}
	b.key = record.AppendQueueNameKey(b.key[:0], name)
	v, ok := b.Store.Get(b.key)
	if !ok {
		return nil
	}
	n, ok := record.ParseQueueNumber(v)
	if !ok {
		corrupt(errBadNumber)
	}
	return b.queueNumbered(n)
}

// queueNumbered returns an existing queue by number, or nil.
func (b *Batch) queueNumbered(n uint32) *queue {
	if q := b.byNum[n]; q != nil {
		return q.unlessGone()
	}
	return b.load(n)
}

// load reads a queue into the cache.
func (b *Batch) load(n uint32) *queue {
	b.key = record.AppendQueueKey(b.key[:0], n)
	v, ok := b.Store.Get(b.key)
	if !ok {
		return nil
	}
	rec, err := record.DecodeQueue(n, v)
	corrupt(err)
	q := &queue{Queue: *rec}
	b.key = record.AppendSettingsKey(b.key[:0], n)
	if v, ok := b.Store.Get(b.key); ok {
		own, err := record.DecodeOwn(v)
		corrupt(err)
		q.own = *own
	}
	b.useSettings(q)
	b.markOver(q)
	q.diedAt = b.now.Progress - 1
	b.byNum[n] = q
	b.queues[string(q.Name)] = q
	return q
}

// create returns the queue, and creates it where it does not exist.
func (b *Batch) create(name []byte) *queue {
	q := b.queueNamed(name)
	if q != nil {
		return q
	}
	q = &queue{Queue: record.Queue{Number: b.Applied.NextQueue, Name: append([]byte(nil), name...)}, set: b.defaults}
	b.keepQueue(q)
	q.created = true
	b.Applied.NextQueue++
	b.queueCount++
	b.queues[string(name)] = q
	b.byNum[q.Number] = q
	b.touch(q)
	return q
}

// touch makes the queue's record part of the entry. It must be called before the queue is
// changed.
func (b *Batch) touch(q *queue) {
	b.keepQueue(q)
	if !q.touched {
		q.touched = true
		b.queued = append(b.queued, q)
		b.bytes += 96
	}
}
