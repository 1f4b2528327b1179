package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	latenessLead  = time.Second          // a job is added this long before it is due
	latenessTick  = 5 * time.Millisecond // the producer sends what one tick holds as one pipeline
	latenessBatch = 100                  // jobs per pop, at most
	latenessDrain = 15 * time.Second     // after the last due, before a job counts as lost
)

// latenessLoad is an open loop: the due instants are fixed before it begins,
// rate per second, on whole milliseconds; a server that falls behind does not
// slow the schedule down.
type latenessLoad struct {
	rate    int
	workers int
	round   int
	warmup  time.Duration // dues in it do not count
	length  time.Duration
}

// schedule is the due of each job, in ms since t0.
func (l latenessLoad) schedule() []int64 {
	n := int((l.warmup + l.length).Seconds() * float64(l.rate))
	offsets := make([]int64, n)
	for i := range offsets {
		offsets[i] = int64(i) * 1000 / int64(l.rate)
	}
	return offsets
}

// measureLateness reports the time from a job's due to its arrival at a worker.
func measureLateness(ctx context.Context, srv *server, load latenessLoad) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, load.warmup+load.length+latenessDrain+roundTimeout)
	defer cancel()
	consumers, producer := newCrew(ctx), newCrew(ctx)
	defer consumers.stop()
	defer producer.stop()

	offsets := load.schedule()
	book := newLedger(load.round, len(offsets))
	// The first due is far enough away for the workers to be waiting by then.
	t0 := time.Now().Add(latenessLead + 500*time.Millisecond).Truncate(time.Millisecond)
	t0Ms := t0.UnixMilli()
	w := window{t0.Add(load.warmup), t0.Add(load.warmup + load.length)}
	fromMs := w.from.UnixMilli()

	var inWindow atomic.Int64
	hists := make([]*hdrhistogram.Histogram, load.workers)
	for i := range hists {
		worker, err := newWorker(consumers.ctx, srv, latenessBatch, false)
		if err != nil {
			return sample{}, err
		}
		h := newHist()
		hists[i] = h
		consumers.start(func(context.Context) error {
			return worker.run(func(at time.Time, jobs []delivery) {
				for _, j := range jobs {
					if !book.take(j, at) || j.dueMs < fromMs {
						continue
					}
					record(h, at.Sub(time.UnixMilli(j.dueMs)))
					if w.holds(at) {
						inWindow.Add(1)
					}
				}
			}, func(_ time.Time, jobs, acked int) { book.settle(jobs, acked) })
		})
	}

	var late atomic.Int64
	c, err := dial(producer.ctx, srv.addr)
	if err != nil {
		return sample{}, err
	}
	producer.start(func(ctx context.Context) error {
		n, err := produce(ctx, c, srv.dialect(), load.round, t0Ms, offsets)
		late.Store(n)
		return err
	})

	server, client, err := w.cpu(consumers.ctx, srv.pid())
	if perr := producer.wait(); perr != nil {
		return sample{}, fmt.Errorf("producer: %w", perr)
	}
	n := int64(len(offsets))
	for deadline := w.to.Add(latenessDrain); err == nil && book.settled.Load() < n && time.Now().Before(deadline); {
		err = sleepUntil(consumers.ctx, time.Now().Add(5*time.Millisecond))
	}
	if cerr := consumers.stop(); cerr != nil {
		return sample{}, cerr
	}
	if err != nil {
		return sample{}, err
	}
	s := sample{PerSecond: float64(inWindow.Load()) / w.seconds(), LateAdds: late.Load()}
	s.percentiles(merged(hists))
	s.perMillion(server, client, inWindow.Load())
	book.close(&s, n)
	return s, nil
}

// produce adds every job latenessLead before its due and returns how many were
// acknowledged only after it.
func produce(ctx context.Context, c *conn, d dialect, round int, t0Ms int64, offsets []int64) (late int64, err error) {
	p := new(payloads)
	for i := 0; i < len(offsets); {
		tickEnd := (offsets[i]/latenessTick.Milliseconds() + 1) * latenessTick.Milliseconds()
		if err := sleepUntil(ctx, time.UnixMilli(t0Ms+offsets[i]).Add(-latenessLead)); err != nil {
			return late, err
		}
		first := i
		c.out = c.out[:0]
		for ; i < len(offsets) && offsets[i] < tickEnd; i++ {
			c.out = d.addAt(c.out, p, firstSeq(round)+uint64(i), t0Ms+offsets[i])
		}
		if err := c.send(); err != nil {
			return late, err
		}
		for j := first; j < i; j++ {
			ok, err := d.added(c)
			if err != nil {
				return late, err
			}
			if !ok {
				return late, errNotAdded
			}
		}
		nowMs := time.Now().UnixMilli()
		for j := first; j < i; j++ {
			if nowMs > t0Ms+offsets[j] {
				late++
			}
		}
	}
	return late, nil
}
