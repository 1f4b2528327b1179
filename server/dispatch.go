package server

import (
	"bytes"
	"time"

	"dqd/commands"
	"dqd/server/shard"
)

var (
	replyPong    = commands.Status("PONG")
	errNoAuth    = commands.Error("NOAUTH Authentication required.")
	errLoading   = commands.Error("LOADING dqd is loading its data in memory")
	errUnblocked = commands.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")
)

// dispatch runs one command, or says what it has to wait for first. The job
// commands become calls; the others are answered here.
func (c *conn) dispatch(args [][]byte) (need waitFor, stop bool) {
	if c.frame.Inline && isHTTP(args) {
		// A browser that was talked into it; what follows may be anything.
		c.abort(closedHTTP)
		return waitNothing, true
	}
	if !c.authed {
		row, err := commands.Find(args)
		if err == nil && !row.Has("no_auth") {
			err = errNoAuth
		}
		if err != nil {
			return waitNothing, c.refuse(row, c.refusal(row, err))
		}
	}
	row, request, err := commands.Parse(args, c.srv.opts.Arguments)
	if c.multi != nil && !(c.multi.refused && !c.authed && logsIn(request)) {
		return c.inMulti(row, request, args, err)
	}
	if err != nil {
		return waitNothing, c.refuse(row, c.refusal(row, err))
	}

	switch request.(type) {
	case *commands.Multi:
		c.multi = &transaction{}
		return waitNothing, c.answer(row, commands.OK)
	case *commands.Exec:
		return waitNothing, c.answer(row, commands.ErrExecAlone)
	case *commands.Discard:
		return waitNothing, c.answer(row, commands.ErrDiscardAlone)
	case *commands.Watch:
		return waitNothing, c.answer(row, commands.ErrWatch)
	}
	if reply := c.simple(request); reply != nil {
		return waitNothing, c.answer(row, reply)
	}
	if _, ok := request.(*commands.Backup); ok && c.srv.shard.Load() == nil {
		return c.loadingFor(row) // until then the store lacks what the log has
	}
	if answersItself(request) {
		return c.alone(row, request, args)
	}
	return c.call(row, request, args)
}

// simple answers a command that depends on nothing that an earlier one may change; nil =
// it is another one.
func (c *conn) simple(request commands.Request) commands.Reply {
	switch r := request.(type) {
	case *commands.Ping:
		if r.Message == nil {
			return replyPong
		}
		return commands.Bulk(r.Message)
	case *commands.Echo:
		return commands.Bulk(r.Message)
	case *commands.Select, *commands.Unwatch:
		return commands.OK
	case *commands.Time:
		return c.srv.time()
	}
	return nil
}

// answersItself tells what the server answers itself from what goes to the shard.
func answersItself(request commands.Request) bool {
	switch request.(type) {
	case *commands.Ping, *commands.Echo, *commands.Select, *commands.Unwatch, *commands.Time,
		*commands.Hello, *commands.Auth, *commands.Quit, *commands.Reset,
		*commands.Client, *commands.Info, *commands.Config, *commands.CommandQuery, *commands.Help,
		*commands.SlowLog, *commands.Latency, *commands.Memory, *commands.Cluster,
		*commands.Role, *commands.Wait, *commands.ReadOnly, *commands.Shutdown, *commands.Backup:
		return true
	}
	return false
}

// alone runs a local command when all earlier ones are answered (rule 3), and
// moves its reply on, which may be a large one.
func (c *conn) alone(row *commands.Command, request commands.Request, args [][]byte) (need waitFor, stop bool) {
	if c.commit(); !c.ready(waitEmpty) {
		return waitEmpty, false
	}
	c.mu.Lock()
	c.info.latest = row.Name // CLIENT LIST shows itself
	c.mu.Unlock()
	begun := c.srv.clock()
	e := entry{reply: c.answerLocal(request), row: c.srv.rows[row], args: args, done: true}
	e.took = c.srv.clock() - begun
	switch request.(type) {
	case *commands.Quit:
		e.last = true
	case *commands.Shutdown: // the end of the connection is the answer
		_, refused := e.reply.(commands.Error)
		e.last, e.mute = !refused, !refused
	}
	c.add(e)
	return waitNothing, !c.commit() || e.last
}

// answerLocal runs a command that concerns the connection or the process.
func (c *conn) answerLocal(request commands.Request) commands.Reply {
	switch r := request.(type) {
	case *commands.Hello:
		return c.hello(r)
	case *commands.Auth:
		return c.auth(r)
	case *commands.Quit:
		return commands.OK
	case *commands.Reset:
		return c.reset()
	case *commands.Client:
		return c.client(r)
	case *commands.Info:
		return c.srv.info(r)
	case *commands.Config:
		return c.srv.config(r)
	case *commands.CommandQuery:
		return commands.CommandReply(r)
	case *commands.Help:
		return commands.HelpReply(r)
	case *commands.SlowLog:
		return c.srv.slowlog(r)
	case *commands.Latency:
		return c.srv.latencyReply(r)
	case *commands.Memory:
		return c.srv.memory(r)
	case *commands.Cluster:
		return c.cluster(r)
	case *commands.Role:
		return commands.Array{commands.Bulk("master"), commands.Int(0), commands.Array{}}
	case *commands.Wait: // nobody else has a copy; what was answered is on this disk
		if r.Local {
			return commands.Array{commands.Int(1), commands.Int(0)}
		}
		return commands.Int(0)
	case *commands.ReadOnly:
		return commands.OK
	case *commands.Shutdown:
		return c.shutdown(r)
	case *commands.Backup:
		return c.backupPiece(r)
	}
	panic("server: no local command")
}

// answer replies to the framed command. It returns false: the connection goes on.
func (c *conn) answer(row *commands.Command, r commands.Reply) (stop bool) {
	c.add(entry{reply: r, row: c.srv.rows[row], done: true})
	return false
}

// refuse replies with an error that came before anything was tried.
func (c *conn) refuse(row *commands.Command, err commands.Error) (stop bool) {
	c.add(entry{reply: err, row: c.srv.rows[row], bad: true, done: true})
	return false
}

// call makes a call to the shard.
func (c *conn) call(row *commands.Command, request commands.Request, args [][]byte) (need waitFor, stop bool) {
	if c.srv.shard.Load() == nil {
		return c.loadingFor(row)
	}
	if c.unheard(request) {
		return waitNothing, c.answer(row, errUnheard)
	}
	pop, isPop := request.(*commands.Pop)
	blocks := isPop && pop.Block > 0
	if blocks && cap(c.in.chunk) > chunkMin && !c.frame.Inline {
		// It may wait for long: let it not keep a large chunk.
		row, request, _ = commands.Parse(cloneArgs(args), c.srv.opts.Arguments)
		args = nil
	}
	c.in.lent, c.argsLent = true, true
	c.add(entry{
		call:  &shard.Call{Request: request, Client: c, Size: c.frame.Len},
		row:   c.srv.rows[row],
		args:  args,
		block: blocks,
		alone: blocks || commands.ReadsMuch(request) || commands.Slices(request),
	})
	return waitNothing, false
}

// loadingFor makes a command wait for the shard, or refuses it when that took too long.
func (c *conn) loadingFor(row *commands.Command) (need waitFor, stop bool) {
	if !c.loadingOver() {
		return waitShard, false
	}
	c.add(entry{reply: errLoading, row: c.srv.rows[row], done: true, last: true})
	return waitNothing, true
}

// loadingOver reports whether the wait for the shard has lasted long enough; the
// first time it starts the clock.
func (c *conn) loadingOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loading == nil {
		c.loading = time.AfterFunc(c.srv.opts.LoadingWait, func() {
			c.mu.Lock()
			c.late = true
			c.unpark()
			c.mu.Unlock()
		})
	}
	return c.late
}

// isHTTP recognises the first line of an HTTP request, or a later one.
func isHTTP(args [][]byte) bool {
	switch {
	case bytes.EqualFold(args[0], []byte("post")), bytes.EqualFold(args[0], []byte("host:")):
		return true
	case bytes.EqualFold(args[0], []byte("get")):
		return len(args) >= 3 && bytes.HasPrefix(args[2], []byte("HTTP/"))
	}
	return false
}

// cloneArgs copies arguments out of the read buffer.
func cloneArgs(args [][]byte) [][]byte {
	n := 0
	for _, a := range args {
		n += len(a)
	}
	buf := make([]byte, 0, n)
	clone := make([][]byte, len(args))
	for i, a := range args {
		begin := len(buf)
		buf = append(buf, a...)
		clone[i] = buf[begin:len(buf):len(buf)]
	}
	return clone
}

// time is the reply of TIME: seconds and microseconds, as bulk strings.
func (s *Server) time() commands.Reply {
	us := s.opts.Wall() / 1000
	return commands.Array{bulkInt(us / 1e6), bulkInt(us % 1e6)}
}
