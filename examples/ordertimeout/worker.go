package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Worker takes orders whose time is over and handles them, one by one.
type Worker struct {
	name   string
	shop   *Shop
	rdb    *redis.Client
	handle func(context.Context, Job) error
}

// Job is a delivered job.
type Job struct {
	ID      string
	Payload string
	Token   int64 // names this lease; needed to finish the job
	Attempt int64 // 1 for the first delivery
}

// errCrash ends a worker as a crash would: the job is not given back.
var errCrash = errors.New("crashed")

// NewWorker returns a worker with a connection of its own.
func NewWorker(name string, shop *Shop, server *redis.Options) *Worker {
	options := *server
	// A blocking pop is longer than go-redis waits for an answer, and must not
	// be sent again: each one takes a job.
	options.ContextTimeoutEnabled = true
	options.ReadTimeout = -1
	options.MaxRetries = -1
	w := &Worker{name: name, shop: shop, rdb: redis.NewClient(&options)}
	w.handle = w.cancelOrder
	return w
}

// Run works until ctx ends or something fails.
func (w *Worker) Run(ctx context.Context) error {
	defer w.rdb.Close()
	for ctx.Err() == nil {
		job, err := w.pop(ctx)
		if errors.Is(err, redis.Nil) {
			continue // nothing was due
		}
		if err != nil {
			return err
		}
		switch err := w.handle(ctx, job); {
		case errors.Is(err, errCrash):
			return err
		case errors.Is(err, errUnknown):
			// No attempt will ever succeed: dead. DQPEEK … STATE DEAD shows it.
			w.rdb.Do(ctx, "DQNACK", w.shop.queue, job.ID, job.Token, "DEAD", "REASON", err.Error())
			continue
		case err != nil:
			// Give it back: it comes again after its BACKOFF. A worker that
			// cannot even do that loses it when its lease runs out.
			w.rdb.Do(ctx, "DQNACK", w.shop.queue, job.ID, job.Token, "REASON", err.Error())
			continue
		}
		if err := w.ack(ctx, job); err != nil {
			return err
		}
		w.shop.onSettled()
	}
	return ctx.Err()
}

// pop waits for the next order whose time is over.
func (w *Worker) pop(ctx context.Context) (Job, error) {
	reply, err := w.rdb.Do(ctx, "DQPOP", w.shop.queue, "BLOCK", "4s", "WORKER", w.name).Slice()
	if err != nil {
		return Job{}, err
	}
	// One tuple a job: queue, id, payload, token, attempt, due.
	tuple, ok := reply[0].([]any)
	if !ok || len(tuple) < 6 {
		return Job{}, fmt.Errorf("DQPOP answered %v", reply)
	}
	var job Job
	job.ID, _ = tuple[1].(string)
	job.Payload, _ = tuple[2].(string)
	job.Token, _ = tuple[3].(int64)
	job.Attempt, _ = tuple[4].(int64)
	return job, nil
}

// cancelOrder does the work. It may be called twice for one order, after a
// crash; doing it twice must be as good as doing it once.
func (w *Worker) cancelOrder(_ context.Context, job Job) error {
	if err := w.shop.Cancel(job.ID, job.Token); err != nil {
		return err
	}
	fmt.Printf("%s is not paid: cancelled by %s, attempt %d\n", job.ID, w.name, job.Attempt)
	return nil
}

// ack says that the job is done. 0 means that the lease had run out and another
// worker has the job now, who will find it done.
func (w *Worker) ack(ctx context.Context, job Job) error {
	return w.rdb.Do(ctx, "DQACK", w.shop.queue, job.ID, job.Token).Err()
}
