package dispatch

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"dqd/commands"
	"dqd/persist/record"
)

var seed = flag.Uint64("seed", 0, "replay this seed only")

func seeds(t *testing.T, n uint64, f func(t *testing.T, r *rand.Rand)) {
	for s := uint64(1); s <= n; s++ {
		if *seed != 0 {
			s = *seed
		}
		t.Run(fmt.Sprint("seed=", s), func(t *testing.T) { f(t, rand.New(rand.NewPCG(s, 1))) })
		if *seed != 0 {
			return
		}
	}
}

// TestHeadsFollowTheStore: whatever becomes ready, leaves, and is refilled, the
// head yields the ready jobs of the store in order, none missing.
func TestHeadsFollowTheStore(t *testing.T) {
	seeds(t, 5, func(t *testing.T, r *rand.Rand) {
		const q = 7
		h := NewHeads()
		var store []ReadyItem // sorted: the ready index
		seq := uint64(0)
		for range 25 {
			switch r.IntN(3) {
			case 0, 1: // a crowd becomes ready
				for range r.IntN(HeadSize) {
					seq++
					item := ReadyItem{Pri: uint8(r.IntN(3)), Due: r.Int64N(50), Seq: seq, ID: strconv.FormatUint(seq, 10)}
					h.Add(q, item, len(store) == 0)
					i, _ := slices.BinarySearchFunc(store, item, func(a, b ReadyItem) int { return a.Compare(&b) })
					store = slices.Insert(store, i, item)
				}
			case 2: // some are taken, in order
				for range min(len(store), r.IntN(2*HeadSize)) {
					item, more := h.Next(q)
					if item == nil {
						if !more {
							t.Fatalf("the head says that all is taken, the store has %d", len(store))
						}
						h.Refill(q, scanReady(store))
						item, _ = h.Next(q)
					}
					if *item != store[0] {
						t.Fatalf("head has %+v, store %+v", *item, store[0])
					}
					h.Drop(q)
					store = store[1:]
				}
			}
			if n := len(h.queues[q].heap()); n > 3*HeadSize {
				t.Fatalf("a head of %d", n)
			}
		}
	})
}

func (q *head) heap() []ReadyItem {
	if q == nil {
		return nil
	}
	return q.items
}

func scanReady(store []ReadyItem) func(after *ReadyItem, yield func(ReadyItem) bool) {
	return func(after *ReadyItem, yield func(ReadyItem) bool) {
		for _, item := range store {
			if after != nil && item.Compare(after) <= 0 {
				continue
			}
			if !yield(item) {
				return
			}
		}
	}
}

// TestHeadsAreBounded: more queues than heads are kept cost reads, not memory.
func TestHeadsAreBounded(t *testing.T) {
	h := NewHeads()
	for q := range uint32(2 * maxHeads) {
		h.Add(q, ReadyItem{Seq: uint64(q)}, true)
		if _, more := h.Next(q); more {
			h.Refill(q, scanReady([]ReadyItem{{Seq: uint64(q)}}))
		}
		if item, _ := h.Next(q); item == nil || item.Seq != uint64(q) {
			t.Fatalf("queue %d: %+v", q, item)
		}
	}
	if len(h.queues) > maxHeads {
		t.Fatalf("%d heads", len(h.queues))
	}
}

// TestWindowLosesNothing: wake-ups are taken when due, in order, whether they were
// added in memory or loaded, and the cursor never passes one that was not taken.
func TestWindowLosesNothing(t *testing.T) {
	seeds(t, 30, func(t *testing.T, r *rand.Rand) {
		now := int64(1_000_000_000_000)
		w := NewWindow(record.Progress, now)
		store := map[Hint]bool{} // not taken yet
		sorted := func() []Hint {
			var s []Hint
			for h := range store {
				s = append(s, h)
			}
			slices.SortFunc(s, func(a, b Hint) int { return int(a.Wake.Ns-b.Wake.Ns) | int(a.Seq) - int(b.Seq) })
			return s
		}
		seq := uint64(0)
		for range 300 {
			for range 4 { // a boundary loads until it need not come back
				stored := sorted()
				again := w.Load(now, func(from int64, yield func(Hint) bool) {
					for _, h := range stored {
						if h.Wake.Ns >= from && !yield(h) {
							return
						}
					}
				})
				if !again {
					break
				}
			}
			for range r.IntN(5) {
				seq++
				span := []int64{1, 1e6, 1e9, 60e9, 3600e9}[r.IntN(5)]
				h := Hint{Wake: record.Instant{Ns: now + 1 + r.Int64N(span)}, Seq: seq, ID: strconv.FormatUint(seq, 10)}
				store[h] = true
				w.Add(h)
			}
			due := 0
			for h := range store {
				if h.Wake.Ns <= now {
					due++
				}
			}
			last := int64(0)
			for {
				taken := w.Take(now, 1+r.IntN(4), nil)
				for _, h := range taken {
					if h.Wake.Ns > now || h.Wake.Ns < last || !store[h] {
						t.Fatalf("at %d after %d: took %+v, stored %v", now, last, h, store[h])
					}
					last = h.Wake.Ns
					delete(store, h)
					due--
				}
				if len(taken) == 0 && w.Next() > now {
					break
				}
			}
			if due != 0 {
				t.Fatalf("%d due wake-ups were not taken", due)
			}
			cursor := w.Cursor(now)
			next := w.Next()
			for h := range store {
				if h.Wake.Ns < cursor {
					t.Fatalf("the cursor %d passed %+v", cursor, h)
				}
				if next == math.MaxInt64 || next > h.Wake.Ns {
					t.Fatalf("nobody would wake for %+v: next is %d", h, next)
				}
			}
			now += []int64{0, 1, 1e6, 5e9, 100e9}[r.IntN(5)]
		}
	})
}

// TestWaitersAreServedInOrder: a line is first come, first served; who leaves or
// runs out of time leaves the line.
func TestWaitersAreServedInOrder(t *testing.T) {
	w := NewWaiters(0)
	add := func(deadline int64, queues ...string) *Waiter {
		x := &Waiter{Queues: queues, Deadline: deadline, Pop: &commands.Pop{}}
		w.Add(x)
		return x
	}
	a, b, c := add(30, "q"), add(10, "q", "p"), add(20, "q")
	if w.First("q") != a || w.First("p") != b || w.First("none") != nil || w.Waiting("q") != 3 {
		t.Fatal("wrong first in line")
	}
	if at, ok := w.Next(); !ok || at > 10 {
		t.Fatalf("next deadline %d %v", at, ok)
	}
	w.Remove(a)
	w.Remove(a) // twice is once
	if w.First("q") != b {
		t.Fatal("b is next")
	}
	if e := w.Expired(9); len(e) != 0 {
		t.Fatal("nobody has run out of time yet")
	}
	if e := w.Expired(10); len(e) != 1 || e[0] != b || w.First("p") != nil || w.First("q") != c {
		t.Fatal("b has run out of time in both lines")
	}
	if w.Len() != 1 || w.Waiting("q") != 1 {
		t.Fatal("one is left")
	}
}

// A pop that names a queue twice stands in its line once, and leaves it whole.
func TestWaiterNamesQueueTwice(t *testing.T) {
	w := NewWaiters(0)
	twice := &Waiter{Queues: []string{"a", "b", "a"}, Deadline: 5}
	w.Add(twice)
	w.Add(&Waiter{Queues: []string{"a"}, Deadline: 5})
	if w.Waiting("a") != 2 || w.Waiting("b") != 1 || w.Places() != 3 {
		t.Fatalf("%d wait for a, %d for b, in %d places", w.Waiting("a"), w.Waiting("b"), w.Places())
	}
	w.Remove(twice)
	if w.Waiting("a") != 1 || w.Waiting("b") != 0 || w.Places() != 1 || w.First("a") == twice {
		t.Fatalf("%d wait for a, %d for b, in %d places", w.Waiting("a"), w.Waiting("b"), w.Places())
	}
}
