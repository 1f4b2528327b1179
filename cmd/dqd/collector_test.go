package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The heap may grow to what is granted at least, and by half as much again as lives, and
// half as much again, in any case.
func TestGrowthTo(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		least, live int64
		percent     int
	}{
		{256 * mb, 0, 6300},
		{256 * mb, 32 * mb, 700},
		{256 * mb, 33 * mb, 670},
		{256 * mb, 102 * mb, 150},
		{256 * mb, 103 * mb, 150},
		{256 * mb, 1 << 40, 150},
		{16 * mb, 16 * mb, 150},
	} {
		if got := growthTo(c.least, c.live); got != c.percent {
			t.Errorf("to %d MiB, %d MiB live: %d %%, want %d %%", c.least/mb, c.live/mb, got, c.percent)
		}
	}
}

// After every collection the growth is that of what lives now.
func TestCollectSeldom(t *testing.T) {
	const least = 256 << 20
	collectSeldom(least)
	var kept [][]byte
	for _, more := range []int{0, 32 << 20, 64 << 20} {
		kept = append(kept, make([]byte, more))
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
		for begun := time.Now(); ; time.Sleep(time.Millisecond) {
			runtime.GC()
			metrics.Read(sample)
			live, percent := int64(sample[0].Value.Uint64()), int(sample[1].Value.Uint64())
			if live > int64(more) && percent == growthTo(least, live) {
				break
			}
			if time.Since(begun) > time.Minute {
				t.Fatalf("%d MiB live, and the heap may grow by %d %%, want %d %%", live>>20, percent, growthTo(least, live))
			}
		}
	}
	runtime.KeepAlive(kept)
}
