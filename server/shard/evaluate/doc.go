// Package evaluate decides: it turns requests and wake-ups into effects and
// replies, against committed state plus the batches in flight and the one so far.
//
// Reading order: batch.go (the overlay and how it becomes an entry), state.go
// (every transition of a job), then one file per group of commands.
//
// The package is pure. Time is an argument (Now), committed state is the Store,
// and what it decides leaves as one sealed entry. Jobs are changed in the overlay
// only; at the seal each touched job becomes one effect from what the batch found to
// what it leaves, so that a job that becomes ready, is leased and acked
// within a batch costs no more than one that was only acked.
package evaluate
