package evaluate

import (
	"bytes"
	"fmt"
	"math"

	"dqd/commands"
	"dqd/persist/record"
)

// Snapshot is committed state at one moment, which can be read backwards too.
type Snapshot interface {
	Store
	// ScanBack is Scan from the last key to the first.
	ScanBack(lo, hi []byte, fn func(key, value []byte) bool)
}

// rangeReader reads the jobs of a queue whose due lies in a range.
type rangeReader struct {
	*Batch
	q        *queue
	from, to int64 // wall ns, both included
	// back reads from the end, in reverse order; nil = it reads from the beginning.
	back func(lo, hi []byte, fn func(key, value []byte) bool)
}

// Range evaluates DQRANGE. Like Peek it may read a lot, and runs beside the batches.
func Range(store Snapshot, now Now, limit Limits, r *commands.Range) commands.Reply {
	b := newReader(store, now, limit)
	out := &commands.Ranged{Payload: r.Payload}
	q := b.queueNamed(r.Queue)
	if q == nil {
		return out
	}
	rr := &rangeReader{Batch: b, q: q}
	if r.Rev {
		rr.back = store.ScanBack
	}
	rr.from, rr.to = commands.Between(r.Min, r.Max, now.Wall())
	skip, room := r.Offset, limit.ReplyMax
	rr.jobs(r.State, r.Offset, r.Count, func(s *spot) bool {
		if skip > 0 {
			skip--
			return true
		}
		job := commands.PeekedJob{ID: s.id, Due: s.due}
		if r.Payload {
			job.Payload = b.body(rr.at(r.State, s)).Payload
		}
		if room -= job.EncodedSize(); room < 0 && len(out.Jobs) > 0 {
			return false
		}
		out.Jobs = append(out.Jobs, job)
		return len(out.Jobs) < r.Count
	})
	return out
}

// at returns the job that stands at the spot.
func (r *rangeReader) at(state record.State, s *spot) *job {
	if state == record.Dead {
		return r.deadSpot(r.q, s)
	}
	return r.indexed(r.q, s.id)
}

// indexed returns the live job that an index names.
func (b *Batch) indexed(q *queue, id []byte) *job {
	j := b.find(q, id)
	if j == nil {
		corrupt(fmt.Errorf("an index of queue %d has id %x, which is no job", q.Number, id))
	}
	return j
}

// scanDelayed yields the queue's delayed jobs with a due in the range, in its order.
func (b *Batch) scanDelayed(q *queue, due dueRange, yield func(*spot) bool) {
	r := &rangeReader{Batch: b, q: q, from: due.from, to: due.to}
	r.jobs(record.Delayed, 0, delayedPage, yield)
}

// delayedPage is how many delayed jobs scanDelayed reads at a time.
const delayedPage = 512

// jobs yields the jobs of a state (0 = delayed and ready) in the order of their due
// times. Whoever calls it wants to skip some and then see so many.
func (r *rangeReader) jobs(state record.State, skip int64, count int, yield func(*spot) bool) {
	if r.from > r.to {
		return
	}
	if state == record.Leased || state == record.Dead {
		r.sorted(state, yield)
		return
	}
	parts := r.parts(state)
	page := max(pageMin, int(min(skip, pagesMax)+int64(count))/max(1, len(parts)))
	page = min(page, max(pageMin, pagesMax/max(1, len(parts))))
	for _, p := range parts {
		p.fill(r, page)
	}
	for {
		var first *part
		for _, p := range parts {
			if len(p.page) > 0 && (first == nil || r.before(&p.page[0], &first.page[0])) {
				first = p
			}
		}
		if first == nil || !yield(&first.page[0]) {
			return
		}
		if first.page = first.page[1:]; len(first.page) == 0 {
			first.fill(r, page)
		}
	}
}

const (
	// pageMin is how many keys of a part are read at a time, at least.
	pageMin = 16
	// pagesMax is how many keys of all parts are in memory, at most, if there are few parts.
	pagesMax = 8192
)

func (r *rangeReader) order(a, b *spot) int {
	if r.back != nil {
		return byDue(b, a)
	}
	return byDue(a, b)
}

func (r *rangeReader) before(a, b *spot) bool { return r.order(a, b) < 0 }

// part is a part of an index that is in the order of due times: one timeline of the
// delayed jobs, one priority of the ready ones.
type part struct {
	first, last []byte // all of it
	lo, hi      []byte // what is in the range; then: what of it is not read yet, nil = nothing
	spot        func(key, id []byte) spot
	page        []spot
}

// parts returns the parts that hold the jobs of a state (0 = delayed and ready).
func (r *rangeReader) parts(state record.State) (parts []*part) {
	if state == 0 || state == record.Delayed {
		for d := range 2 {
			parts = append(parts, r.delayedPart(record.Domain(d)))
		}
	}
	if (state == 0 || state == record.Ready) && r.q.Ready > 0 {
		// Each priority is looked for once.
		prefix := record.AppendReadyPrefix(nil, r.q.Number)
		hi := record.PrefixEnd(prefix)
		for lo := prefix; lo != nil; {
			from := lo
			lo = nil
			r.Store.Scan(from, hi, func(key, _ []byte) bool {
				_, pri, _, _, ok := record.ParseReadyKey(key)
				if !ok {
					corrupt(fmt.Errorf("ready key %x does not parse", key))
				}
				parts = append(parts, r.readyPart(pri))
				if pri < 255 {
					lo = record.AppendReadyKey(nil, r.q.Number, pri+1, 0, 0)
				}
				return false
			})
		}
	}
	return parts
}

func (r *rangeReader) delayedPart(d record.Domain) *part {
	p := &part{first: record.AppendDelayedPrefix(nil, r.q.Number, d)}
	p.last = record.PrefixEnd(p.first)
	key := func(wall int64) []byte {
		ns := wall
		if d == record.Progress {
			if ns = wall - r.now.Offset; r.now.Offset < 0 && ns < wall {
				return p.last // beyond all
			}
		}
		return record.AppendDelayedKey(nil, r.q.Number, record.Instant{Domain: d, Ns: max(0, ns)}, 0, 0)
	}
	p.bounds(r, key)
	p.spot = func(k, id []byte) spot {
		_, due, pri, seq, ok := record.ParseDelayedKey(k)
		if !ok {
			corrupt(fmt.Errorf("delayed key %x does not parse", k))
		}
		return spot{due: r.now.shown(due), pri: pri, seq: seq, id: id}
	}
	return p
}

func (r *rangeReader) readyPart(pri uint8) *part {
	p := &part{first: append(record.AppendReadyPrefix(nil, r.q.Number), pri)}
	p.last = record.PrefixEnd(p.first)
	p.bounds(r, func(wall int64) []byte { return record.AppendReadyKey(nil, r.q.Number, pri, wall, 0) })
	p.spot = func(k, id []byte) spot {
		_, pri, due, seq, ok := record.ParseReadyKey(k)
		if !ok {
			corrupt(fmt.Errorf("ready key %x does not parse", k))
		}
		return spot{due: due, pri: pri, seq: seq, id: id}
	}
	return p
}

// bounds sets what of the part is in the range; key returns the first key of a due.
func (p *part) bounds(r *rangeReader, key func(wall int64) []byte) {
	p.lo, p.hi = key(r.from), p.last
	if r.to < math.MaxInt64 {
		p.hi = key(r.to + 1)
	}
	if bytes.Compare(p.lo, p.hi) >= 0 {
		p.lo, p.hi = nil, nil
	}
}

// fill reads the next page of the part.
func (p *part) fill(r *rangeReader, n int) {
	if p.lo == nil {
		return
	}
	lo, hi := p.lo, p.hi
	p.lo = nil
	p.page = nil
	read := r.Store.Scan
	if r.back != nil {
		read = r.back
	}
	read(lo, hi, func(key, id []byte) bool {
		if len(p.page) == n {
			if p.lo, p.hi = bytes.Clone(key), hi; r.back != nil {
				p.lo, p.hi = lo, append(bytes.Clone(key), 0)
			}
			return false
		}
		p.page = append(p.page, p.spot(key, bytes.Clone(id)))
		return true
	})
}

// sorted yields the leased or the dead jobs, of which there is no index by due, in
// the order of their due times: each pass over all of them finds the next part.
func (r *rangeReader) sorted(state record.State, yield func(*spot) bool) {
	var after *spot
	for {
		next := nearest{order: r.order, budget: r.limit.WindowBytes, after: after}
		r.unsorted(state, func(s spot) bool {
			next.add(s)
			return true
		})
		next.done()
		for i := range next.spots {
			if !yield(&next.spots[i]) {
				return
			}
		}
		if !next.more {
			return
		}
		after = &next.bound
	}
}

// unsorted yields the leased or the dead jobs whose due is in the range, in any order.
func (r *rangeReader) unsorted(state record.State, yield func(spot) bool) {
	if state == record.Leased {
		r.scanLeased(r.q, func(j *job) bool {
			s := spot{due: r.now.shown(j.is.Due), pri: j.is.Pri, seq: j.is.Seq, id: j.is.ID}
			return s.due < r.from || s.due > r.to || yield(s)
		})
		return
	}
	r.scan(record.AppendDeadJobPrefix(nil, r.q.Number), func(key, value []byte) bool {
		q, id, died, seq, ok := record.ParseDeadJobKey(key)
		place, err := record.DecodePlace(q, id, value)
		if !ok {
			err = fmt.Errorf("dead job key %x does not parse", key)
		}
		corrupt(err)
		s := spot{due: r.now.shown(place.Due), pri: place.Pri, seq: seq, died: died, id: id}
		return s.due < r.from || s.due > r.to || yield(s)
	})
}

// CountRange evaluates DQCOUNT, in the same way.
func CountRange(store Snapshot, now Now, limit Limits, c *commands.Count) commands.Reply {
	b := newReader(store, now, limit)
	q := b.queueNamed(c.Queue)
	if q == nil {
		return commands.Int(0)
	}
	r := &rangeReader{Batch: b, q: q}
	r.from, r.to = commands.Between(c.Min, c.Max, now.Wall())
	switch c.State {
	case record.Delayed:
		return commands.Int(r.count(record.Delayed, q.Delayed))
	case record.Ready:
		return commands.Int(r.count(record.Ready, q.Ready))
	case record.Leased:
		return commands.Int(r.count(record.Leased, q.Leased))
	case record.Dead:
		return commands.Int(r.count(record.Dead, q.Dead))
	}
	return commands.Int(r.count(record.Delayed, q.Delayed) + r.count(record.Ready, q.Ready))
}

// count counts the jobs of a state, of which there are all together.
func (r *rangeReader) count(state record.State, all int64) (n int64) {
	switch {
	case r.from > r.to || all == 0:
		return 0
	case r.from <= 0 && r.to == math.MaxInt64:
		return all
	case state == record.Leased || state == record.Dead:
		r.unsorted(state, func(spot) bool {
			n++
			return true
		})
		return n
	}
	parts := r.parts(state)
	outside := false
	for _, p := range parts {
		outside = outside || p.outside(r)
	}
	if !outside {
		return all
	}
	for _, p := range parts {
		if p.lo != nil {
			r.Store.Scan(p.lo, p.hi, func(_, _ []byte) bool {
				n++
				return true
			})
		}
	}
	return n
}

// outside reports whether the part has a job that is not in the range.
func (p *part) outside(r *rangeReader) (found bool) {
	look := func(lo, hi []byte) {
		if bytes.Equal(lo, hi) {
			return
		}
		r.Store.Scan(lo, hi, func(_, _ []byte) bool {
			found = true
			return false
		})
	}
	if p.lo == nil {
		look(p.first, p.last)
		return found
	}
	look(p.first, p.lo)
	look(p.hi, p.last)
	return found
}
