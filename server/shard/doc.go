// Package shard runs one Raft group's queue: the actor that decides.
//
// Requests gather in the inbox while an entry commits; at the boundary the actor
// evaluates them in order against committed state plus the batch so far, seals
// the effects into one entry and proposes it. Every answer of the actor leaves
// with its batch, so no answer overtakes what it saw.
package shard
