package guard

import (
	"testing"
	"testing/fstest"
)

func TestGrantedMemory(t *testing.T) {
	const mb, none = 1 << 20, "9223372036854771712"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing can be read", nil, 1024 * mb},
		{"no control groups", map[string]string{"proc/meminfo": "MemTotal:   2048000 kB\nMemFree: 1 kB\n"}, 2000 * mb},
		{"no limit", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/system.slice/dqd.service\n",
			"sys/fs/cgroup/system.slice/dqd.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 2000 * mb},
		{"a unit's own limit", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/system.slice/dqd.service\n",
			"sys/fs/cgroup/system.slice/dqd.service/memory.max": "314572800\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 300 * mb},
		{"the slice's limit is less", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/a.slice/a-b.slice/dqd.service\n",
			"sys/fs/cgroup/a.slice/a-b.slice/dqd.service/memory.max": "314572800\n", "sys/fs/cgroup/a.slice/memory.max": "209715200\n",
		}, 200 * mb},
		{"another unit's limit", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/system.slice/dqd.service\n",
			"sys/fs/cgroup/system.slice/other.service/memory.max": "1048576\n",
		}, 2000 * mb},
		{"a limit beyond the machine", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/x/memory.max": "1099511627776\n",
		}, 2000 * mb},
		{"a container with a namespace of its own", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "314572800\n",
		}, 300 * mb},
		{"a container that is told its name outside", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "0::/docker/0123\n", "sys/fs/cgroup/memory.max": "314572800\n",
		}, 300 * mb},
		{"/proc/self/cgroup cannot be read", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "314572800\n",
		}, 300 * mb},
		{"version 1", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "9:cpu,cpuacct:/c\n5:hugetlb,memory:/system.slice/dqd.service\n1:name=systemd:/system.slice/dqd.service\n0::/system.slice/dqd.service\n",
			"sys/fs/cgroup/memory/system.slice/dqd.service/memory.limit_in_bytes": none, "sys/fs/cgroup/memory/system.slice/memory.limit_in_bytes": "314572800\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": none,
		}, 300 * mb},
		{"another's name in version 1", map[string]string{
			"proc/meminfo": "MemTotal: 2048000 kB\n", "proc/self/cgroup": "5:memory_x:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1048576\n",
		}, 2000 * mb},
		{"what no kernel writes", map[string]string{
			"proc/meminfo": "MemTotal: much\n", "proc/self/cgroup": "\x00\n::\n0::../../..\n0::a//b/../c\n", "sys/fs/cgroup/memory.max": "-5\n", "sys/fs/cgroup/a/c/memory.max": "99999999999999999999\n",
		}, 1024 * mb},
	} {
		root := fstest.MapFS{}
		for name, text := range test.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := grantedMemory(root); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
