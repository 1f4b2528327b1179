//go:build !linux

package guard

// ResidentMemory is what is known of the process's memory, in bytes.
func ResidentMemory() int64 { return heldMemory() }
