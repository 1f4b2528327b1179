package dispatch

import (
	"maps"
	"math"
	"slices"

	"dqd/commands"
	"dqd/wheel"
)

// Waiter is a waiting pop.
//
// It stands in the line of each of its queues; lines are in order of arrival.
type Waiter struct {
	Queues   []string
	Deadline int64 // progress ns
	Pop      *commands.Pop
	// Client is the connection that waits, Call the caller's own: whom to answer.
	Client, Call any

	places []*place // nil for a queue that stands in Queues before
	timer  wheel.Timer
	gone   bool
}

type place struct {
	waiter     *Waiter
	line       *line
	prev, next *place
}

// line is a doubly linked list with a sentinel, so that a waiter leaves from the middle in O(1).
type line struct {
	head place
	n    int
}

// Waiters keeps the waiting pops of all queues and their deadlines.
type Waiters struct {
	lines  map[string]*line
	wheel  *wheel.Wheel
	timers map[wheel.ID]*Waiter
	due    []wheel.Timer
	n      int
	places int
}

// NewWaiters returns Waiters at the progress time now.
func NewWaiters(now int64) *Waiters {
	return &Waiters{lines: map[string]*line{}, wheel: wheel.New(now), timers: map[wheel.ID]*Waiter{}}
}

// Len returns the number of waiting pops.
func (w *Waiters) Len() int { return w.n }

// Places returns how many places in lines the waiting pops have together.
func (w *Waiters) Places() int { return w.places }

// Waiting returns how many pops wait for the queue.
func (w *Waiters) Waiting(queue string) int {
	if l := w.lines[queue]; l != nil {
		return l.n
	}
	return 0
}

// Names returns the queues that pops wait for, in order.
func (w *Waiters) Names() []string { return slices.Sorted(maps.Keys(w.lines)) }

// Add parks a waiter at the end of its queues' lines.
func (w *Waiters) Add(waiter *Waiter) {
	waiter.places = make([]*place, len(waiter.Queues))
	for i, queue := range waiter.Queues {
		l := w.lines[queue]
		if l == nil {
			l = &line{}
			l.head.prev, l.head.next = &l.head, &l.head
			w.lines[queue] = l
		}
		if l.n > 0 && l.head.prev.waiter == waiter {
			continue // the same queue twice: one place
		}
		p := &place{waiter: waiter, line: l, prev: l.head.prev, next: &l.head}
		p.prev.next, p.next.prev = p, p
		l.n++
		w.places++
		waiter.places[i] = p
	}
	waiter.timer = w.wheel.Add(waiter.Deadline)
	w.timers[waiter.timer.ID] = waiter
	w.n++
}

// First returns the waiter that is served next from the queue, or nil.
func (w *Waiters) First(queue string) *Waiter {
	l := w.lines[queue]
	if l == nil || l.n == 0 {
		return nil
	}
	return l.head.next.waiter
}

// Remove takes a waiter out of all lines. A second call does nothing.
func (w *Waiters) Remove(waiter *Waiter) {
	if waiter.gone {
		return
	}
	waiter.gone = true
	for i, p := range waiter.places {
		if p == nil {
			continue
		}
		p.prev.next, p.next.prev = p.next, p.prev
		w.places--
		if p.line.n--; p.line.n == 0 {
			delete(w.lines, waiter.Queues[i])
		}
	}
	w.wheel.Cancel(waiter.timer)
	delete(w.timers, waiter.timer.ID)
	w.n--
}

// Expired removes and returns the waiters whose deadline has come, earliest first.
func (w *Waiters) Expired(now int64) []*Waiter {
	if w.n == 0 {
		return nil
	}
	w.due = w.wheel.Expire(now, math.MaxInt, w.due[:0])
	var expired []*Waiter
	for _, t := range w.due {
		waiter := w.timers[t.ID]
		w.Remove(waiter)
		expired = append(expired, waiter)
	}
	return expired
}

// Next returns when Expired may have something to return, in progress ns.
func (w *Waiters) Next() (at int64, ok bool) { return w.wheel.Next() }
