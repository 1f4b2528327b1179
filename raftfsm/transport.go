package raftfsm

import "github.com/hashicorp/raft"

// transport keeps raft's asynchronous heartbeat handler from ever running. That
// handler may raise the term on the connection's goroutine while the main thread,
// still leader of the old term, stamps its entry with the new one; then two
// different entries have the same index and term (hashicorp/raft #695). Without
// the handler heartbeats come through Consumer, to the main thread.
//
// The embedded type brings pre-vote along, which raft would else switch off in silence.
type transport struct{ *raft.InmemTransport }

var _ raft.WithPreVote = transport{}

// SetHeartbeatHandler ignores the handler.
func (transport) SetHeartbeatHandler(func(raft.RPC)) {}

func newTransport(address raft.ServerAddress) transport {
	_, t := raft.NewInmemTransport(address)
	return transport{t}
}
