package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine is what the figures depend on besides the servers.
type machine struct {
	Kernel     string  `json:"kernel"`
	CPU        string  `json:"cpu"`
	CPUs       int     `json:"cpus"`
	Go         string  `json:"go"`
	Redis      string  `json:"redis"`
	Filesystem string  `json:"filesystem"`
	Load       string  `json:"load_average"`
	SyncP50us  float64 `json:"fdatasync_p50_us"` // appends of 200 bytes, one after the other
	SyncP99us  float64 `json:"fdatasync_p99_us"`
}

func environment(l *launcher) machine {
	m := machine{
		Kernel:     firstLine("/proc/sys/kernel/osrelease"),
		CPU:        cpuModel(),
		CPUs:       runtime.NumCPU(),
		Go:         runtime.Version(),
		Load:       firstLine("/proc/loadavg"),
		Filesystem: filesystem(l.base),
	}
	if out, err := exec.Command(l.redis, "--version").Output(); err == nil {
		m.Redis = strings.TrimSpace(string(out))
	}
	m.SyncP50us, m.SyncP99us = syncCost(l.base)
	return m
}

func (m machine) print(w io.Writer) {
	fmt.Fprintf(w, "%d × %s, Linux %s, %s, load %s\n", m.CPUs, m.CPU, m.Kernel, m.Go, m.Load)
	fmt.Fprintf(w, "%s; append + fdatasync of 200 bytes: P50 %.0f µs, P99 %.0f µs\n", m.Filesystem, m.SyncP50us, m.SyncP99us)
	fmt.Fprintf(w, "%s\n", m.Redis)
	if strings.Contains(m.Filesystem, "tmpfs") {
		fmt.Fprintln(w, "WARNING: the data is in memory, fsync costs nothing here; choose a disk with -dir")
	}
}

// syncCost times fdatasync of small appends where the servers keep their data.
func syncCost(dir string) (p50, p99 float64) {
	f, err := os.Create(filepath.Join(dir, "sync-probe"))
	if err != nil {
		return 0, 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	h := newHist()
	line := make([]byte, 200)
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		start := time.Now()
		if _, err := f.Write(line); err != nil {
			return 0, 0
		}
		if err := dataSync(f); err != nil {
			return 0, 0
		}
		record(h, time.Since(start))
	}
	return float64(h.ValueAtQuantile(50)), float64(h.ValueAtQuantile(99))
}

func firstLine(path string) string {
	b, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// filesystem is the type and device of the mount that holds dir.
func filesystem(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "unknown"
	}
	b, _ := os.ReadFile("/proc/mounts")
	best, found := "", "unknown"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line) // device, mount point, type, options, …
		if len(f) < 4 {
			continue
		}
		within := f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/")
		if within && len(f[1]) >= len(best) {
			best, found = f[1], fmt.Sprintf("%s on %s (%s)", f[2], f[0], f[3])
		}
	}
	return found
}
