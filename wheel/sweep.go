package wheel

// deadSlack is how many cancelled timers are left alone in any case: sweeping
// for a few is not worth it. 64 KiB.
const deadSlack = 4096

// sweep collects what is left of cancelled timers, but only when memory would
// grow otherwise: a wheel keeps its memory, so until then there is nothing to
// gain. When an Add finds no free ID and the dead outnumber the pending, a walk
// through all lists begins, in which every such Add does one chunk. That frees
// some 20 IDs, for which the next 20 Adds have nothing to do. So an Add pays
// for looking at two entries on average, and a Cancel for nothing.
type sweep struct {
	ring       uint32 // the list being walked through; slotCount between walks
	prev, next uint32 // in it: the last chunk looked at, the next one; or 0
}

// sweepSome does an Add's share.
func (w *Wheel) sweepSome() {
	s := &w.sweep
	if s.ring == slotCount {
		if w.dead <= w.live+deadSlack {
			return
		}
		w.sweepFront()
		s.ring = w.slots.next(0)
		s.prev, s.next = 0, w.slots.headOf(s.ring)
	}
	if s.next == 0 {
		s.ring = w.slots.next(s.ring + 1)
		s.prev, s.next = 0, w.slots.headOf(s.ring)
	}
	if s.next != 0 {
		w.sweepChunk()
	}
}

// sweepFront is not incremental: the front is small, and when it is not then
// because nobody collects what is overdue.
func (w *Wheel) sweepFront() {
	pending := w.front.heap[:0]
	for _, t := range w.front.heap {
		if w.ids.pending(t.id) {
			pending = append(pending, t)
		} else {
			w.bury(t.id)
		}
	}
	w.front.heap = pending
	w.front.heapify()
}

// sweepChunk removes the dead from the next chunk, and the chunk itself if what
// remains has room in the previous one. So two neighbours hold more than one.
func (w *Wheel) sweepChunk() {
	s, l := &w.sweep, &w.slots.lists[w.sweep.ring]
	c := s.next
	p := w.chunks.at(c)
	s.next = p.next

	to := uint16(0)
	for i := p.from; i < p.to; i++ {
		if id := p.id[i]; w.ids.pending(id) {
			p.due[to], p.id[to] = p.due[i], id
			to++
		} else {
			w.bury(id)
			l.load--
		}
	}
	p.from, p.to = 0, to
	if s.prev != 0 {
		if q := w.chunks.at(s.prev); q.to+p.to <= chunkCap {
			copy(q.due[q.to:], p.due[:p.to])
			copy(q.id[q.to:], p.id[:p.to])
			q.to, p.to = q.to+p.to, 0
		}
	}
	if p.to == 0 {
		w.slots.remove(&w.chunks, s.ring, s.prev, c)
	} else {
		s.prev = c
	}
}

// forget is told of a list's head that is about to be removed.
func (s *sweep) forget(c, next uint32) {
	if s.prev == c {
		s.prev = 0
	}
	if s.next == c {
		s.next = next
	}
}

// bury frees the ID of a cancelled timer whose entry is gone.
func (w *Wheel) bury(id ID) {
	w.dead--
	w.ids.free(&w.chunks, id)
}
