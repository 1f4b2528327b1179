package worker

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxPop is how many jobs a pop may ask for.
const maxPop = 1000

// takeJobs pops whenever there is room and starts what it gets, until ctx ends or
// an error comes that no repetition mends.
func (r *runner) takeJobs(ctx context.Context) error {
	var pause backoff
	trouble := trouble{log: r.Log, what: "take jobs"}
	for {
		room := r.room(ctx)
		if room == 0 {
			return nil
		}
		asked := time.Now()
		jobs, err := r.pop(min(room, maxPop))
		received := time.Now()
		if err != nil && standingOf(err) == hopeless {
			r.Metrics.failed("pop")
			r.Log.Error("cannot work: the server refuses, and another try would not mend it", "err", err)
			return err
		}
		trouble.note(err)
		if err != nil {
			r.Metrics.failed("pop")
			pause.wait(ctx)
			continue
		}
		if len(jobs) == 0 && received.Sub(asked) < block/2 {
			// A server that stops, or an operator, lets no pop wait.
			pause.wait(ctx)
			continue
		}
		pause = backoff{}
		r.mu.Lock()
		r.free -= len(jobs)
		r.mu.Unlock()
		for _, j := range jobs {
			r.work.Add(1)
			r.Metrics.took(j)
			if ctx.Err() != nil {
				// It came on the way out.
				go r.settle(j, givenBack(j))
				continue
			}
			handling, cancel := context.WithCancelCause(r.handling)
			t := &task{Job: j, cancel: cancel}
			r.hold(t, received)
			go r.handle(handling, t)
		}
	}
}

// room waits until there are places for jobs, and returns how many; 0 = ctx has
// ended.
func (r *runner) room(ctx context.Context) int {
	for ctx.Err() == nil {
		r.mu.Lock()
		free := r.free
		r.mu.Unlock()
		if free > 0 {
			return free
		}
		select {
		case <-r.freed:
		case <-ctx.Done():
		}
	}
	return 0
}

// release frees the place of a job that is settled.
func (r *runner) release() {
	r.mu.Lock()
	r.free++
	r.mu.Unlock()
	wake(r.freed)
	r.work.Done()
}

// pop waits for jobs and returns up to n of them; none after some seconds.
func (r *runner) pop(n int) ([]*Job, error) {
	order := r.shares.order()
	command := []any{"DQMPOP", len(order)}
	for _, i := range order {
		command = append(command, r.Queues[i].Name)
	}
	command = append(command, "COUNT", n, "BLOCK", ms(block), "WORKER", r.Name, "FULL")
	if r.Lease > 0 {
		command = append(command, "LEASE", ms(r.Lease))
	}
	// Not with the context of Run: what the server has leased must be heard of.
	reply, err := r.pops.Do(r.calls, command...).Slice()
	var jobs []*Job
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return nil, err
	default:
		if jobs, err = readJobs(reply); err != nil {
			return nil, err
		}
	}
	r.shares.served(order, jobs)
	return jobs, nil
}

// unblock tells the server that the pop need not wait any longer, until it has
// been answered: an UNBLOCK that overtakes its pop changes nothing.
func (r *runner) unblock(popped <-chan struct{}) {
	for {
		if id := r.popsID.Load(); id != 0 {
			r.rdb.ClientUnblock(r.calls, id)
		}
		if within(firstPause, popped) || r.calls.Err() != nil {
			return
		}
	}
}
