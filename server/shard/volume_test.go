//go:build !race

package shard_test

// volume is what tests of a volume of data divide their number of jobs by.
const volume = 1
