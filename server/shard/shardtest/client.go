package shardtest

import (
	"sync"

	"dqd/commands"
	"dqd/server/shard"
)

// Client keeps the replies that a shard delivers to it.
type Client struct {
	// OnDeliver, if not nil, is called with each call that the shard answers, before
	// Replies has it.
	OnDeliver func(*shard.Call)
	// HasLeft says that the client has left, and nobody has noticed.
	HasLeft bool

	mu      sync.Mutex
	gone    bool
	replies []*shard.Call
}

// Do parses and submits one command; the reply comes out of Replies. A command
// that does not parse is answered at once. It returns the call, which is one of Replies later.
func (c *Client) Do(s *shard.Shard, args ...string) *shard.Call {
	argv := make([][]byte, len(args))
	for i, a := range args {
		argv[i] = []byte(a)
	}
	call := &shard.Call{Client: c}
	for _, a := range args {
		call.Size += len(a)
	}
	if _, r, err := commands.Parse(argv, commands.DefaultLimits()); err != nil {
		call.Reply = commands.Error(err.Error())
	} else {
		call.Request = r
		s.Submit([]*shard.Call{call})
		return call
	}
	c.Deliver(call)
	return call
}

// Exec parses and submits commands as one transaction. If one does not parse, that is
// answered at once. It returns the call.
func (c *Client) Exec(s *shard.Shard, queued ...[]string) *shard.Call {
	t := &commands.Transaction{}
	call := &shard.Call{Client: c, Request: t}
	for _, args := range queued {
		argv := make([][]byte, len(args))
		for i, a := range args {
			argv[i] = []byte(a)
			call.Size += len(a)
		}
		row, r, err := commands.Parse(argv, commands.DefaultLimits())
		if err == nil {
			err = commands.CheckQueued(row, r, len(t.Commands)+1, call.Size)
		}
		if err != nil {
			call.Request, call.Reply = nil, commands.ErrExecAborted
			c.Deliver(call)
			return call
		}
		if pop, ok := r.(*commands.Pop); ok {
			pop.Block = 0
		}
		t.Commands = append(t.Commands, commands.Queued{Name: row.Name, Request: r})
	}
	s.Submit([]*shard.Call{call})
	return call
}

// Replies returns the calls answered since the last time.
func (c *Client) Replies() []*shard.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.replies
	c.replies = nil
	return r
}

// Leave makes the client gone.
func (c *Client) Leave(s *shard.Shard) {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	s.ClientGone(c)
}

// Gone implements shard.Client.
func (c *Client) Gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Left implements shard.Client.
func (c *Client) Left() bool { return c.Gone() || c.HasLeft }

// Deliver implements shard.Client.
func (c *Client) Deliver(call *shard.Call) {
	if c.OnDeliver != nil && call.Request != nil {
		c.OnDeliver(call)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = append(c.replies, call)
}

// Flush implements shard.Client.
func (c *Client) Flush() {}
