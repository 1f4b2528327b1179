package commands

import (
	"math"
	"testing"
)

// Protects the bounds of a range: a due is in it exactly if the ms that it is shown as is.
func TestBetween(t *testing.T) {
	const now = int64(1_800_000_000_000_000_001)
	dues := []int64{0, 1, 999_999, 1_000_000, 1_000_001, 1_999_999, 2_000_000, now - 1, now, now + 999_998, now + 999_999, now + 1_000_000, math.MaxInt64 - 1, math.MaxInt64}
	bounds := []Bound{{Ms: -1}, {Ms: 0}, {Ms: 1}, {Ms: 2}, {Ms: 3}, {Now: true}, {Ms: 1_800_000_000_000}, {Ms: 1_800_000_000_002},
		{Ms: math.MaxInt64 / 1_000_000}, {Ms: math.MaxInt64/1_000_000 + 1}, {Ms: math.MaxInt64/1_000_000 + 2}, {Ms: math.MaxInt64 - 1}, {Ms: math.MaxInt64}}
	for _, b := range bounds {
		b.Open = true
		bounds = append(bounds, b)
	}
	for _, min := range bounds {
		for _, max := range bounds {
			from, to := Between(min, max, now)
			for _, due := range dues {
				shown, lo, hi := MsUp(due), min.ms(now), max.ms(now)
				want := (shown > lo || shown == lo && !min.Open) && (shown < hi || shown == hi && !max.Open)
				if got := from <= due && due <= to; got != want {
					t.Errorf("%+v to %+v: due %d, shown as %d: %v, from %d to %d", min, max, due, shown, got, from, to)
				}
			}
		}
	}
}
