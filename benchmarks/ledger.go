package main

import (
	"sync/atomic"
	"time"
)

// A ledger knows the n jobs of one round and what became of them. All methods
// may be called by many workers at once.
type ledger struct {
	first uint64
	seen  []atomic.Uint64 // one bit per job

	received atomic.Int64 // different jobs delivered
	early    atomic.Int64 // delivered before due; also jobs that only wait
	double   atomic.Int64 // delivered again
	strange  atomic.Int64 // not of this round
	settled  atomic.Int64 // acks answered, well or not
	unacked  atomic.Int64 // acks that the server did not take
}

func newLedger(round, n int) *ledger {
	return &ledger{first: firstSeq(round), seen: make([]atomic.Uint64, (n+63)/64)}
}

// take notes a delivery: false when it is none of this round's.
func (l *ledger) take(j delivery, received time.Time) bool {
	if received.UnixNano() < j.dueMs*1e6 {
		l.early.Add(1)
	}
	n := j.seq - l.first
	if n/64 >= uint64(len(l.seen)) {
		l.strange.Add(1)
		return false
	}
	bit := uint64(1) << (n % 64)
	if l.seen[n/64].Or(bit)&bit != 0 {
		l.double.Add(1)
	} else {
		l.received.Add(1)
	}
	return true
}

// settle notes the answer to an ack of taken jobs.
func (l *ledger) settle(taken, acked int) {
	l.unacked.Add(int64(taken - acked))
	l.settled.Add(int64(taken))
}

// close fills the counts, once all workers have stopped; added is how many jobs
// the server accepted.
func (l *ledger) close(s *sample, added int64) {
	s.Early, s.Unacked = l.early.Load(), l.unacked.Load()
	s.Double = l.double.Load() + l.strange.Load() // a job of another round was delivered there
	s.Lost = added - l.received.Load()
}
