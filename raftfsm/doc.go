// Package raftfsm runs a shard's Raft group on the stores of package persist. It
// is the only package that names hashicorp/raft.
//
//	node.go        Node: open, close, stats
//	propose.go     proposals on their way to commit, answered in order
//	fsm.go         committed entries into the state store
//	snapshots.go   virtual snapshots: the state is flushed, a descriptor says how far
//	stores.go      raft's log and stable store on persist.Log
//	folder.go      the folder's layout, its creation
//	startup.go     what is refused at the start
//	transport.go   the transport, without raft's heartbeat fast path
//	logger.go      raft's messages into slog
//
// Four musts of hashicorp/raft v1.8.0:
//
//  1. Its heartbeat fast path must not run: see transport.go.
//  2. RestoreCommittedLogs must not be set: it loses the configuration, and
//     hangs above 128 batches.
//  3. An entry's bytes belong to raft and to the log once proposed: never reuse them.
//  4. NotifyCh must be drained by a goroutine that does nothing else.
package raftfsm
