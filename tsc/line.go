package tsc

import (
	"math/bits"
	"sync/atomic"
)

// line turns counts into ns: base + (count - from) * mult / 2^48, good for the
// next limit counts. Beyond, or before from, the counter cannot be trusted (it
// jumped, or whoever renews the line does not run) and the OS clock is asked.
type line struct {
	from  uint64 // counts
	base  int64  // ns
	mult  uint64 // ns per count, in units of 2^-48; never a float64, whose ulp is 256 ns here
	limit uint64 // counts; 0 = the counter is not in use
}

const multBits = 48

func (l line) at(count uint64) (ns int64, ok bool) {
	d := count - l.from
	return l.value(d), d < l.limit
}

func (l line) value(d uint64) int64 {
	hi, lo := bits.Mul64(d, l.mult)
	return l.base + int64(hi<<(64-multBits)|lo>>multBits)
}

// outside returns the time when count is not on the line: os, but no less than
// what the line may have shown.
func (l line) outside(count uint64, os int64) int64 {
	if int64(count-l.from) < 0 {
		return max(os, l.base)
	}
	return max(os, l.value(l.limit))
}

// sharedLine is a line that one goroutine renews and all read: a seqlock
// (Lameter, "Effective Synchronization on Linux/NUMA Systems", 2005), with
// atomic loads, which cost nothing on amd64 and please the race detector.
type sharedLine struct {
	seq   atomic.Uint32 // odd while the line is being written
	from  atomic.Uint64
	base  atomic.Int64
	mult  atomic.Uint64
	limit atomic.Uint64
}

// load returns the line, or false if it was being written.
func (s *sharedLine) load() (l line, seq uint32) {
	seq = s.seq.Load()
	return line{s.from.Load(), s.base.Load(), s.mult.Load(), s.limit.Load()}, seq
}

// valid reports whether the line loaded with seq was whole, and is the current one.
func (s *sharedLine) valid(seq uint32) bool { return seq%2 == 0 && s.seq.Load() == seq }

// renew replaces the line with one that next makes from it. Readers wait
// meanwhile: what next reads from the counter is later than what any of them
// read with the old line, so that lines which meet there never run backwards.
func (s *sharedLine) renew(next func(old line) line) {
	old, seq := s.load()
	s.seq.Store(seq + 1)
	l := next(old)
	s.from.Store(l.from)
	s.base.Store(l.base)
	s.mult.Store(l.mult)
	s.limit.Store(l.limit)
	s.seq.Store(seq + 2)
}
