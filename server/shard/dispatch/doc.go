// Package dispatch holds what a shard's leader keeps in memory to serve on time:
// the window of coming wake-ups, the heads of the ready indexes, and the waiting
// pops. All of it is a cache of hints: the store alone says what is true, every
// hint is checked against the job's record before it acts, and everything can be
// dropped at any time and rebuilt by a bounded forward scan (invariant I14).
//
// What must never happen is a hint that is missing. Each type states the
// invariant that rules it out.
//
// The package is pure: time is an argument, it starts nothing and reads nothing.
package dispatch
