package server

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// systemMemory is what the system counts for the process, and what the machine has.
func systemMemory() (rss, machine int64) {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		machine = int64(info.Totalram) * int64(info.Unit)
	}
	text, err := os.ReadFile("/proc/self/statm")
	var size, resident int64
	if n, _ := fmt.Sscan(string(text), &size, &resident); err == nil && n == 2 {
		rss = resident * int64(os.Getpagesize())
	}
	return rss, machine
}
