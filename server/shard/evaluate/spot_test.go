package evaluate

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random test")

// Part by part, nearest gives everything, in order, whatever order it came in, and
// keeps to its budget.
func TestNearest(t *testing.T) {
	t.Logf("replay with -seed %d", *seed)
	rnd := rand.New(rand.NewPCG(*seed, 0))
	for range 200 {
		all := make([]spot, rnd.IntN(200))
		for i := range all {
			all[i] = spot{due: rnd.Int64N(20), pri: uint8(rnd.IntN(2)), seq: uint64(i), id: fmt.Appendf(nil, "%0*d", rnd.IntN(100), i)}
		}
		order := []func(a, b *spot) int{byDue, bySeq, byDeath}[rnd.IntN(3)]
		want := slices.SortedFunc(slices.Values(all), func(a, b spot) int { return order(&a, &b) })
		budget := 1 + rnd.IntN(3000)
		var got []spot
		for after, more := (*spot)(nil), true; more; {
			n := nearest{order: order, after: after, budget: budget}
			rnd.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			for _, s := range all {
				n.add(s)
				if n.bytes > 2*budget+spotBytes+100 {
					t.Fatalf("%d bytes, the budget is %d", n.bytes, budget)
				}
			}
			n.done()
			if len(n.spots) > 1 && n.bytes > budget {
				t.Fatalf("%d bytes are kept, the budget is %d", n.bytes, budget)
			}
			got = append(got, n.spots...)
			after, more = &n.bound, n.more
		}
		if !slices.EqualFunc(got, want, func(a, b spot) bool { return a.seq == b.seq }) {
			t.Fatalf("budget %d: got %v, want %v", budget, got, want)
		}
	}
}
