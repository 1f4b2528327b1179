package server

import (
	"net"
	"runtime/debug"
	"syscall"
	"time"

	"dqd/commands"
	"dqd/server/resp"
	"dqd/server/shard"
)

// output holds the encoded replies that the kernel has not taken yet. All of it
// is guarded by the connection's mu.
type output struct {
	w     resp.Writer
	begin int // of w.Buf: what lies before it was taken
	// appended and taken count bytes over the life of the connection.
	appended, taken uint64
	// marks are the replies with jobs that were not taken whole.
	marks []mark
	// writing says that a writer goroutine is at work: only it writes.
	writing bool
	raw     *rawWriter // nil = the socket cannot be written without blocking
	over    bool       // the last reply was encoded; what follows is dropped
}

// mark says that call's reply is taken once end bytes are.
type mark struct {
	end  uint64
	call *shard.Call
}

const (
	outputKeep  = 4 << 10  // capacity that an idle connection keeps
	outputPiece = 64 << 10 // what one write time-out is granted for
)

func (o *output) init(nc net.Conn) {
	if sc, ok := nc.(syscall.Conn); ok {
		o.raw = newRawWriter(sc)
	}
}

// unread is the number of bytes that wait for the client.
func (o *output) unread() int { return len(o.w.Buf) - o.begin }

// settled reports that everything was written.
func (o *output) settled() bool { return !o.writing && o.unread() == 0 }

// took accounts for n bytes that the kernel took.
func (o *output) took(n int) {
	o.begin += n
	o.taken += uint64(n)
	i := 0
	for i < len(o.marks) && o.marks[i].end <= o.taken {
		i++
	}
	if i == len(o.marks) {
		o.marks = nil
	} else {
		o.marks = o.marks[i:]
	}
	switch {
	case o.begin == len(o.w.Buf):
		o.begin = 0
		if o.w.Buf = o.w.Buf[:0]; cap(o.w.Buf) > outputKeep {
			o.w.Buf = nil
		}
	case o.begin >= outputPiece && o.begin > len(o.w.Buf)/2:
		n := copy(o.w.Buf, o.w.Buf[o.begin:])
		o.w.Buf, o.begin = o.w.Buf[:n], 0
	}
}

// drop forgets what was not taken and returns the calls whose jobs were in it.
func (o *output) drop() (lost []*shard.Call) {
	for _, m := range o.marks {
		lost = append(lost, m.call)
	}
	o.marks, o.w.Buf, o.begin, o.over = nil, nil, 0, true
	return lost
}

// encode turns the answered entries at the head of pending into bytes. It
// returns calls that bore jobs and cannot be written. Called with mu held.
func (c *conn) encode() (lost []*shard.Call) {
	o := &c.output
	var now time.Time
	for {
		e, ok := c.pending.pop()
		if !ok {
			break
		}
		reply := e.answer()
		if e.call != nil {
			if now.IsZero() {
				now = time.Now()
				c.info.active = now
			}
			e.took = now.Sub(c.srv.started) - e.begun
		}
		c.account(&e, reply)
		e.multi.count(reply)
		if c.ended || o.over {
			if carriesJobs(reply) {
				lost = append(lost, e.call)
			}
			continue
		}
		if !e.mute {
			if o.unread() > c.srv.opts.OutputPause {
				c.send()
			}
			before := len(o.w.Buf)
			c.write(reply)
			o.appended += uint64(len(o.w.Buf) - before)
			if carriesJobs(reply) {
				o.marks = append(o.marks, mark{o.appended, e.call})
			}
		}
		if e.last || isLastReply(reply) {
			o.over = true
			if !c.quit {
				c.quit = true
				c.kick()
			}
		}
	}
	if c.pending.blocked != c.counted {
		c.counted = c.pending.blocked
		if c.counted {
			c.srv.counters.blocked.Add(1)
		} else {
			c.srv.counters.blocked.Add(-1)
		}
	}
	return lost
}

// account counts an answered command and notes it if it took long. A pop that may
// wait is not measured: its time is that of its jobs. Called with mu held.
func (c *conn) account(e *entry, reply commands.Reply) {
	s := c.srv
	if err, ok := reply.(commands.Error); ok && err != shard.ErrGone {
		s.errors.count(err)
	}
	if e.row == nil {
		return
	}
	e.row.count(reply)
	switch {
	case e.bad:
		e.row.refused.Add(1)
		return
	case e.block:
		return
	}
	if e.args != nil { // else it is one of the simplest, and was not measured
		e.row.times.add(e.took)
	}
	s.latency.note(latencyCommand, int64(e.took))
	// What may bear a password is not logged, not even cut.
	if slower := s.live.Load().SlowerThan; slower >= 0 && e.took >= slower && !e.row.row.Has("no_auth") && !e.row.row.Has("skip_slowlog") {
		s.slow.add(slowEntry{
			at: s.opts.Wall() / 1e9, took: e.took, args: e.row.row.Logged(e.args), peer: c.peer, name: c.info.name,
		})
	}
}

// write encodes one reply. A reply that cannot be encoded is a bug: it becomes an
// internal error, and the last reply.
func (c *conn) write(r commands.Reply) {
	o := &c.output
	before := len(o.w.Buf)
	defer func() {
		if p := recover(); p != nil {
			c.srv.panicked("reply", p, debug.Stack())
			o.w.Buf = o.w.Buf[:before]
			o.w.Error(string(errInternal))
			o.over, c.quit = true, true
			c.kick()
		}
	}()
	o.w.Limit = o.begin + c.srv.live.Load().OutputBuffer
	r.WriteReply(&o.w)
	if o.w.Overflow {
		o.w.Buf = o.w.Buf[:before] // a part of a reply is none
		c.abortLocked(closedOutput)
	}
}

// send writes what can be written without blocking and leaves the rest to a
// writer goroutine. Called with mu held.
func (c *conn) send() {
	o := &c.output
	if o.writing || o.unread() == 0 || c.ended {
		c.charge()
		return
	}
	if o.raw != nil {
		n, err := o.raw.write(o.w.Buf[o.begin:])
		o.took(n)
		c.srv.wrote(n)
		if err != nil {
			c.abortLocked(closedByPeer)
			return
		}
	}
	if o.unread() > 0 {
		o.writing = true
		c.srv.clients.Go(c.writeRest)
	}
	c.charge()
}

// writeRest is the writer goroutine: it runs while there is output that the
// socket did not take at once.
func (c *conn) writeRest() {
	o := &c.output
	c.mu.Lock()
	for !c.ended && o.unread() > 0 {
		piece := o.w.Buf[o.begin:min(o.begin+outputPiece, len(o.w.Buf))]
		c.mu.Unlock()
		c.nc.SetWriteDeadline(time.Now().Add(c.srv.opts.WriteTimeout))
		n, err := c.nc.Write(piece)
		c.srv.wrote(n)
		c.mu.Lock()
		o.took(n)
		c.charge()
		if err != nil {
			c.abortLocked(closedBecause(err))
		}
		c.unpark()
	}
	if !c.ended {
		c.nc.SetWriteDeadline(time.Time{})
	}
	o.writing = false
	c.wake.Broadcast()
	c.mu.Unlock()
}

// charge books the connection's buffers against what all clients may hold.
// Called with mu held. A connection that has ended books nothing any more: what
// it held was taken off the books by who ended it.
func (c *conn) charge() {
	if c.ended {
		return
	}
	now := int64(c.chunk + c.queued + c.pending.bytes + cap(c.output.w.Buf))
	was := c.charged.Load()
	if d := now - was; d > -chargeStep && d < chargeStep && now > 0 {
		return
	}
	c.charged.Store(now)
	c.srv.budget.add(now - was)
}

// chargeStep keeps small changes off the shared counter.
const chargeStep = 8 << 10

// carriesJobs reports whether r hands out jobs.
func carriesJobs(r commands.Reply) bool {
	switch r.(type) {
	case *commands.Deliveries:
		return true
	case commands.Results:
		return commands.DeliveriesIn(r) != nil
	}
	return false
}

// isLastReply reports an error on which clients send their whole pipeline again.
// To keep what stood behind it from running twice, such an error ends the
// connection.
func isLastReply(r commands.Reply) bool {
	e, ok := r.(commands.Error)
	if !ok {
		return false
	}
	for i := 0; i < len(e); i++ {
		if e[i] == ' ' {
			e = e[:i]
			break
		}
	}
	switch e {
	case "TRYAGAIN", "LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN":
		return true
	}
	return false
}
