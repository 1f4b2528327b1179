package shard

import "dqd/commands"

// Call is one request on its way through a shard.
type Call struct {
	Request commands.Request
	Client  Client
	// Size is the request's bytes, for the bound on what waits.
	Size int
	// Reply is set before Client.Deliver gets the call.
	Reply commands.Reply

	partly bool // it works in slices, and some may be in the log already
}

// Client is the connection that a call came from.
type Client interface {
	// Gone reports that the connection has ended: its waiting pop must get
	// nothing. Called on the shard's goroutine; must not block.
	Gone() bool
	// Left is Gone with a look at the connection itself: a client may have ended it,
	// and nobody has read of that yet. It is asked before a waiting pop gets a lease. Called
	// on the shard's goroutine; costs a system call; must not block.
	Left() bool
	// Deliver hands over an answered call. The calls of one client are
	// delivered in the order in which they were submitted. Must not block.
	Deliver(c *Call)
	// Flush is called after the last Deliver of a batch to this client; it
	// writes what can be written without blocking.
	Flush()
}
