package server

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"dqd/commands"
	"dqd/server/resp"
)

// waitFor says what run waits for before it executes the next command.
type waitFor uint8

const (
	waitNothing waitFor = iota
	waitEmpty           // all earlier calls answered
	waitExec            // the same, or the last of them is an EXEC whose local commands must run
	waitRoom            // unanswered calls and unread output below their bounds
	waitShard           // the shard serves
)

// batchMax is the number of commands after which replies and calls move on.
const batchMax = 128

// parse executes the complete commands that were received, as far as it may.
// It returns false when no more shall be read.
func (c *conn) parse() bool {
	if !c.proceed() {
		return true
	}
	for {
		if !c.framed {
			frame, ok, err := c.framer.Next(c.in.unparsed())
			if err != nil {
				c.srv.counters.protocolErrors.Add(1)
				c.finalReply(commands.Error(err.Error()))
				return false
			}
			if !ok {
				return c.commit()
			}
			c.frame, c.framed, c.partial = frame, true, time.Time{}
		}
		if len(c.batch) >= c.quota || c.bytes >= c.srv.opts.OutputPause {
			if !c.commit() {
				return false
			}
		}
		if len(c.batch) == 0 {
			if c.quota = c.room(); c.quota <= 0 {
				return c.setWait(waitRoom)
			}
		}
		need, stop := c.execute()
		if stop {
			c.commit()
			return false
		}
		if need != waitNothing {
			return c.commit() && c.setWait(need)
		}
		if n := len(c.batch); n > 0 && c.batch[n-1].alone { // rule 4
			need := waitEmpty
			if c.batch[n-1].multi != nil {
				need = waitExec
			}
			return c.commit() && c.setWait(need)
		}
	}
}

// proceed reports whether what run waits for has come.
func (c *conn) proceed() bool {
	c.mu.Lock()
	met, held := c.met(c.waits), c.pending.held()
	if met {
		c.waits = waitNothing
	}
	c.mu.Unlock()
	if met && held {
		c.runLater()
	}
	return met
}

// execute runs the framed command: its reply or call goes to the batch. If it
// has to wait, it says for what and stays framed.
func (c *conn) execute() (need waitFor, stop bool) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.panicked("command", p, debug.Stack())
			c.framed = false
			c.add(entry{reply: errInternal, done: true, last: true})
			stop = true
		}
	}()
	args, err := resp.Parse(c.frame, c.in.unparsed()[:c.frame.Len], c.argSpace(c.frame.Args))
	if err != nil {
		c.srv.counters.protocolErrors.Add(1)
		c.add(entry{reply: commands.Error(err.Error()), done: true, last: true})
		return waitNothing, true
	}
	if len(args) > 0 {
		need, stop = c.dispatch(args)
		if need != waitNothing {
			return need, false
		}
	}
	c.keepArgs(args)
	c.in.take(c.frame.Len)
	c.framed = false
	return waitNothing, stop
}

// setWait notes what run waits for. It returns true.
func (c *conn) setWait(w waitFor) bool {
	c.mu.Lock()
	c.waits = w
	c.mu.Unlock()
	return true
}

// ready reports whether a command that needs w may run.
func (c *conn) ready(w waitFor) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.met(w)
}

// met is ready with mu held.
func (c *conn) met(w waitFor) bool {
	switch w {
	case waitEmpty:
		return c.pending.empty()
	case waitExec:
		return c.pending.empty() || c.pending.held()
	case waitRoom:
		return c.roomLocked() > 0
	case waitShard:
		return c.late || c.srv.shard.Load() != nil
	}
	return true
}

// room returns how many commands may be executed before the bounds are looked at again.
func (c *conn) room() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roomLocked()
}

func (c *conn) roomLocked() int {
	o := &c.srv.opts
	if c.pending.bytes >= o.PendingBytes || c.output.unread() >= o.OutputPause {
		return 0
	}
	return min(batchMax, o.PendingCalls-c.pending.len())
}

// argSpace returns room for n arguments that stay until their call is answered.
func (c *conn) argSpace(n int) [][]byte {
	if !c.argsKept(n) {
		return make([][]byte, 0, n)
	}
	if cap(c.args)-len(c.args) < n {
		c.args, c.argsLent = make([][]byte, 0, argsKeep), false
	}
	return c.args[len(c.args):len(c.args):cap(c.args)]
}

// keepArgs takes the arguments out of the room of argSpace.
func (c *conn) keepArgs(args [][]byte) {
	if n := len(args); n > 0 && c.argsKept(n) {
		c.args = c.args[:len(c.args)+n]
	}
}

// argsKept reports whether the n arguments of the command go into the common room, where
// they stay until it is used again: not those of a large command, which would hold it.
func (c *conn) argsKept(n int) bool {
	return n <= argsKeep/4 && !c.frame.Inline && c.frame.Len <= chunkMax
}

// argsKeep is the number of arguments that are allocated together.
const argsKeep = 64

// add puts an executed command into the batch.
func (c *conn) add(e entry) {
	e.mute = e.mute || c.replies.mute() && !e.last
	e.bytes += c.frame.Len
	c.batch = append(c.batch, e)
	c.bytes += e.bytes
}

// commit moves the batch on: replies to the output, calls to the shard. It
// returns false if the connection has ended or shall end.
func (c *conn) commit() bool {
	if len(c.batch) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.ended && !c.quit
	}
	calls := c.calls[:0]
	c.mu.Lock()
	if c.ended { // what was not submitted never will be
		c.mu.Unlock()
		c.clearBatch()
		return false
	}
	now := time.Now()
	for i := range c.batch {
		e := &c.batch[i]
		if e.call != nil {
			e.begun = now.Sub(c.srv.started)
			calls = append(calls, e.call)
		}
		c.pending.push(*e)
	}
	c.srv.counters.commands.Add(int64(len(c.batch)))
	c.info.active = now
	c.info.commands += int64(len(c.batch))
	if row := c.batch[len(c.batch)-1].row; row != nil {
		c.info.latest = row.name
	}
	c.info.multi = c.multi.len()
	lost := c.encode()
	c.send()
	goOn := !c.ended && !c.quit
	c.mu.Unlock()
	if len(calls) > 0 {
		(*c.srv.shard.Load()).Submit(calls)
		clear(calls)
		c.calls = calls[:0]
	}
	c.undelivered(lost)
	c.clearBatch()
	return goOn
}

func (c *conn) clearBatch() {
	clear(c.batch)
	c.batch, c.bytes = c.batch[:0], 0
	if cap(c.batch) > pendingKeep {
		c.batch, c.calls = nil, nil
	}
}

// finalReply is the last one: what follows is not read.
func (c *conn) finalReply(r commands.Reply) {
	c.add(entry{reply: r, done: true, last: true})
	c.commit()
}

// fill reads, or waits until the next command may run. It returns false when
// there will be nothing more.
func (c *conn) fill() bool {
	c.mu.Lock()
	for c.waits != waitNothing && !c.met(c.waits) && !c.ended && !c.quit {
		if !c.eof && len(c.in.unparsed()) < c.srv.opts.StalledInput {
			break
		}
		c.wake.Wait()
	}
	if c.ended || c.quit || c.eof && c.waits == waitNothing {
		c.mu.Unlock()
		return false
	}
	if c.waits != waitNothing && c.met(c.waits) {
		c.mu.Unlock()
		return true
	}
	free := c.pending.empty()
	if free && !c.argsLent {
		c.args = c.args[:0]
	}
	c.parked = c.waits != waitNothing && (len(c.in.unparsed()) > 0 || c.waits == waitExec)
	room := c.in.room(max(c.framer.Need(), c.frameNeed()), free && !c.in.lent)
	c.chunk = cap(c.in.chunk)
	c.queued = c.multi.size()
	c.charge()
	c.setReadDeadline()
	c.mu.Unlock()

	n, err := c.nc.Read(room)
	c.in.received(n, len(room))
	c.srv.counters.reads.Add(1)
	c.srv.counters.netIn.Add(int64(n))

	c.mu.Lock()
	c.parked = false
	kicked := c.kicked
	idle := c.idle()
	quit := c.quit || c.ended
	stuck := c.pending.blocked || c.waits == waitShard
	c.mu.Unlock()
	switch {
	case quit:
		return false
	case err == nil || kicked && errors.Is(err, os.ErrDeadlineExceeded):
		return true
	case errors.Is(err, io.EOF):
		// The client may have closed its sending side only and still read, so
		// what it sent is answered; but a pop would be a job for nobody, which the
		// shard refuses, and nobody waits for what stands behind a pop that waits or a start.
		c.eof = true
		c.leave()
		return !stuck
	case errors.Is(err, os.ErrDeadlineExceeded):
		switch {
		case !c.partial.IsZero():
			c.abort(closedCommandTimeout)
		case idle:
			c.abort(closedIdle)
		default: // it was answered meanwhile, or the time-out changed
			return true
		}
	default:
		c.abort(closedByPeer)
	}
	return false
}

// idle reports whether the client has sent nothing and waited for nothing for as
// long as the setting timeout allows. Called with mu held.
func (c *conn) idle() bool {
	timeout := c.srv.live.Load().Timeout
	return timeout > 0 && c.pending.empty() && time.Since(c.info.active) >= timeout
}

// frameNeed is the size of a command that was framed and waits.
func (c *conn) frameNeed() int {
	if c.framed {
		return c.frame.Len
	}
	return 0
}

// setReadDeadline grants an unfinished command its time, and lifts what kick
// did. The rest of the time a connection may be silent, as long as the setting
// timeout says. Called with mu held.
func (c *conn) setReadDeadline() {
	var deadline time.Time
	switch timeout := c.srv.live.Load().Timeout; {
	case c.waits == waitNothing && c.framer.Started():
		if c.partial.IsZero() {
			c.partial = time.Now()
		}
		deadline = c.partial.Add(c.srv.opts.CommandTimeout)
	case timeout > 0 && c.pending.empty():
		deadline = c.info.active.Add(timeout)
	case timeout > 0: // what it waits for may come long before
		deadline = time.Now().Add(timeout)
	}
	if c.kicked || deadline != c.deadline {
		c.nc.SetReadDeadline(deadline)
		c.kicked, c.deadline = false, deadline
	}
}
