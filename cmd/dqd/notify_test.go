package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/server/shard"
	"dqd/tests/dqdtest"
)

// manager is the socket of a service manager.
type manager struct {
	*net.UnixConn
	name string
}

func listenAs(t *testing.T, name string) manager {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return manager{c, name}
}

// hears the next datagram.
func (m manager) hears(t *testing.T, want string) {
	t.Helper()
	m.SetReadDeadline(time.Now().Add(dqdtest.Deadline))
	b := make([]byte, 4096)
	n, err := m.Read(b)
	if err != nil || string(b[:n]) != want {
		t.Fatalf("the service manager hears %q, %v; want %q", b[:n], err, want)
	}
}

func (m manager) environment(more ...string) func(string) string {
	return func(name string) string {
		for _, line := range append(more, "NOTIFY_SOCKET="+m.name) {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// A socket has a path or an abstract name; signs of life are given three times in the
// time of the watchdog, if it is this process's.
func TestNotifierEnvironment(t *testing.T) {
	for _, m := range []manager{
		listenAs(t, filepath.Join(t.TempDir(), "notify")),
		listenAs(t, fmt.Sprintf("@dqd-test-%d", time.Now().UnixNano())),
	} {
		for _, c := range []struct {
			env   []string
			every time.Duration
		}{
			{nil, 0},
			{[]string{"WATCHDOG_USEC=30000000"}, 10 * time.Second},
			{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID=42"}, 10 * time.Second},
			{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID=43"}, 0},
			{[]string{"WATCHDOG_USEC=0"}, 0},
			{[]string{"WATCHDOG_USEC=x"}, 0},
		} {
			n, err := newNotifier(m.environment(c.env...), 42, slog.New(slog.DiscardHandler))
			if err != nil || n.every != c.every {
				t.Fatalf("%q: %+v, %v", c.env, n, err)
			}
			n.tell("READY=1", "STATUS=here")
			m.hears(t, "READY=1\nSTATUS=here")
			n.conn.Close()
		}
	}
	for name, want := range map[string]string{
		"":                          "",
		"relative":                  `NOTIFY_SOCKET is "relative": only a path and an abstract name (@…) are known`,
		"vsock:2:1234":              `NOTIFY_SOCKET is "vsock:2:1234"`,
		t.TempDir() + "/nobody":     "no such file or directory",
		"@dqd-test-nobody-is-there": "connection refused",
	} {
		n, err := newNotifier(manager{name: name}.environment(), 42, slog.New(slog.DiscardHandler))
		if n != nil || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", name, n, err)
		}
		n.tell("READY=1") // to nobody
		n.follow(t.Context(), nil, "", nil)
	}
}

// stuck is a client at whose answer the shard's goroutine stands still.
type stuck struct{ entered, leave chan struct{} }

func (stuck) Gone() bool { return false }
func (stuck) Left() bool { return false }
func (stuck) Flush()     {}
func (s stuck) Deliver(*shard.Call) {
	close(s.entered)
	<-s.leave
}

// READY is said when the node serves, and not before. While its actor stands still there
// is no sign of life, and afterwards there is; a node that stands still is ended all the
// same.
func TestWatchdog(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	m := listenAs(t, filepath.Join(t.TempDir(), "notify"))
	notify, err := newNotifier(m.environment("WATCHDOG_USEC=600000"), 42, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer notify.conn.Close()
	c := testConfig(t)
	n, err := assemble(c, quiet)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	serving, ended := make(chan struct{}), make(chan struct{})
	go func() {
		notify.follow(ctx, serving, "serves", n.alive)
		close(ended)
	}()
	<-n.serving
	notify.tell("not yet") // what comes behind it, follow says
	m.hears(t, "not yet")
	close(serving)
	m.hears(t, "READY=1\nSTATUS=serves")
	m.hears(t, "WATCHDOG=1")
	m.hears(t, "WATCHDOG=1")
	cancel()
	<-ended
	for left := true; left; { // one may have been on its way
		m.SetReadDeadline(time.Now())
		_, err := m.Read(make([]byte, 100))
		left = err == nil
	}

	fault := stuck{make(chan struct{}), make(chan struct{})}
	n.shard.Submit([]*shard.Call{{Client: fault, Request: &commands.Clock{}}})
	<-fault.entered
	notify.beat(t.Context(), n.alive)
	notify.tell("nothing was said")
	m.hears(t, "nothing was said")
	if err := n.end(time.Millisecond); err == nil || !strings.Contains(err.Error(), "were not closed within 1ms") {
		t.Errorf("a node that stands still is ended: %v", err)
	}

	close(fault.leave)
	if err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		lock, err := persist.LockFolder(persist.DiskFS(), c.Dir)
		if err != nil {
			return err
		}
		return lock.Close()
	}); err != nil {
		t.Error("after the fault the node does not end:", err)
	}
	if n, err = assemble(c, quiet); err != nil {
		t.Fatal(err)
	}
	<-n.serving
	notify.every = dqdtest.Deadline
	notify.beat(t.Context(), n.alive)
	m.hears(t, "WATCHDOG=1")
	if err := n.shutdown(); err != nil {
		t.Error(err)
	}
	if n.alive(t.Context()) {
		t.Error("a node that has ended is alive")
	}
}
