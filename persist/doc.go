// Package persist keeps a shard's state and its Raft log on disk. It is the only
// package that names Pebble.
//
//	state.go      State: the state store, without a write-ahead log of its own
//	log.go        Log: the Raft log, which is the write-ahead log of both
//	waltail.go    the check that the log's write-ahead file ends in a torn write, not in damage
//	walmarker.go  what the check goes by: the newest file's name, and a witness in each record
//	synced.go     how many synced writes the log must have, in a small file
//	recent.go     the log's cache of recent entries
//	fault.go      what happens when a write or a sync fails: the process ends
//	loud.go       which errors of the system count as such, and where they are heard
//	pause.go      merges of tables that find no room wait
//	rest.go       flushes and merges rest, so that whoever serves need not wait
//	reclaim.go    the room of what was deleted, given back at once
//	ballast.go    a file that holds disk space, for a full disk
//	readonly.go   looking at a folder without changing it
//	tables.go     every block of a store's tables against its checksum
//	files.go      file systems, permissions, small files written whole
//	lock_*.go     a lock that does not touch the file
//	verify.go     Verify: the whole-store check
//	record/       keys and values; pure
//
// What the two stores promise each other:
//
//  1. An entry is acknowledged after Log.Append returned, that is after its fsync.
//  2. The state store holds, after any crash, exactly the entries up to its
//     applied record: batches are written in order, the record is in each of them,
//     and Pebble recovers a prefix of them.
//  3. The log drops only what the state store has flushed before.
//
// It must never retry a failed fsync, never skip a damaged entry, and never
// close the state without flushing it: there is no other copy of what stands in
// its memtables.
package persist
