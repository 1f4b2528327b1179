package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// leastGrowth is by how many percent of what lives the heap may grow in any case. The live
// heap is small, as the caches are outside it.
const leastGrowth = 150

// collectSeldom makes the garbage collector wait until the heap has so many bytes, however
// few of them live, and has grown by leastGrowth: a collection takes all cores for some
// 15 ms, in which whoever is due waits. It looks again after every collection.
func collectSeldom(leastHeap int64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	growth := 0
	var collected func(struct{})
	collected = func(struct{}) {
		metrics.Read(live)
		if g := growthTo(leastHeap, int64(live[0].Value.Uint64())); g != growth {
			growth = g
			debug.SetGCPercent(g)
		}
		runtime.AddCleanup(new(*byte), collected, struct{}{})
	}
	collected(struct{}{})
}

// growthTo returns by how many percent the live bytes may grow, in steps of ten.
func growthTo(leastHeap, live int64) int {
	const step = 10
	live = max(live, 4<<20) // Go takes no less for live
	return max(leastGrowth, int((leastHeap-live)*100/live)/step*step)
}
