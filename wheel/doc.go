// Package wheel is a hierarchical timing wheel over absolute nanoseconds.
//
// It answers one question: which timers are due now, in order of due time, and
// when is the next one? It reads no clock and starts no goroutine: time comes
// in as an argument, what has expired goes out as a result. Callers keep their
// data in a table of their own, indexed by [ID].
//
// The scheme is "scheme 6/7" of Varghese and Lauck, "Hashed and Hierarchical
// Timing Wheels" (SOSP 1987), with the level taken from the top differing bit
// of due and cursor, as in tokio's wheel. A slot at level l spans 256^l ns:
//
//	level   slot spans   reached by
//	0       1 ns         fired in list order, no sorting
//	1       256 ns       \
//	2       65.5 µs       > short slot: handed over to the front; long: cascaded, early
//	3       16.8 ms      /
//	4       4.3 s        \
//	5       18.3 min      > cascaded one level down, a few timers per call,
//	6       3.3 days      > early if the slot is long
//	7       2.3 years    /
//
// What differs from the textbook, and why:
//
//   - Timers fire at their exact nanosecond, so a slot that is reached has to be
//     sorted. A short slot goes into a small heap, the front, where timers that
//     are added late for the same stretch of time join it at O(log n). A long
//     one (a thousand jobs for noon sharp) is never sorted: it is cascaded down
//     to slots of one nanosecond, whose lists are in order already.
//   - Every level is a ring of 512 slots, twice what one rotation needs. So the
//     next slot of the level above can be cascaded before its time comes, and a
//     slot with a million timers does not hold up the first of them.
//   - An entry is 12 bytes, due and ID, in a list of chunks: no pointers, so the
//     garbage collector never looks inside, and moving a slot's timers reads
//     memory in a row.
//   - Cancel touches nothing but 4 bytes in a table of generations. The entry
//     stays until its slot is moved, or until memory would grow and the dead
//     outnumber the pending: then Adds sweep, a chunk at a time. Doubly linked
//     lists, whose Cancel leaves nothing behind, were tried: some three
//     times as slow at a million timers, for their cache misses.
//
// A Wheel is not safe for concurrent use.
package wheel
