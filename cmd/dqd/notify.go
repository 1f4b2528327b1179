package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// notifier tells the service manager how the process fares, as sd_notify(3) does: by
// datagrams to the socket that NOTIFY_SOCKET names. A nil one tells nobody.
type notifier struct {
	conn  net.Conn
	every time.Duration // between two signs of life; 0 = none are wanted
	log   *slog.Logger
}

// newNotifier reads what the service manager has put into the environment of the
// process pid: NOTIFY_SOCKET, a path or, with @, an abstract name, and for the watchdog
// WATCHDOG_USEC and WATCHDOG_PID. Without a socket it is nil.
func newNotifier(getenv func(string) string, pid int, log *slog.Logger) (*notifier, error) {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	if name[0] != '/' && name[0] != '@' {
		return nil, fmt.Errorf("NOTIFY_SOCKET is %q: only a path and an abstract name (@…) are known", name)
	}
	conn, err := net.Dial("unixgram", name)
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	n := &notifier{conn: conn, log: log}
	if of := getenv("WATCHDOG_PID"); of == "" || of == strconv.Itoa(pid) {
		if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
			// Three, so that one may wait for a third of the time and the next is in time still.
			n.every = max(time.Duration(us)*time.Microsecond/3, time.Millisecond)
		}
	}
	return n, nil
}

// tell sends the lines, of the form NAME=value.
func (n *notifier) tell(lines ...string) {
	if n == nil {
		return
	}
	if _, err := n.conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		n.log.Warn("the service manager cannot be told", "what", lines, "error", err)
	}
}

// follow says READY when serving is closed, and from then on that the process is alive,
// as long as alive says so, until ctx ends.
func (n *notifier) follow(ctx context.Context, serving <-chan struct{}, status string, alive func(context.Context) bool) {
	if n == nil {
		return
	}
	select {
	case <-serving:
	case <-ctx.Done():
		return
	}
	n.tell("READY=1", "STATUS="+status)
	if n.every == 0 {
		return
	}
	tick := time.NewTicker(n.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.beat(ctx, alive)
		case <-ctx.Done():
			return
		}
	}
}

// beat gives a sign of life, if there is one before the next is due.
func (n *notifier) beat(ctx context.Context, alive func(context.Context) bool) {
	probe, cancel := context.WithTimeout(ctx, n.every)
	defer cancel()
	switch {
	case alive(probe):
		n.tell("WATCHDOG=1")
	case ctx.Err() == nil:
		n.log.Warn("the shard stands still: the service manager gets no sign of life", "for", n.every)
	}
}
