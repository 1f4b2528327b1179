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
	found := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	growth := 0
	var collected func(struct{})
	collected = func(struct{}) {
		metrics.Read(found)
		roots := found[1].Value.Uint64() + found[2].Value.Uint64()
		if g := growthTo(leastHeap, int64(found[0].Value.Uint64()), int64(roots)); g != growth {
			growth = g
			debug.SetGCPercent(g)
		}
		runtime.AddCleanup(new(*byte), collected, struct{}{})
	}
	collected(struct{}{})
}

// growthTo returns by how many percent the live bytes may grow, in steps of ten. Go lets
// the heap grow by as much of the roots, stacks and global variables, too.
func growthTo(leastHeap, live, roots int64) int {
	const step = 10
	live = max(live, 4<<20) // Go takes no less for live
	return max(leastGrowth, int((leastHeap-live)*100/(live+roots))/step*step)
}
