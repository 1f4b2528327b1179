package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"

	"dqd/tests/dqdtest"
)

// The heap may grow to what is granted at least, and by leastGrowth percent of what lives
// in any case.
func TestGrowthTo(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		least, live, roots int64
		percent            int
	}{
		{256 * mb, 0, 0, 6300},
		{256 * mb, 0, 4 * mb, 3150},
		{256 * mb, 32 * mb, 0, 700},
		{256 * mb, 33 * mb, 0, 670},
		{256 * mb, 32 * mb, 24 * mb, 400},
		{256 * mb, 102 * mb, 0, 150},
		{256 * mb, 103 * mb, 0, 150},
		{256 * mb, 1 << 40, 1 << 40, 150},
		{16 * mb, 16 * mb, 0, 150},
	} {
		if got := growthTo(c.least, c.live, c.roots); got != c.percent {
			t.Errorf("to %d MiB, %d MiB live: %d %%, want %d %%", c.least/mb, c.live/mb, got, c.percent)
		}
	}
}

// The heap is collected when it has reached the least that is granted, or has grown by
// leastGrowth, whichever is more; that is found anew after every collection.
func TestCollectSeldom(t *testing.T) {
	const least = 256 << 20
	collectSeldom(least)
	var kept [][]byte
	for _, more := range []int{0, 32 << 20, 128 << 20} {
		kept = append(kept, make([]byte, more))
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
		err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
			runtime.GC()
			metrics.Read(sample)
			live, goal := int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
			want := max(least, live+live*leastGrowth/100)
			if live < int64(more) || goal < want*9/10 || goal > want*11/10 {
				return fmt.Errorf("%d MiB live, the heap is collected at %d MiB, want about %d", live>>20, goal>>20, want>>20)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	runtime.KeepAlive(kept)
}
