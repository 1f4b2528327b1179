package guard

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// GrantedMemory is the least of the machine's memory and the limits of the
// control groups that the process is in (version 2, then 1). Where nothing can
// be read it is 1 GiB.
func GrantedMemory() int64 {
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
