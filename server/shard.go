package server

import (
	"context"

	"dqd/commands"
	"dqd/server/shard"
)

// Shard is what the server needs of a shard. All methods return at once and may
// be called from any goroutine.
type Shard interface {
	// Submit hands over calls of one client, in order. The slice is the
	// caller's and is used again; the calls are the shard's until delivered.
	// Every call is delivered exactly once, also after ClientGone.
	Submit(calls []*shard.Call)
	// Unblock answers c's waiting pop with reply, if it still waits.
	Unblock(c shard.Client, reply commands.Reply)
	// ClientGone follows c.Gone turning true: a waiting pop ends before any
	// lease. Writes that c sent before it left may still take effect. It may
	// be called twice.
	ClientGone(c shard.Client)
	// Undelivered reports a call whose Deliveries reply did not reach the
	// socket: its jobs go back. It may be called from within Flush.
	Undelivered(c *shard.Call)
	// Gauges returns the shard's numbers, never nil.
	Gauges() *shard.Gauges
	// Survey looks at the largest queues. Unlike the others it waits, until ctx ends;
	// nil = there is none.
	Survey(ctx context.Context) *shard.Survey
}
