package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The harness starts, measures and clears up: a real redis-server, and this test
// binary as dqd. Figures are not judged.
func TestSmoke(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "report.json")
	var log strings.Builder
	err := benchmark(t.Context(), []string{
		"-dqd", os.Args[0], "-dir", dir, "-json", file, "-run", "add/4x32|cycle|waiting",
		"-rounds", "1", "-seconds", "0.2", "-warmup", "100ms", "-jobs", "2500", "-inflight", "1000",
	}, io.Discard, &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 3 {
		t.Fatalf("%d cases\n%s", len(r.Cases), log.String())
	}
	for _, c := range r.Cases {
		for _, s := range c.Servers {
			if s.faults() > 0 {
				t.Errorf("%s: %s: %s", c.Name, s.Server, s.brief())
			}
			if s.PerSecond == 0 {
				t.Errorf("%s: %s did nothing", c.Name, s.Server)
			}
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Redis, through the same workers, delivers every job once and none early.
func TestRedisLateness(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	l, err := newLauncher(t.Context(), options{dqd: os.Args[0], dir: t.TempDir(), poll: time.Millisecond}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	srv, err := l.start(t.Context(), redisAlways)
	if err != nil {
		t.Fatal(err)
	}
	s, err := measureLateness(t.Context(), srv, latenessLoad{rate: 1000, workers: 4, warmup: 100 * time.Millisecond, length: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if s.faults() > 0 || s.P50 == 0 {
		t.Errorf("%+v", s)
	}
}

// An interrupted run ends soon and leaves no server and no file.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel) // within the warm-up of the case, after the disk probe
	start := time.Now()
	err := benchmark(ctx, []string{"-dqd", os.Args[0], "-dir", dir, "-run", "add/sync", "-warmup", "60s"}, io.Discard, io.Discard)
	if err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A server that does not start is an error that shows what the server said.
func TestStartFails(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	l, err := newLauncher(t.Context(), options{dqd: "/bin/ls", dir: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if _, err := l.start(t.Context(), dqdServer); err == nil || !strings.Contains(err.Error(), "exited") {
		t.Errorf("%v", err)
	}
}
