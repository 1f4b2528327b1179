package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"strconv"

	"dqd/commands"
)

// compatVersion is the Redis release whose habits clients may expect. They switch
// features on by it, so it is not dqd's version, which INFO shows beside it.
const compatVersion = "7.4.0"

const (
	errWrongPass  = commands.Error("WRONGPASS invalid username-password pair or user is disabled.")
	errNoPassword = commands.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	errHelloAuth  = commands.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
)

// replyMode is what CLIENT REPLY has set.
type replyMode struct {
	off  bool
	skip int // replies to leave out, the one of CLIENT REPLY SKIP among them
}

// mute tells whether the next reply is left out.
func (m *replyMode) mute() bool {
	if m.skip > 0 {
		m.skip--
		return true
	}
	return m.off
}

// errUnheard is the answer to a pop whose jobs nobody would see. It is counted, not heard.
const errUnheard = commands.Error("ERR CLIENT REPLY leaves the reply out, and the jobs with it: nothing was done, send CLIENT REPLY ON first")

// unheard reports that the next command is a pop whose reply is left out.
func (c *conn) unheard(request commands.Request) bool {
	_, pop := request.(*commands.Pop)
	return pop && (c.replies.off || c.replies.skip > 0)
}

// hello chooses the protocol. On any error nothing changes.
func (c *conn) hello(r *commands.Hello) commands.Reply {
	if r.HasAuth {
		if !c.srv.passes(r.User, r.Password) {
			return errWrongPass
		}
		c.authenticate(true)
	}
	if !c.authed {
		return errHelloAuth
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.HasName {
		c.info.name = string(r.Name)
	}
	if r.Proto != 0 {
		c.output.w.RESP3 = r.Proto == 3
	}
	return fields{
		{"server", commands.Bulk("redis")},
		{"version", commands.Bulk(compatVersion)},
		{"proto", commands.Int(c.protocol())},
		{"id", commands.Int(c.id)},
		{"mode", commands.Bulk(c.srv.mode())},
		{"role", commands.Bulk("master")},
		{"modules", commands.Array{}},
	}
}

// auth is AUTH.
func (c *conn) auth(r *commands.Auth) commands.Reply {
	if r.User == nil && !c.srv.hasPassword() {
		return errNoPassword
	}
	if !c.srv.passes(r.User, r.Password) {
		return errWrongPass
	}
	c.authenticate(true)
	return commands.OK
}

// passes checks a password of the only user, in a time that does not depend on
// the right one. Without a password the default user passes with any, as in Redis.
func (s *Server) passes(user, password []byte) bool {
	if user != nil && string(user) != "default" {
		s.counters.authFailures.Add(1)
		return false
	}
	if !s.hasPassword() {
		return true
	}
	given, want := sha256.Sum256(password), sha256.Sum256(*s.password.Load())
	ok := subtle.ConstantTimeCompare(given[:], want[:]) == 1
	if !ok {
		s.counters.authFailures.Add(1)
	}
	return ok
}

// reset makes the connection as it was when new; the library's name stays.
func (c *conn) reset() commands.Reply {
	c.authenticate(!c.srv.hasPassword())
	c.multi = nil
	c.replies = replyMode{}
	c.srv.backups.leave(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info.name = ""
	c.info.noEvict, c.info.noTouch, c.info.tracking = false, false, false
	c.output.w.RESP3 = false
	return commands.Status("RESET")
}

// shutdown is SHUTDOWN: the process is asked to end, and that ends this connection.
func (c *conn) shutdown(r *commands.Shutdown) commands.Reply {
	s := c.srv
	switch {
	case r.Abort:
		return commands.Error("ERR No shutdown in progress.")
	case s.opts.Stop == nil:
		return commands.Error("ERR Errors trying to SHUTDOWN: this server ends with the program that it is part of")
	}
	s.stop.Do(func() {
		s.opts.Log.Info("a client asks the server to end", "id", c.id, "peer", c.peer)
		s.opts.Stop()
	})
	return commands.OK
}

// protocol is 2 or 3. Called with mu held.
func (c *conn) protocol() int {
	if c.output.w.RESP3 {
		return 3
	}
	return 2
}

// fields is a reply that is a map in a fixed order.
type fields []field

type field struct {
	name  string
	value commands.Reply
}

// WriteReply appends the map to w.
func (f fields) WriteReply(w commands.Writer) {
	w.Map(len(f))
	for _, field := range f {
		w.BulkString(field.name)
		field.value.WriteReply(w)
	}
}

// bulkInt is a number as a bulk string.
func bulkInt(n int64) commands.Bulk { return strconv.AppendInt(nil, n, 10) }
