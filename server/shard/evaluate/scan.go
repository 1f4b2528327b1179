package evaluate

import (
	"bytes"
	"sort"

	"dqd/commands"
	"dqd/persist/record"
)

// A walk over the live jobs of a queue goes by their order of acceptance (seq), which
// is also its cursor. A job keeps its seq through all states; a replacing UPSERT or XX
// gives it a new one, higher than all others, so that the walk still comes by. Nothing
// else that a job has is stable and fits into 64 bits, and nothing need be kept for a
// walk: a restart does not harm it.
//
// The store has no index by seq: it would be one more key with each add and each end,
// for what people do now and then. Instead one pass over the queue's records finds the
// next jobs in that order, as many as WindowBytes allow. This window serves the calls
// that follow; without one another pass is made.
//
// A window may be older than a call, but not than the walk: then it might lack jobs
// that were there all along. So whoever keeps windows drops those of a queue when a
// walk over it begins.

// ScanWindow is a run of a queue's live jobs in order of acceptance.
type ScanWindow struct {
	queue uint32
	after uint64 // it begins behind it
	spots []spot // in order; all jobs that there were, up to the last one
	more  bool   // there were others behind that
}

// holds reports whether a walk can go on in the window.
func (w *ScanWindow) holds(queue uint32, cursor uint64) bool {
	return w.queue == queue && w.after <= cursor && (!w.more || cursor < w.spots[len(w.spots)-1].seq)
}

// Scan evaluates DQSCAN on a snapshot, beside the batches. It goes on in one of the
// windows of the queue if it can, and returns the one that it used, or nil.
func Scan(store Snapshot, now Now, limit Limits, r *commands.Scan, windows []*ScanWindow) (commands.Reply, *ScanWindow) {
	b := newReader(store, now, limit)
	p := b.newPager(r.Cursor, r.Count, r.Match)
	q := b.queueNamed(r.Queue)
	if q == nil {
		return p.end(), nil
	}
	if r.State == record.Dead {
		return b.walkDead(q, p, func(s *spot) bool { return p.addJob(r, b.deadSpot(q, s)) }), nil
	}
	var w *ScanWindow
	for _, kept := range windows {
		if kept.holds(q.Number, r.Cursor) {
			w = kept
		}
	}
	if w == nil {
		w = b.scanWindow(q, r.Cursor)
	}
	first := sort.Search(len(w.spots), func(i int) bool { return w.spots[i].seq > r.Cursor })
	for i := range w.spots[first:] {
		s := &w.spots[first+i]
		if !p.visit(s.id, s.seq, func() bool { return p.addJob(r, b.find(q, s.id)) }) {
			return p.page, w
		}
	}
	if w.more {
		return p.page, w
	}
	return p.end(), w
}

// scanWindow reads the live jobs of a queue that come next behind a cursor.
func (b *Batch) scanWindow(q *queue, cursor uint64) *ScanWindow {
	next := nearest{order: bySeq, after: &spot{seq: cursor}, budget: b.limit.WindowBytes}
	b.scan(record.AppendJobPrefix(nil, q.Number), func(key, value []byte) bool {
		_, id, _ := record.ParseJobKey(key)
		place, err := record.DecodePlace(q.Number, id, value)
		corrupt(err)
		next.add(spot{seq: place.Seq, id: id})
		return true
	})
	next.done()
	return &ScanWindow{queue: q.Number, after: cursor, spots: next.spots, more: next.more}
}

// addJob appends a job, if it is (still) one that the walk is for; false = there is no room.
func (p *pager) addJob(r *commands.Scan, j *job) bool {
	switch {
	case j == nil,
		r.State != 0 && j.is.State != r.State,
		r.Worker != nil && (j.is.State != record.Leased || !bytes.Equal(j.is.Worker, r.Worker)):
		return true
	case r.Full:
		info := p.info(j)
		return p.add(info, info.EncodedSize())
	}
	return p.addName(j.is.ID)
}
