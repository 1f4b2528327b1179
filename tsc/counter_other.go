//go:build !amd64

package tsc

// Other processors have counters too, but nobody has measured them here.

func counter() uint64        { return 0 }
func orderedCounter() uint64 { return 0 }
func invariant() bool        { return false }
