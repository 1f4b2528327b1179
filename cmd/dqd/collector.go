package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The live heap is small, as the stores' caches are outside it, so Go's default would
// collect many times a second: a small heap may grow to three times what lives. A
// larger one, as ten million ids need, must not: it may grow by heapRoom.
const (
	heapRoom               = 64 << 20 // bytes
	leastGrowth, maxGrowth = 40, 200  // percent
	growthStep             = 10       // percent; less is not worth setting anew
)

// growthOf is the percentage by which a heap of so many live bytes may grow.
func growthOf(live uint64) int {
	return int(min(max(heapRoom*100/max(live, 1), leastGrowth), maxGrowth))
}

// tuneCollector keeps the garbage collector's percentage at what the heap wants. It
// does not return.
func tuneCollector() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := 0
	for ; ; time.Sleep(time.Second) {
		metrics.Read(live)
		if want := growthOf(live[0].Value.Uint64()); max(want-set, set-want) >= growthStep {
			debug.SetGCPercent(want)
			set = want
		}
	}
}
