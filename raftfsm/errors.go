package raftfsm

import "errors"

// What Node.Propose reports of an entry that was not applied.
var (
	// ErrNotProposed: the entry is certainly not in the log.
	ErrNotProposed = errors.New("not proposed: nothing was done")
	// ErrFenced: the entry is in the log but the fence refused it; it has no effect.
	ErrFenced = errors.New("fenced: nothing was done")
	// ErrInDoubt: the entry may or may not come into effect.
	ErrInDoubt = errors.New("in doubt: it may or may not come into effect")
	// ErrStopped: the node is shutting down; nothing was done.
	ErrStopped = errors.New("stopped: nothing was done")
)
