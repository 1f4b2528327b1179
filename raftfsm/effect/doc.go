// Package effect is the log format: what a shard's leader decided, as effects
// that every replica applies blindly, without reading its state.
//
// An entry is a header (shard, epoch, sequence, cluster time, counters), effects
// in order, and a CRC. New commands need no new effect: jobs, whose index keys
// are derived by package record, have two kinds; all the rest is set, delete and
// delete-range of a key.
//
// The package is pure. Entry and record decoders are fuzzed.
//
//	batch.go    Batch: the leader writes an entry
//	entry.go    the byte tables, Decode: everybody reads it
//	apply.go    Apply: the fence, and what an effect does to the store
package effect
