package main

import (
	"context"
	"encoding/json"
	"errors"
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
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "report.json")
	var log strings.Builder
	err := benchmark(t.Context(), []string{
		"-dqd", os.Args[0], "-dir", dir, "-json", file, "-run", "add/4x32|cycle|waiting",
		"-rounds", "1", "-seconds", "1", "-warmup", "100ms", "-jobs", "2500", "-inflight", "1000",
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
			if (c.Name == "waiting" && s.Server == dqdServer) != (s.DiskPerJob > 0) {
				t.Errorf("%s: %s: %.0f B/job on disk", c.Name, s.Server, s.DiskPerJob)
			}
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Every case that loads jobs ends, without a fault; those that the server cannot
// do are told apart from failures.
func TestSmokeLoaded(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "report.json")
	var log strings.Builder
	err := benchmark(t.Context(), []string{
		"-dqd", os.Args[0], "-dir", dir, "-json", file, "-run", "cancel/4x32|multi|restart|store|look|connections|extend|bulk",
		"-rounds", "1", "-seconds", "0.1", "-warmup", "1ms", "-loaded", "10000", "-connections", "50",
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
	var got []string
	for _, c := range r.Cases {
		name := c.Name
		if c.Missing != "" {
			name += " (not measured)"
		}
		got = append(got, name)
		for _, s := range c.Servers {
			if s.PerSecond+s.P50+s.StartMs+s.DiskPerJob+s.RSS == 0 {
				t.Errorf("%s: %s did nothing", c.Name, s.Server)
			}
		}
	}
	want := "multi (not measured), cancel/4x32, restart, store, look first 10, look 10 from the middle, look count, look scan, " +
		"connections, extend batch, extend one by one, bulk/purge ping, bulk/purge add, bulk/requeue (not measured), bulk/due ping, bulk/due add"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s\n%s", s, want, log.String())
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A server that has not what it was given is an error, not a figure.
func TestMissingJobsAreSeen(t *testing.T) {
	t.Parallel()
	l := &launcher{base: t.TempDir(), self: os.Args[0], dqd: os.Args[0], log: io.Discard, live: map[*server]bool{}}
	defer l.close()
	srv, err := l.start(t.Context(), dqdServer)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{launcher: l, log: io.Discard}
	if err := b.load(t.Context(), srv, 0, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := measureLooks(t.Context(), srv, 0, 101, time.Millisecond); err == nil {
		t.Error("a walk over 100 jobs passed for 101")
	}
	if _, err := measureCancels(t.Context(), srv, cancelLoad{conns: 2, pipeline: 5, jobs: 105, length: time.Second}); !errors.Is(err, errNotCancelled) {
		t.Errorf("the cancel of a job that is not there: %v", err)
	}
	if _, err := srv.restart(t.Context(), 101); err == nil || !strings.Contains(err.Error(), "holds 100 jobs") {
		t.Errorf("a restart that lost a job: %v", err)
	}
	var missing notMeasured
	if err := srv.supports(t.Context(), "PING", "MULTI"); !errors.As(err, &missing) {
		t.Errorf("a command that is not there: %v", err)
	}
	if err := srv.end(t.Context()); err != nil {
		t.Error(err)
	}
}

// The burning process burns, ends when it is told to, and by itself.
func TestBurn(t *testing.T) {
	t.Parallel()
	l := &launcher{self: os.Args[0]}
	stop, err := l.burn(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	stop() // waits for it
	cmd := exec.CommandContext(t.Context(), os.Args[0], "burn", "-share", "0.5", "-for", "100ms")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if cmd.ProcessState.UserTime() == 0 {
		t.Error("it burned nothing")
	}
	for _, args := range [][]string{{}, {"-share", "1", "-for", "1s"}, {"-share", "0.5"}} {
		if burnMain(args) == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// Redis, through the same workers, delivers every job once and none early.
func TestRedisLateness(t *testing.T) {
	t.Parallel()
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
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: install Debian's redis-server, or run ./test.sh once as root", err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel) // within the warm-up of the case, after the disk probe
	start := time.Now()
	err := benchmark(ctx, []string{"-dqd", os.Args[0], "-dir", dir, "-run", "add/sync", "-warmup", "1h"}, io.Discard, io.Discard)
	if err == nil || time.Since(start) > 5*time.Minute {
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
