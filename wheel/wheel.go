package wheel

import (
	"math"
	"math/bits"
)

// ID numbers a pending timer. IDs are dense, start at 1, and are used again
// after the timer has expired or was cancelled; 0 is never valid.
type ID uint32

// Timer is a handle that stays unique although its ID is used again. The zero
// Timer is never valid. Gen repeats after 2^31 uses of one ID.
type Timer struct {
	ID  ID
	Gen uint32
}

const (
	// Levels is the number of levels, enough for every non-negative int64.
	Levels = 8

	slotBits = 8 // a slot spans 256 slots of the level below

	// shortSlot is how many timers may be handed over to the front at once.
	shortSlot = 32

	// frontLevel is the highest level that may be handed over. A higher one
	// would turn the front into a large heap: it takes every timer that is
	// added for the span of the slot.
	frontLevel = 3

	// cascadeBudget is how many timers one call of Expire may move, without
	// those that it earns, cascadePerTimer for every timer that it returns.
	// It bounds how long a call keeps its caller from other work.
	cascadeBudget   = 512
	cascadePerTimer = 4

	never = math.MaxInt64
)

// Wheel holds pending timers. Its invariants:
//
//  1. Every timer with due <= cursor is in the front. Every other is in a slot.
//  2. At level l, slot numbers (due >> 8l) lie in (c, c+511], c = cursor >> 8l.
//     So the cursor is in no occupied slot, and the ring index is unambiguous.
//  3. Of timers with the same due, those in a higher level were added later
//     than those in a lower one, and those in one slot are in order of Add.
//     It holds because Add takes the level from cursor^due, which by 2 is no
//     lower than that of any earlier timer for the same due, and because a
//     cascade takes from the head and appends to the tail, one level down.
//  4. now never decreases, and nothing is returned with due > now.
type Wheel struct {
	now    int64 // ns, the latest time told to Expire
	cursor int64 // ns, >= 0; may run ahead of now, by two slots of frontLevel (34 ms) at most

	front  front
	slots  slots
	chunks chunks
	ids    ids
	sweep  sweep

	live int // pending timers
	dead int // cancelled timers whose entries are still in a list; see sweep
}

// New returns an empty wheel whose time is now, in nanoseconds from any origin
// that makes due times non-negative; negative times are legal but all of them
// count as past.
func New(now int64) *Wheel {
	w := &Wheel{}
	w.Reset(now)
	return w
}

// Reset drops all timers and sets the time, which may go back. It keeps memory
// for reuse, and handles from before stay invalid. It takes time proportional
// to the largest Len so far.
func (w *Wheel) Reset(now int64) {
	w.now, w.cursor = now, max(now, 0)
	w.front.heap = w.front.heap[:0]
	w.slots = slots{}
	w.chunks.reset()
	w.ids.top = max(w.ids.top, 1)
	w.ids.reset()
	w.sweep = sweep{ring: slotCount}
	w.live, w.dead = 0, 0
}

// Len returns the number of pending timers.
func (w *Wheel) Len() int { return w.live }

// Occupancy returns the number of occupied slots at each level, for metrics.
func (w *Wheel) Occupancy() [Levels]int { return w.slots.occupancy() }

// Add adds a timer that expires at due, in nanoseconds. A due in the past is
// legal: the next Expire returns it. Timers with the same due expire in order
// of Add.
func (w *Wheel) Add(due int64) Timer {
	if w.ids.stack == 0 {
		w.sweepSome()
	}
	t := w.ids.alloc(&w.chunks)
	if due <= w.cursor {
		w.front.push(due, t.ID)
	} else {
		level := (bits.Len64(uint64(due^w.cursor)) - 1) / slotBits
		w.slots.push(&w.chunks, level, due, t.ID)
	}
	w.live++
	return t
}

// Cancel removes t and reports whether it was pending: false if it has expired,
// was cancelled, or never was. It takes constant time.
func (w *Wheel) Cancel(t Timer) bool {
	if !w.ids.kill(t) {
		return false
	}
	w.live--
	w.dead++
	return true
}

// Expire advances the wheel to now and appends to out the timers with
// due <= now, in order of (due, order of Add), at most limit of them. The rest
// stays pending for the next call. A now smaller than an earlier one counts as
// the earlier one.
//
// One call does bounded work. It may therefore return fewer than limit although
// more are due, even none; then Next is not after now and the caller comes
// again, after whatever else it has to do.
func (w *Wheel) Expire(now int64, limit int, out []Timer) []Timer {
	w.now = max(w.now, now)
	end, budget := len(out)+limit, cascadeBudget
	for len(out) < end && budget > 0 {
		if len(w.front.heap) > 0 {
			t := w.front.heap[0]
			if t.due > w.now {
				break // the cursor is past it, so no slot is due either
			}
			w.front.pop()
			out = w.fire(t.id, out, &budget)
			continue
		}
		s, ok := w.slots.first(w.cursor)
		if !ok || s.start > w.now {
			w.cursor = max(w.cursor, w.now)
			break
		}
		// Nothing is pending before the slot, so the cursor may go right up to
		// it. That makes it the next slot of its level, as cascade demands.
		w.cursor = s.start - 1
		switch {
		case s.level == 0:
			w.take(s.ring, min(end-len(out), budget), func(_ int64, id ID) {
				out = w.fire(id, out, &budget)
			})
		case s.level <= frontLevel && !s.split && !w.long(s):
			budget -= w.handOver(s)
		default:
			budget = w.cascade(s, budget)
		}
	}
	for budget > 0 {
		first, ok := w.slots.first(w.cursor)
		if !ok {
			break
		}
		s, at := w.early(first)
		if at == never || at > w.now {
			break
		}
		if s == first { // so nothing is pending before it
			w.cursor = max(w.cursor, s.start-1)
		}
		budget = w.cascade(s, budget)
	}
	return out
}

// fire retires a timer that is due and in no list any more. A pending one goes
// to out and earns budget, a cancelled one costs.
func (w *Wheel) fire(id ID, out []Timer, budget *int) []Timer {
	if !w.ids.pending(id) {
		*budget--
		w.bury(id)
		return out
	}
	*budget += cascadePerTimer
	w.live--
	t := Timer{id, *w.ids.gen(id)}
	w.ids.kill(t)
	w.ids.free(&w.chunks, id)
	return append(out, t)
}

// handOver moves a short slot to the front and the cursor to the slot's end. No
// timer of its span may be in a lower level: the cursor would pass it. It
// returns the number of timers moved.
func (w *Wheel) handOver(s slot) (n int) {
	for !w.slots.empty(s.ring) {
		n += w.take(s.ring, shortSlot, func(due int64, id ID) {
			if w.ids.pending(id) {
				w.front.push(due, id)
			} else {
				w.bury(id)
			}
		})
	}
	w.cursor = s.end()
	return n
}

// cascade moves up to budget timers of s one level down and returns what is
// left of the budget. It leaves the cursor alone, so that timers added in the
// meantime queue up behind those still in s. s must be the next slot of its
// level after the cursor: the ring below has no room for later ones.
func (w *Wheel) cascade(s slot, budget int) int {
	for budget > 0 && !w.slots.empty(s.ring) {
		budget -= w.take(s.ring, budget, func(due int64, id ID) {
			if w.ids.pending(id) {
				w.slots.push(&w.chunks, s.level-1, due, id)
			} else {
				w.bury(id)
			}
		})
	}
	return budget
}

// take takes up to n timers from the head of a list that is not empty, gives
// each away, and returns how many there were: at least one, at most a chunk.
func (w *Wheel) take(ring uint32, n int, give func(due int64, id ID)) int {
	l := &w.slots.lists[ring]
	c := l.head
	p := w.chunks.at(c)
	from, to := p.from, min(p.to, p.from+uint16(min(n, chunkCap)))
	for i := from; i < to; i++ {
		give(p.due[i], p.id[i])
	}
	p.from = to
	l.load -= uint32(to - from)
	if p.from == p.to {
		w.sweep.forget(c, p.next)
		w.slots.remove(&w.chunks, ring, 0, c)
	}
	return int(to - from)
}

// early returns a long slot that is worth cascading before its time, and the
// time from which on it is; never if there is none. So a crowd is ready when its
// moment comes, and the first timer of a slot does not wait for the last.
func (w *Wheel) early(first slot) (s slot, at int64) {
	const lead = 1 << (frontLevel * slotBits)
	at = never
	if 0 < first.level && first.level <= frontLevel && w.long(first) {
		s, at = first, first.start-lead
	}
	for level := frontLevel + 1; level < Levels; level++ {
		// Only the level's own digit may differ from the cursor's. A slot in
		// the next rotation waits for the level above, which may still hold
		// timers for it.
		number := w.cursor>>(level*slotBits) + 1
		if next := w.slots.at(level, number); number%(1<<slotBits) != 0 && w.long(next) {
			if t := next.start - 1<<((level-1)*slotBits); t < at {
				s, at = next, t
			}
		}
	}
	return s, at
}

// long reports whether a slot has too many timers to be handled at once.
func (w *Wheel) long(s slot) bool { return w.slots.lists[s.ring].load > shortSlot }

// Next returns the earliest time, in nanoseconds, at which Expire may have
// something to do; ok is false if no timer is pending. It is never later than
// the earliest due; it may be earlier, even than now, when timers have to be
// moved between slots first, or when the earliest ones were cancelled.
func (w *Wheel) Next() (due int64, ok bool) {
	if w.live == 0 {
		return 0, false
	}
	due = never
	if len(w.front.heap) > 0 {
		due = w.front.heap[0].due
	}
	if first, ok := w.slots.first(w.cursor); ok {
		_, at := w.early(first)
		due = min(due, first.start, max(at, w.now))
	}
	return due, true
}
