// Package server is the network side of dqd: connections, the commands that
// concern a connection, the process as INFO and CONFIG show it, metrics.
//
// One goroutine per connection reads, frames and parses. It never waits for an
// answer: calls go into the connection's pending list and to the shard, and the
// goroutine goes back to Read, so that a client that leaves is seen at once. The
// shard's completer hands the answers back, encodes them and tries one write; a
// socket that does not take all of it gets a writer goroutine until it does.
//
// The package decides nothing about jobs. It must not block the shard: Deliver
// and Flush hold a connection's lock and one non-blocking write at most.
//
// Reading order: options.go, server.go, accept.go, conn.go, reading.go, input.go,
// dispatch.go, pending.go, output.go; then session.go, client.go, config.go,
// info.go, slowlog.go, latency.go, memory.go, cluster.go, backup.go, metrics.go and http.go,
// which answer.
package server
