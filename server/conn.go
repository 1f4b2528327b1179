package server

import (
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"dqd/commands"
	"dqd/server/resp"
	"dqd/server/shard"
)

// conn is one client. Its rules:
//
//  1. Replies leave in the order of the commands.
//  2. The goroutine of run alone reads, parses and runs local commands; it waits
//     for nothing but the socket, and for room where a bound is reached.
//  3. A local command that an earlier command may bear upon runs only when all
//     earlier ones are answered; only the simplest need not wait.
//  4. Behind a pop that may wait nothing is parsed, but reading goes on, so that
//     a client that leaves loses its place before any lease.
//  5. Every byte held for a client counts against a bound.
type conn struct {
	srv   *Server
	nc    net.Conn
	id    int64
	since time.Time
	peer  string
	local string

	// gone turns true once, when the client has left or is thrown out.
	gone atomic.Bool
	// charged is the part of the server's client buffers that this one holds.
	charged atomic.Int64

	// Owned by run.
	in       input
	framer   resp.Framer
	frame    resp.Frame
	framed   bool     // frame was found and waits to be executed
	args     [][]byte // room for arguments; what is taken stays as it is
	argsLent bool     // requests alias it
	batch    []entry  // executed, not yet in pending
	bytes    int      // of batch
	quota    int      // the batch moves on when it is so long
	calls    []*shard.Call
	eof      bool
	partial  time.Time    // since when a command is incomplete; zero = none is
	deadline time.Time    // the read deadline as set
	multi    *transaction // since MULTI; nil = there is none
	authed   bool
	replies  replyMode

	// mu guards what follows. The shard's completer takes it in Deliver and
	// Flush, so it is never held over anything that may block.
	mu      sync.Mutex
	wake    sync.Cond // signalled when pending, the output or a flag changed
	pending pending
	output  output
	chunk   int         // the size of the input's chunk, to be charged
	queued  int         // the bytes of multi, likewise
	waits   waitFor     // why run does not go on parsing
	parked  bool        // run is in Read although it has commands to execute
	kicked  bool        // run's Read was interrupted by a past deadline
	loading *time.Timer // ends the wait for the shard
	late    bool        // it did
	quit    bool        // run shall stop parsing
	ended   bool        // the socket is closed
	why     closeReason // then
	counted bool        // among the server's blocked clients
	info    clientInfo
}

func newConn(s *Server, nc net.Conn, id int64) *conn {
	c := &conn{
		srv: s, nc: nc, id: id, since: time.Now(),
		peer: nc.RemoteAddr().String(), local: nc.LocalAddr().String(),
	}
	c.wake.L = &c.mu
	c.output.init(nc)
	c.info.active, c.info.multi = c.since, -1
	c.authenticate(!s.hasPassword())
	return c
}

// authenticate grants or takes the right to run commands.
func (c *conn) authenticate(ok bool) {
	c.authed = ok
	c.framer.Limits = c.srv.live.Load().Limits
	if !ok {
		c.framer.Limits = c.framer.Limits.BeforeAuth()
	}
}

// run is the goroutine of the connection, from accept to the end.
func (c *conn) run() {
	defer c.end()
	for c.parse() && c.fill() {
	}
	c.finish()
}

// kick gets run out of Read. Called with mu held.
func (c *conn) kick() {
	if !c.kicked {
		c.kicked = true
		c.nc.SetReadDeadline(past)
	}
	c.wake.Broadcast()
}

var past = time.Unix(1, 0)

// unpark lets run go on if what it waits for has come. Called with mu held.
func (c *conn) unpark() {
	if c.parked && c.met(c.waits) {
		c.parked = false
		c.kick()
	}
	c.wake.Broadcast()
}

// stop makes run stop parsing, answer what it has and close.
func (c *conn) stop() {
	c.mu.Lock()
	c.quit = true
	c.kick()
	blocked := c.pending.blocked
	c.mu.Unlock()
	if sh := c.srv.shard.Load(); blocked && sh != nil {
		(*sh).Unblock(c, commands.NullArray{})
	}
}

// abort closes the socket now.
func (c *conn) abort(why closeReason) {
	c.mu.Lock()
	c.abortLocked(why)
	c.mu.Unlock()
}

func (c *conn) abortLocked(why closeReason) {
	if c.ended {
		return
	}
	c.ended = true
	c.gone.Store(true)
	c.why = why // end logs it: a log may block
	c.srv.counters.closed[why].Add(1)
	c.nc.Close()
	c.wake.Broadcast()
}

// leave tells the shard that the client is gone.
func (c *conn) leave() {
	c.gone.Store(true)
	if sh := c.srv.shard.Load(); sh != nil {
		(*sh).ClientGone(c)
	}
}

// finish waits until everything is answered and written.
func (c *conn) finish() {
	c.mu.Lock()
	for !c.ended && !(c.pending.empty() && c.output.settled()) {
		if c.pending.held() {
			c.mu.Unlock()
			c.runLater()
			c.mu.Lock()
			continue
		}
		c.wake.Wait()
	}
	ended := c.ended
	c.mu.Unlock()
	if !ended && !c.eof {
		patience := lingerTime
		if c.srv.isDown() {
			patience = lingerTimeDown
		}
		linger(c.nc, patience)
	}
}

// end gives everything back.
func (c *conn) end() {
	if p := recover(); p != nil {
		c.srv.panicked("connection", p, debug.Stack())
	}
	why := closedNormally
	if c.eof {
		why = closedByPeer
	}
	c.abort(why)
	c.leave()
	c.srv.backups.leave(c)
	c.mu.Lock()
	for c.output.writing { // it finds the socket closed
		c.wake.Wait()
	}
	if c.loading != nil {
		c.loading.Stop()
	}
	c.pending.letGo()
	lost := c.encode()
	lost = append(lost, c.output.drop()...)
	why = c.why
	c.mu.Unlock()
	c.undelivered(lost)
	c.srv.forget(c)
	if why.worthLogging() && c.srv.logNow(why) {
		c.srv.opts.Log.Warn("client closed", "reason", why.String(), "id", c.id, "peer", c.peer)
	}
}

// linger closes a socket so that its last reply arrives: closing it with unread
// input would reset the connection and take the reply with it.
func linger(nc net.Conn, patience time.Duration) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	nc.SetReadDeadline(time.Now().Add(patience))
	io.CopyN(io.Discard, nc, lingerBytes)
}

const (
	lingerTime     = time.Second
	lingerTimeDown = 50 * time.Millisecond // idle clients of a pool do not look
	lingerBytes    = 1 << 20
)

// Gone reports that the client has left: nothing may be leased to it.
func (c *conn) Gone() bool { return c.gone.Load() }

// Left reports that the client has left, also if that is not read yet.
func (c *conn) Left() bool {
	if !c.Gone() && c.output.raw.hungUp() {
		c.leave() // as its end may be behind more than is read while a pop waits
	}
	return c.Gone()
}

// Deliver takes over an answered call.
func (c *conn) Deliver(call *shard.Call) {
	c.mu.Lock()
	bad := !c.pending.deliver(call) && !c.ended
	if c.ended {
		c.pending.letGo()
	}
	if bad {
		c.abortLocked(closedInternal)
	}
	c.mu.Unlock()
	if bad {
		c.srv.panicked("delivery", "a call was delivered out of order", nil)
	}
}

// Flush writes what was delivered, as far as it goes without blocking.
func (c *conn) Flush() {
	c.mu.Lock()
	lost := c.encode()
	c.send()
	c.unpark()
	c.mu.Unlock()
	c.undelivered(lost)
}

// undelivered gives the jobs of lost replies back. Not called with mu held.
func (c *conn) undelivered(lost []*shard.Call) {
	if len(lost) == 0 {
		return
	}
	sh := *c.srv.shard.Load()
	for _, call := range lost {
		sh.Undelivered(call)
	}
}
