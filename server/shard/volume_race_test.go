//go:build race

package shard_test

// The race detector learns nothing from more of the same, and takes ten times as long.
const volume = 10
