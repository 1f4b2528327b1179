package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dqd/commands"
)

// clientInfo is what CLIENT LIST shows and CLIENT SET… sets. Guarded by the
// connection's mu.
type clientInfo struct {
	name, libName, libVer      string
	noEvict, noTouch, tracking bool
	active                     time.Time // of the latest command or reply
	commands                   int64
	latest                     string // the latest command's name
	multi                      int    // queued commands; -1 = there is no MULTI
}

const errNoClient = commands.Error("ERR No such client")

// client is CLIENT.
func (c *conn) client(r *commands.Client) commands.Reply {
	switch r.Sub {
	case "id":
		return commands.Int(c.id)
	case "info":
		return commands.Bulk(c.line())
	case "list":
		return c.srv.clientList(&r.Filter)
	case "kill":
		return c.kill(&r.Filter)
	case "unblock":
		return c.srv.unblock(r)
	case "reply":
		return c.setReplies(r.Info)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Sub {
	case "getname":
		if c.info.name == "" {
			return commands.Null{}
		}
		return commands.Bulk(c.info.name)
	case "setname":
		c.info.name = string(r.Name)
	case "setinfo":
		if r.Info == "lib-name" {
			c.info.libName = string(r.Name)
		} else {
			c.info.libVer = string(r.Name)
		}
	case "no-evict":
		c.info.noEvict = r.On
	case "no-touch":
		c.info.noTouch = r.On
	case "tracking": // nothing is ever cached, so nothing is ever invalidated
		c.info.tracking = r.On
	default:
		panic("server: no CLIENT " + r.Sub)
	}
	return commands.OK
}

// setReplies is CLIENT REPLY. OFF and SKIP are themselves not answered.
func (c *conn) setReplies(mode string) commands.Reply {
	switch mode {
	case "on":
		c.replies = replyMode{}
	case "off":
		c.replies = replyMode{off: true}
	case "skip":
		if !c.replies.off {
			c.replies.skip = 2
		}
	}
	return commands.OK
}

// clientList is CLIENT LIST.
func (s *Server) clientList(f *commands.ClientFilter) commands.Reply {
	var b strings.Builder
	for _, c := range s.connections() {
		if c.fits(f) {
			b.WriteString(c.line())
		}
	}
	return commands.Bulk(b.String())
}

// kill is CLIENT KILL. A connection that kills itself gets its answer first.
func (c *conn) kill(f *commands.ClientFilter) commands.Reply {
	n := 0
	for _, other := range c.srv.connections() {
		if other == c && f.SkipMe || !other.fits(f) {
			continue
		}
		other.mu.Lock()
		if !other.ended { // it may not be forgotten yet
			n++
		}
		if other == c {
			c.quit = true
		} else {
			other.abortLocked(closedKilled)
		}
		other.mu.Unlock()
	}
	switch {
	case !f.Old:
		return commands.Int(n)
	case n == 0:
		return errNoClient
	}
	return commands.OK
}

// unblock is CLIENT UNBLOCK.
func (s *Server) unblock(r *commands.Client) commands.Reply {
	c, sh := s.connection(r.ID), s.shard.Load()
	if c == nil || sh == nil {
		return commands.Int(0)
	}
	c.mu.Lock()
	blocked := c.pending.blocked
	c.mu.Unlock()
	if !blocked {
		return commands.Int(0)
	}
	var answer commands.Reply = commands.NullArray{}
	if r.Error {
		answer = errUnblocked
	}
	(*sh).Unblock(c, answer)
	return commands.Int(1)
}

// fits reports whether all conditions of f fit.
func (c *conn) fits(f *commands.ClientFilter) bool {
	switch {
	case len(f.IDs) > 0 && !slices.Contains(f.IDs, c.id),
		f.Type != "" && f.Type != "normal",
		f.User != nil && string(f.User) != "default",
		f.Addr != nil && string(f.Addr) != c.peer,
		f.LAddr != nil && string(f.LAddr) != c.local,
		f.MaxAge > 0 && int64(time.Since(c.since)/time.Second) < f.MaxAge:
		return false
	}
	return true
}

// line describes the connection as CLIENT LIST does.
func (c *conn) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	flags := ""
	if c.pending.blocked {
		flags += "b"
	}
	if c.info.tracking {
		flags += "t"
	}
	if c.info.noEvict {
		flags += "e"
	}
	if c.info.noTouch {
		flags += "T"
	}
	if c.info.multi >= 0 {
		flags += "x"
	}
	if flags == "" {
		flags = "N"
	}
	latest := c.info.latest
	if latest == "" {
		latest = "NULL"
	}
	o := &c.output
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d watch=0 "+
		"qbuf=%d qbuf-free=0 argv-mem=%d multi-mem=0 obl=0 oll=%d omem=%d tot-mem=%d events=r cmd=%s user=default redir=-1 resp=%d "+
		"lib-name=%s lib-ver=%s tot-cmds=%d\n",
		c.id, c.peer, c.local, c.info.name,
		time.Since(c.since)/time.Second, time.Since(c.info.active)/time.Second, flags, c.info.multi,
		c.chunk, c.pending.bytes, c.pending.len(), o.unread(), c.charged.Load(), latest, c.protocol(),
		c.info.libName, c.info.libVer, c.info.commands)
}
