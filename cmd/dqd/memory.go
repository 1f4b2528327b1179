package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// grantedMemory is the least of the machine's memory and the limits of the
// control groups that the process is in (version 2, then 1). Where nothing can
// be read it is 1 GiB.
func grantedMemory() int64 {
	least := int64(0)
	take := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for in := bufio.NewScanner(f); in.Scan(); {
			var kb int64
			if n, _ := fmt.Sscanf(in.Text(), "MemTotal: %d kB", &kb); n == 1 {
				take(kb << 10)
				break
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(path); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no limit
			take(n)
		}
	}
	if least == 0 {
		least = 1 << 30
	}
	return least
}

// storeSizes are the stores' caches and memory tables, in bytes.
type storeSizes struct {
	stateCache                 int64
	stateMemTable, logMemTable uint64
}

// sizesOf fits them into the memory that may be used: from 2 GiB on they are as
// large as is of use.
func sizesOf(maxMemory int64) storeSizes {
	share := func(part, least, most int64) int64 { return min(max(maxMemory/part, least), most) }
	return storeSizes{
		stateCache:    share(16, 4<<20, 128<<20),
		stateMemTable: uint64(share(64, 2<<20, 32<<20)),
		logMemTable:   uint64(share(128, 1<<20, 16<<20)),
	}
}

// outside is what of it the Go runtime does not know: up to four memory tables each.
func (s storeSizes) outside() int64 {
	return s.stateCache + 4*int64(s.stateMemTable+s.logMemTable)
}
