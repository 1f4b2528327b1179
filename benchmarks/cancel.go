package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// cancelLoad is connections that cancel waiting jobs in random order, each in a
// closed loop, until the time or the jobs are over.
type cancelLoad struct {
	conns    int
	pipeline int
	jobs     int // waiting: numbers 0 to jobs-1
	round    int
	warmup   time.Duration
	length   time.Duration
}

var errNotCancelled = errors.New("the cancel of a waiting job was not answered with 1")

// cancelCase gives every round fresh servers, loaded with jobs.
func cancelCase(conns, pipeline int, bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, round int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			if err := b.load(ctx, srv, 0, b.loaded); err != nil {
				return sample{}, err
			}
			return measureCancels(ctx, srv, cancelLoad{conns: conns, pipeline: pipeline, jobs: b.loaded, round: round, warmup: b.warmup, length: b.length()})
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// measureCancels reports cancels per second, and the time a pipeline takes.
func measureCancels(ctx context.Context, srv *server, load cancelLoad) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, load.warmup+load.length+roundTimeout)
	defer cancel()
	crew := newCrew(ctx)
	defer crew.stop()

	order := rand.New(rand.NewPCG(uint64(load.round), 0)).Perm(load.jobs)
	cancellers := make([]*canceller, load.conns)
	hists := make([]*hdrhistogram.Histogram, load.conns)
	for i := range cancellers {
		c, err := dial(crew.ctx, srv.addr)
		if err != nil {
			return sample{}, err
		}
		hists[i] = newHist()
		cancellers[i] = &canceller{c: c, d: srv.dialect(), due: srv.farDue, hist: hists[i]}
	}
	w := newWindow(load.warmup, load.length)
	var next atomic.Int64
	for _, c := range cancellers {
		crew.start(func(context.Context) error { return c.run(order, &next, load.pipeline, w) })
	}
	server, client, err := w.cpu(crew.ctx, srv.pid())
	if werr := crew.wait(); werr != nil {
		return sample{}, werr
	}
	if err != nil {
		return sample{}, err
	}
	var cancels int64
	last := w.from
	for _, c := range cancellers {
		cancels += c.cancels
		if c.last.After(last) {
			last = c.last
		}
	}
	if cancels == 0 {
		return sample{}, fmt.Errorf("the %d loaded jobs were cancelled before the warm-up was over: raise -loaded", load.jobs)
	}
	s := sample{PerSecond: float64(cancels) / last.Sub(w.from).Seconds()} // less than the window, where the jobs ran out
	s.percentiles(merged(hists))
	s.perMillion(server, client, cancels)
	return s, nil
}

// A canceller is one connection that cancels.
type canceller struct {
	c       *conn
	d       dialect
	p       payloads
	due     func(n int) int64
	cancels int64     // answered within the window
	last    time.Time // when
	hist    *hdrhistogram.Histogram
}

// run cancels the jobs of order; next is the first one that nobody has begun with.
func (a *canceller) run(order []int, next *atomic.Int64, pipeline int, w window) error {
	for start := time.Now(); ; {
		to := next.Add(int64(pipeline))
		if to > int64(len(order)) {
			return nil
		}
		b := a.c.out[:0]
		for _, n := range order[to-int64(pipeline) : to] {
			b = a.d.cancel(b, &a.p, farSeq(n), a.due(n))
		}
		a.c.out = b
		if err := a.c.send(); err != nil {
			return err
		}
		for range pipeline {
			n, err := a.c.integer()
			if err != nil {
				return err
			}
			if n != 1 {
				return errNotCancelled
			}
		}
		end := time.Now()
		if w.holds(end) {
			a.cancels += int64(pipeline)
			a.last = end
			record(a.hist, end.Sub(start))
		} else if !end.Before(w.to) {
			return nil
		}
		start = end
	}
}
