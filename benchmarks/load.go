package main

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	loadConns    = 4
	loadBatch    = 250 // jobs per command
	loadPipeline = 4   // commands per write
	// Jobs that wait are due between an hour and a day from now.
	loadDueMin = time.Hour
	loadDueMax = 24 * time.Hour
	// settleJobs is how many jobs keep a server busy after they were loaded.
	settleJobs = 10_000
)

// farDue is the due of waiting job number n, in ms: always the same on one
// server, evenly spread and in no order.
func (s *server) farDue(n int) int64 {
	spread := uint64(n) * 0x9e3779b97f4a7c15 >> 11 % uint64(loadDueMax-loadDueMin)
	return s.started.Add(loadDueMin + time.Duration(spread)).UnixMilli()
}

// farSeq is the seq of waiting job number n.
func farSeq(n int) uint64 { return firstSeq(farRound) + uint64(n) }

// load adds the waiting jobs number from up to to, and lets the server come to rest.
func (b *bench) load(ctx context.Context, srv *server, from, to int) error {
	return b.loadDue(ctx, srv, from, to, srv.farDue)
}

// loadDue is load with other due times, each of a job's number.
func (b *bench) loadDue(ctx context.Context, srv *server, from, to int, due func(n int) int64) error {
	crew := newCrew(ctx)
	defer crew.stop()
	start := time.Now()
	var next, done atomic.Int64
	next.Store(int64(from))
	for range loadConns {
		c, err := dial(crew.ctx, srv.addr)
		if err != nil {
			return err
		}
		l := loader{c: c, d: srv.dialect(), p: new(payloads), dues: make([]int64, loadBatch), due: due}
		crew.start(func(context.Context) error { return l.run(&next, &done, int64(to)) })
	}
	finished := make(chan struct{})
	go func() { // ends with the crew
		crew.wg.Wait()
		close(finished)
	}()
	for running := true; running; {
		select {
		case <-finished:
			running = false
		case <-time.After(10 * time.Second):
			b.logf("%s: %s of %s jobs loaded", srv.name, thousands(float64(done.Load())), thousands(float64(to-from)))
		}
	}
	if err := crew.wait(); err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	if to-from <= settleJobs {
		return nil
	}
	b.logf("%s: %s jobs loaded in %.1f s, %s/s", srv.name, thousands(float64(to-from)), seconds, thousands(float64(to-from)/seconds))
	return srv.settle(ctx)
}

// A loader is one connection that loads.
type loader struct {
	c    *conn
	d    dialect
	p    *payloads
	due  func(n int) int64
	dues []int64
}

func (l *loader) run(next, done *atomic.Int64, to int64) error {
	for {
		var sizes [loadPipeline]int
		l.c.out = l.c.out[:0]
		for i := range sizes {
			first := next.Add(loadBatch) - loadBatch
			n := min(loadBatch, to-first)
			if n <= 0 {
				break
			}
			sizes[i] = int(n)
			for j := range n {
				l.dues[j] = l.due(int(first + j))
			}
			l.c.out = l.d.addMany(l.c.out, l.p, farSeq(int(first)), l.dues[:n])
		}
		if sizes[0] == 0 {
			return nil
		}
		if err := l.c.send(); err != nil {
			return err
		}
		for _, n := range sizes {
			if n == 0 {
				break
			}
			added, err := l.d.addedMany(l.c, n)
			if err != nil {
				return err
			}
			if added != n {
				return errNotAdded
			}
			done.Add(int64(n))
		}
	}
}
