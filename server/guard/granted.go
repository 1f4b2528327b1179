package guard

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// GrantedMemory is the least of the machine's memory and the limits of the
// control groups that the process is in, those around them included (version 2
// and 1), in bytes. Where nothing can be read it is 1 GiB.
func GrantedMemory() int64 { return grantedMemory(os.DirFS("/")) }

// grantedMemory is GrantedMemory of a system whose root folder is given.
func grantedMemory(root fs.FS) int64 {
	least := int64(0)
	take := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, line := range lines(root, "proc/meminfo") {
		var kb int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kb); n == 1 {
			take(kb << 10)
			break
		}
	}
	limits := func(mount, group, file string) {
		// A container may see its own group as the root of the mount, and yet be told
		// its name outside: so what is not there is passed over on the way up.
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			for _, line := range lines(root, path.Join(mount, group, file)) {
				if n, err := strconv.ParseInt(line, 10, 64); err == nil { // "max" is no limit
					take(n)
				}
			}
			if group == "/" {
				return
			}
		}
	}
	// A line is hierarchy:controllers:group; version 2 has no controllers there.
	// Where there are no such lines the root is looked at all the same.
	for _, line := range append(lines(root, "proc/self/cgroup"), "0::/", "0:memory:/") {
		part := strings.SplitN(line, ":", 3)
		switch {
		case len(part) < 3:
		case part[1] == "":
			limits("sys/fs/cgroup", part[2], "memory.max")
		case strings.Contains(","+part[1]+",", ",memory,"):
			limits("sys/fs/cgroup/memory", part[2], "memory.limit_in_bytes")
		}
	}
	if least == 0 {
		least = 1 << 30
	}
	return least
}

// lines are those of a file; none if it cannot be read.
func lines(root fs.FS, name string) []string {
	b, _ := fs.ReadFile(root, name)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
