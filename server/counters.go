package server

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dqd/commands"
	"dqd/server/shard"
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
	reads, writes  atomic.Int64 // of sockets
	netIn, netOut  atomic.Int64 // their bytes
	rejected       [rejectReasons]atomic.Int64
	closed         [closeReasons]atomic.Int64
}

// closeReason says why a connection ended.
type closeReason int

const (
	closedByPeer closeReason = iota
	closedNormally
	closedIdle
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
		closedIdle:           "idle",
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
func (r closeReason) worthLogging() bool { return r > closedIdle }

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
	row      *commands.Command
	name     string
	outcomes [outcomes]atomic.Int64
	refused  atomic.Int64 // those of the errors that came before anything was tried
	times    times        // of those that did not wait for a job to come
}

const (
	outcomeOK = iota
	outcomeNull
	outcomeError
	outcomeGone // the client had left, which is no failure: shard.ErrGone
	outcomes    // their number
)

var outcomeNames = [outcomes]string{"ok", "null", "error", "gone"}

// count counts a reply.
func (c *rowCounters) count(r commands.Reply) {
	outcome := outcomeOK
	switch r := r.(type) {
	case commands.Null, commands.NullArray:
		outcome = outcomeNull
	case commands.Error:
		if outcome = outcomeError; r == shard.ErrGone {
			outcome = outcomeGone
		}
	}
	c.outcomes[outcome].Add(1)
}

// newRows makes the counters of every row of the command table, sub-commands too.
func newRows() map[*commands.Command]*rowCounters {
	rows := make(map[*commands.Command]*rowCounters)
	var add func(cs []*commands.Command)
	add = func(cs []*commands.Command) {
		for _, c := range cs {
			rows[c] = &rowCounters{row: c, name: c.Name}
			add(c.Subcommands)
		}
	}
	add(commands.All())
	return rows
}

// resetStats is CONFIG RESETSTAT. The metrics read the same counters; to
// Prometheus it looks like a restart.
func (s *Server) resetStats() {
	s.counters.reset()
	s.errors.reset()
	for _, row := range s.rows {
		for i := range row.outcomes {
			row.outcomes[i].Store(0)
		}
		row.refused.Store(0)
		row.times.reset()
	}
}

func (c *counters) reset() {
	for _, n := range []*atomic.Int64{
		&c.connections, &c.commands, &c.protocolErrors, &c.authFailures, &c.panics, &c.acceptErrors,
		&c.reads, &c.writes, &c.netIn, &c.netOut,
	} {
		n.Store(0)
	}
	for i := range c.rejected {
		c.rejected[i].Store(0)
	}
	for i := range c.closed {
		c.closed[i].Store(0)
	}
}

// errorCounters count the errors that clients were sent, by their code.
type errorCounters struct {
	mu    sync.Mutex
	codes map[string]int64
	total int64
}

// codesMax bounds the codes; there are about thirty.
const codesMax = 128

func (e *errorCounters) count(text commands.Error) {
	code, _, _ := strings.Cut(string(text), " ")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.codes == nil {
		e.codes = map[string]int64{}
	}
	e.total++
	if _, known := e.codes[code]; known || len(e.codes) < codesMax {
		e.codes[code]++
	}
}

// read returns the codes in order, their counts, and the sum.
func (e *errorCounters) read() (codes []string, counts []int64, total int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	codes = slices.Sorted(maps.Keys(e.codes))
	for _, code := range codes {
		counts = append(counts, e.codes[code])
	}
	return codes, counts, e.total
}

func (e *errorCounters) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.codes, e.total = nil, 0
}
