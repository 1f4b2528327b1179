package guard

import (
	"bytes"
	"os"
	"strconv"
)

var pageSize = int64(os.Getpagesize())

// ResidentMemory is the process's memory as the system counts it, in bytes: the Go
// heap, and the caches and tables that the stores keep beside it.
func ResidentMemory() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return heldMemory()
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return heldMemory()
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return heldMemory()
	}
	return pages * pageSize
}
