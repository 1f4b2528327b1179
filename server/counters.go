package server

import (
	"errors"
	"os"
	"sync/atomic"

	"dqd/commands"
)

// counters are what the server counts; INFO and the metrics read them.
type counters struct {
	blocked        atomic.Int64 // a gauge: connections with a pop that may wait
	connections    atomic.Int64 // accepted since the start
	commands       atomic.Int64
	protocolErrors atomic.Int64
	authFailures   atomic.Int64
	panics         atomic.Int64
	acceptErrors   atomic.Int64
	rejected       [rejectReasons]atomic.Int64
	closed         [closeReasons]atomic.Int64
}

// closeReason says why a connection ended.
type closeReason int

const (
	closedByPeer closeReason = iota
	closedNormally
	closedCommandTimeout
	closedWriteTimeout
	closedOutput
	closedMemory
	closedKilled
	closedHTTP
	closedInternal
	closeReasons // their number
)

func (r closeReason) String() string {
	return [...]string{
		closedByPeer:         "client",
		closedNormally:       "server",
		closedCommandTimeout: "command-timeout",
		closedWriteTimeout:   "write-timeout",
		closedOutput:         "output-buffer",
		closedMemory:         "client-buffers",
		closedKilled:         "killed",
		closedHTTP:           "http",
		closedInternal:       "internal",
	}[r]
}

// closedBecause tells a time-out from a client that is gone.
func closedBecause(err error) closeReason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return closedWriteTimeout
	}
	return closedByPeer
}

// worthLogging tells what an operator wants to see from what happens all day.
func (r closeReason) worthLogging() bool { return r > closedNormally }

// rejectReason says why a connection was not served.
type rejectReason int

const (
	rejectedMaxClients rejectReason = iota
	rejectedProtected
	rejectReasons // their number
)

func (r rejectReason) String() string {
	return [...]string{rejectedMaxClients: "max-clients", rejectedProtected: "protected-mode"}[r]
}

// rowCounters count the replies of one command.
type rowCounters struct {
	name     string
	outcomes [outcomes]atomic.Int64
}

const (
	outcomeOK = iota
	outcomeNull
	outcomeError
	outcomes // their number
)

var outcomeNames = [outcomes]string{"ok", "null", "error"}

// count counts a reply; a nil receiver does not.
func (c *rowCounters) count(r commands.Reply) {
	if c == nil {
		return
	}
	outcome := outcomeOK
	switch r.(type) {
	case commands.Null, commands.NullArray:
		outcome = outcomeNull
	case commands.Error:
		outcome = outcomeError
	}
	c.outcomes[outcome].Add(1)
}

// newRows makes the counters of every row of the command table, sub-commands too.
func newRows() map[*commands.Command]*rowCounters {
	rows := make(map[*commands.Command]*rowCounters)
	var add func(cs []*commands.Command)
	add = func(cs []*commands.Command) {
		for _, c := range cs {
			rows[c] = &rowCounters{name: c.Name}
			add(c.Subcommands)
		}
	}
	add(commands.All())
	return rows
}

// reset is CONFIG RESETSTAT. The metrics read the same counters; to Prometheus it
// looks like a restart.
func (c *counters) reset() {
	for _, n := range []*atomic.Int64{&c.connections, &c.commands, &c.protocolErrors, &c.authFailures, &c.panics, &c.acceptErrors} {
		n.Store(0)
	}
	for i := range c.rejected {
		c.rejected[i].Store(0)
	}
	for i := range c.closed {
		c.closed[i].Store(0)
	}
}
