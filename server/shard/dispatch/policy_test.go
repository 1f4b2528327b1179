package dispatch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dqd/persist/record"
)

// Looks come when their time has come, earliest first, one per queue: as in a list that is searched from end to end.
func TestLooks(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	looks, want := NewLooks(), map[uint32]record.Instant{}
	now := [2]int64{1000, 5000}
	for step := range 5000 {
		if queue := uint32(rng.IntN(40)); rng.IntN(3) > 0 {
			at := record.Instant{Domain: record.Domain(rng.IntN(2)), Ns: rng.Int64N(200)}
			at.Ns += now[at.Domain]
			looks.Set(queue, at)
			want[queue] = at
			continue
		}
		d := record.Domain(rng.IntN(2))
		now[d] += rng.Int64N(30) - 5 // the wall may go back
		var due []uint32
		next := int64(math.MaxInt64)
		for queue, at := range want {
			switch {
			case at.Domain != d:
			case at.Ns <= now[d]:
				due = append(due, queue)
			default:
				next = min(next, at.Ns)
			}
		}
		slices.SortFunc(due, func(a, b uint32) int {
			if want[a].Ns != want[b].Ns {
				return int(want[a].Ns - want[b].Ns)
			}
			return int(a) - int(b)
		})
		if got := looks.Take(d, now[d]); !slices.Equal(got, due) {
			t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, due)
		}
		for _, queue := range due {
			delete(want, queue)
		}
		if got := looks.Next(d); got != next {
			t.Fatalf("seed %d, step %d: next %d, want %d", seed, step, got, next)
		}
	}
}

// The leases of a connection come out when it ends, some at a time, but for those that are over or extended by others; then nothing is kept.
func TestHolders(t *testing.T) {
	h, a, b := NewHolders(), new(int), new(int)
	for token := range uint64(10) {
		h.Add(Held{Client: a, Queue: 1, ID: "x", Token: token})
		h.Add(Held{Client: b, Queue: 1, ID: "x", Token: 100 + token})
	}
	h.Drop(3)
	h.Extended(4, b)
	h.Extended(5, a)
	h.Gone(a)
	h.Gone(a)
	h.Drop(7)
	h.Extended(8, b)
	var got []uint64
	for h.More() {
		leases := h.Ended(4)
		if len(leases) > 4 {
			t.Fatalf("%d leases at a time", len(leases))
		}
		for _, l := range leases {
			got = append(got, l.Token)
		}
	}
	if want := []uint64{0, 1, 2, 5, 6, 9}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for token := range uint64(10) {
		h.Drop(100 + token)
	}
	if len(h.leases)+len(h.clients)+len(h.ended) > 0 {
		t.Fatalf("kept: %+v", h)
	}
}
