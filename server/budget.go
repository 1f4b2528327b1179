package server

import (
	"context"
	"sync/atomic"
)

// budget bounds the buffers of all clients together. Connections book what they
// hold; beyond the limit a goroutine closes the largest, one at a time, until the
// rest fits. It is a goroutine because a connection books under its own lock.
type budget struct {
	limit atomic.Int64
	used  atomic.Int64
	over  chan struct{} // a place for one signal
}

func newBudget() *budget { return &budget{over: make(chan struct{}, 1)} }

func (b *budget) setLimit(n int64) {
	b.limit.Store(n)
	b.signal()
}

func (b *budget) add(n int64) {
	if b.used.Add(n) > b.limit.Load() && n > 0 {
		b.signal()
	}
}

// signal has the goroutine look.
func (b *budget) signal() {
	select {
	case b.over <- struct{}{}:
	default:
	}
}

// enforce is the goroutine; it ends with ctx.
func (b *budget) enforce(ctx context.Context, largest func() *conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.over:
		}
		for b.used.Load() > b.limit.Load() {
			c := largest()
			if c == nil {
				break
			}
			// Its memory goes with its goroutine; the books are right at once,
			// so that the next one is not closed for the same bytes.
			c.abort(closedMemory)
			b.used.Add(-c.charged.Swap(0))
		}
	}
}
