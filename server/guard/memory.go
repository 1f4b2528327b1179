package guard

import "runtime/metrics"

// heldMemory is what the Go runtime holds, less what it gave back. What the stores
// allocate beside it is not in it.
func heldMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
