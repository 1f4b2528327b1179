package main

import (
	"context"
	"errors"
	"time"
)

// idleJobs wait during the idle case, so that a timer is set.
const idleJobs = 1000

var errNotIdle = errors.New("a job that is due in hours was delivered")

// measureIdle reports the CPU of a server while workers wait for jobs that do
// not come.
func measureIdle(ctx context.Context, srv *server, workers int, warmup, length time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, warmup+length+roundTimeout)
	defer cancel()
	crew := newCrew(ctx)
	defer crew.stop()
	for range workers {
		worker, err := newWorker(crew.ctx, srv, latenessBatch, false)
		if err != nil {
			return sample{}, err
		}
		crew.start(func(context.Context) error {
			return worker.run(func(time.Time, []delivery) { crew.fail(errNotIdle) }, func(time.Time, int, int) {})
		})
	}
	w := newWindow(warmup, length)
	server, _, err := w.cpu(crew.ctx, srv.pid())
	if cerr := crew.stop(); cerr != nil {
		return sample{}, cerr
	}
	if err != nil {
		return sample{}, err
	}
	return sample{BusyCPU: server / w.seconds() * 100}, nil
}
