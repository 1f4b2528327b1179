package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	cycleBatch = 100 // jobs per add, pop and ack
	// Delays are spread over this range, each magnitude as often as any other:
	// 188 ms on average. A load cannot exceed inflight / average delay, so 100 k in
	// flight allow 530 k jobs/s; spread evenly (0.5 s) they would allow 200 k.
	cycleDueMin = 5 * time.Millisecond
	cycleDueMax = time.Second
	// cycleFill is warm-up on top: until the first jobs are due and the producers
	// have reached the bound.
	cycleFill = 2 * time.Second
	// cycleRateMax bounds the memory of the ledger.
	cycleRateMax = 500_000
	cycleDrain   = 15 * time.Second
)

// cycleLoad is producers that add as fast as inflight lets them, and workers
// that pop and ack as fast as jobs fall due.
type cycleLoad struct {
	producers int
	workers   int
	inflight  int // added and not yet acked, at most
	round     int
	warmup    time.Duration
	length    time.Duration
}

// cycleDelays is the table that delays are drawn from.
func cycleDelays() []time.Duration {
	delays := make([]time.Duration, 1024)
	for i := range delays {
		x := float64(i) / float64(len(delays)-1)
		delays[i] = time.Duration(float64(cycleDueMin) * math.Pow(float64(cycleDueMax)/float64(cycleDueMin), x))
	}
	return delays
}

// measureCycle reports acked jobs per second, then lets everything drain and
// counts what came early, twice or not at all.
func measureCycle(ctx context.Context, srv *server, load cycleLoad) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, load.warmup+load.length+cycleDrain+roundTimeout)
	defer cancel()
	consumers, producers := newCrew(ctx), newCrew(ctx)
	defer consumers.stop()
	defer producers.stop()

	capacity := int((load.warmup+load.length).Seconds()*cycleRateMax) + load.inflight
	book := newLedger(load.round, capacity)
	free := make(chan struct{}, load.inflight/cycleBatch) // a token per batch that may be added
	for range cap(free) {
		free <- struct{}{}
	}
	w := newWindow(load.warmup, load.length)

	var inWindow, settled atomic.Int64 // settled: of all workers, in and out of the window
	for range load.workers {
		worker, err := newWorker(consumers.ctx, srv, cycleBatch, true)
		if err != nil {
			return sample{}, err
		}
		consumers.start(func(context.Context) error {
			return worker.run(func(at time.Time, jobs []delivery) {
				for _, j := range jobs {
					book.take(j, at)
				}
			}, func(at time.Time, jobs, acked int) {
				book.settle(jobs, acked)
				if w.holds(at) {
					inWindow.Add(int64(acked))
				}
				all := settled.Add(int64(jobs))
				for range all/cycleBatch - (all-int64(jobs))/cycleBatch {
					select {
					case free <- struct{}{}:
					default: // doubles: more acks than adds
					}
				}
			})
		})
	}

	delays := cycleDelays()
	var next, added atomic.Int64
	for i := range load.producers {
		c, err := dial(producers.ctx, srv.addr)
		if err != nil {
			return sample{}, err
		}
		d, p := srv.dialect(), new(payloads)
		random := rand.New(rand.NewPCG(uint64(load.round), uint64(i)))
		producers.start(func(ctx context.Context) error {
			dues := make([]int64, cycleBatch)
			end := time.NewTimer(time.Until(w.to))
			defer end.Stop()
			for {
				select {
				case <-end.C:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				case <-free:
				}
				first := next.Add(cycleBatch) - cycleBatch
				if first+cycleBatch > int64(capacity) {
					return fmt.Errorf("more than %d jobs/s: raise cycleRateMax", cycleRateMax)
				}
				now := time.Now()
				if !now.Before(w.to) {
					return nil
				}
				for i := range dues {
					dues[i] = now.Add(delays[random.IntN(len(delays))]).UnixMilli()
				}
				c.out = d.addMany(c.out[:0], p, firstSeq(load.round)+uint64(first), dues)
				if err := c.send(); err != nil {
					return err
				}
				n, err := d.addedMany(c, len(dues))
				if err != nil {
					return err
				}
				if n != len(dues) {
					return errNotAdded
				}
				added.Add(int64(n))
			}
		})
	}

	server, client, err := w.cpu(consumers.ctx, srv.pid())
	if perr := producers.wait(); perr != nil {
		return sample{}, perr
	}
	for deadline := time.Now().Add(cycleDrain); err == nil && book.settled.Load() < added.Load() && time.Now().Before(deadline); {
		err = sleepUntil(consumers.ctx, time.Now().Add(5*time.Millisecond))
	}
	if cerr := consumers.stop(); cerr != nil {
		return sample{}, cerr
	}
	if err != nil {
		return sample{}, err
	}
	s := sample{PerSecond: float64(inWindow.Load()) / w.seconds()}
	s.perMillion(server, client, inWindow.Load())
	book.close(&s, added.Load())
	return s, nil
}
