// Package commands is the wire contract as code: one file and one table row per command.
//
// A command translates, it does not act. Parse turns RESP arguments into a
// request value (bad input ends here, before the log); the shard, or the server
// for connection commands, answers the request with a Reply; the Reply writes
// itself as RESP2 or RESP3. COMMAND, arity, key position, ACL categories, the
// command reference and per-command counters all come from the row.
//
// The package is pure: no clock, no goroutine, no I/O, no randomness.
package commands
