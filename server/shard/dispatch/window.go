package dispatch

import (
	"math"

	"dqd/persist/record"
	"dqd/wheel"
)

// Hint says that a job wants to be looked at. It is true only if the job's
// record still has this wake-up.
type Hint struct {
	Wake  record.Instant
	Seq   uint64
	Queue uint32
	Dead  bool  // a dead job's record is found by Died as well
	Died  int64 // progress ns
	ID    string
}

// Window limits, per domain.
const (
	// windowSpan is how far ahead wake-ups are kept in memory. Leases that are
	// acked sooner than their end minus this never enter the wheel.
	windowSpan = int64(8e9)
	// windowMax bounds the hints in memory; beyond it the horizon stops moving.
	windowMax = 1 << 20
	// windowStep is how many wake-ups one Load reads: about 0.3 ms of scan.
	windowStep = 1024
)

// Window keeps the coming wake-ups of one timeline.
//
// Invariants: every wake-up of the store that lies below the horizon is in the
// wheel, or was taken by Take. Between the horizon and beyond the store has none.
type Window struct {
	domain  record.Domain
	wheel   *wheel.Wheel
	hints   []Hint // by wheel ID
	horizon int64
	beyond  int64 // MaxInt64 = the store has nothing at or after the horizon
	halved  bool  // since the last Load
	fired   []wheel.Timer
}

// NewWindow returns an empty window whose horizon is the domain's cursor: all
// wake-ups below it are processed.
func NewWindow(domain record.Domain, cursor int64) *Window {
	return &Window{domain: domain, wheel: wheel.New(cursor), horizon: cursor, beyond: cursor}
}

// Add tells of a wake-up that the batch under evaluation stores.
func (w *Window) Add(h Hint) {
	if h.Wake.Ns >= w.horizon {
		w.beyond = min(w.beyond, h.Wake.Ns)
		return
	}
	w.insert(h)
	if w.wheel.Len() > windowMax && !w.halved {
		w.halved = true
		// Keep the nearer half of the span. The far hints stay in the wheel and
		// will be loaded a second time; the second copy finds its job changed.
		if next, ok := w.wheel.Next(); ok && w.horizon > next {
			w.horizon = next + (w.horizon-next)/2
			w.beyond = w.horizon
		}
	}
}

func (w *Window) insert(h Hint) {
	t := w.wheel.Add(h.Wake.Ns)
	for int(t.ID) >= len(w.hints) {
		w.hints = append(w.hints, Hint{})
	}
	w.hints[t.ID] = h
}

// Load moves the horizon up to windowSpan beyond now, by at most windowStep
// stored wake-ups. scan yields the committed wake-ups at or after from, in
// order. It must only be called when no uncommitted change is pending. It
// reports whether it wants to be called again soon.
func (w *Window) Load(now int64, scan func(from int64, yield func(Hint) bool)) (again bool) {
	to := now + windowSpan
	w.halved = false
	if w.beyond >= to {
		w.horizon = max(w.horizon, to)
		return false
	}
	if w.wheel.Len() >= windowMax && w.horizon > now {
		return false
	}
	n, last := 0, w.beyond
	w.beyond = math.MaxInt64
	scan(last, func(h Hint) bool {
		// Ties with the last one taken come along, or they would fall below the horizon.
		if h.Wake.Ns >= to || n >= windowStep && h.Wake.Ns != last {
			w.beyond = h.Wake.Ns
			return false
		}
		last = h.Wake.Ns
		w.insert(h)
		n++
		return true
	})
	w.horizon = min(to, w.beyond)
	return w.beyond < to
}

// Urgent reports whether Load must be called soon: the horizon, beyond which there
// are wake-ups, is nearer than half the span.
func (w *Window) Urgent(now int64) bool {
	return w.beyond < now+windowSpan && w.horizon < now+windowSpan/2 && (w.wheel.Len() < windowMax || w.horizon <= now)
}

// Take returns at most max hints whose wake-up is at or before now, in order.
func (w *Window) Take(now int64, max int, out []Hint) []Hint {
	w.fired = w.wheel.Expire(now, max, w.fired[:0])
	for _, t := range w.fired {
		out = append(out, w.hints[t.ID])
		w.hints[t.ID] = Hint{}
	}
	return out
}

// Cursor returns the time below which every stored wake-up has been taken.
func (w *Window) Cursor(now int64) int64 {
	c := min(now, w.horizon)
	if next, ok := w.wheel.Next(); ok {
		c = min(c, next)
	}
	return c
}

// Next returns when the window wants to be looked at: the next wake-up in
// memory, or the time to load more; MaxInt64 = never.
func (w *Window) Next() int64 {
	at := int64(math.MaxInt64)
	if w.wheel.Len() >= windowMax {
		at = w.horizon
	} else if w.beyond < math.MaxInt64 {
		at = w.beyond - windowSpan/2
	}
	if next, ok := w.wheel.Next(); ok {
		at = min(at, next)
	}
	return at
}

// Levels is how many levels a window's wheel has.
const Levels = wheel.Levels

// Occupancy returns the number of occupied slots at each level of the wheel.
func (w *Window) Occupancy() [Levels]int { return w.wheel.Occupancy() }

// Len returns the number of hints in memory.
func (w *Window) Len() int { return w.wheel.Len() }
