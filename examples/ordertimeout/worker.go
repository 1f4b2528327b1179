package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"dqd/worker"
)

// cancelUnpaid takes orders whose time is over and cancels them, until ctx ends.
func cancelUnpaid(ctx context.Context, name string, shop *Shop, server *redis.Options) error {
	return worker.Run(ctx, worker.Options{
		Redis:       server,
		Queues:      []worker.Queue{{Name: shop.queue}},
		Concurrency: 4,
		Name:        name,
		Handle: func(_ context.Context, job *worker.Job) error {
			// It may be called twice for one order, after a crash: doing it twice must
			// be as good as doing it once. The token is the fence, see Shop.Cancel.
			err := shop.Cancel(job.ID, job.Token)
			if errors.Is(err, errUnknown) {
				// No attempt will ever succeed. DQDEAD shows the job and the reason.
				return worker.Dead(err)
			}
			if err != nil {
				return err // it comes again after its BACKOFF
			}
			fmt.Printf("%s is not paid: cancelled by %s, attempt %d\n", job.ID, name, job.Attempt)
			shop.onSettled()
			return nil
		},
	})
}

// crash is a worker that takes one order of this run, and crashes: it neither
// cancels it nor gives it back. It is a process of its own, which does not return.
func crash(ctx context.Context, name, run, queue string, server *redis.Options) error {
	return worker.Run(ctx, worker.Options{
		Redis:  server,
		Queues: []worker.Queue{{Name: queue}},
		Name:   name,
		Handle: func(_ context.Context, job *worker.Job) error {
			if !strings.HasPrefix(job.ID, run) {
				return worker.Dead(errUnknown) // of an earlier run
			}
			fmt.Printf("%s is not paid: taken by %s, who crashes\n", job.ID, name)
			os.Exit(crashed)
			return nil
		},
	})
}

// crashed is the exit code of a worker that has crashed as it should.
const crashed = 3
