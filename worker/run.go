package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Run takes jobs and hands them to the handler until ctx ends, or an error comes
// that no repetition mends. Then it takes no more, lets handlers come to their
// end, gives back what they did not finish, and returns.
//
// It returns nil if ctx ended and every handler has returned; else the error, or
// how many handlers did not end and run on. It ends within Grace and some seconds,
// whatever handlers and server do.
func Run(ctx context.Context, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	r := &runner{
		Options: o,
		shares:  newShares(o.Queues),
		free:    o.Concurrency,
		freed:   make(chan struct{}, 1),
		extend:  make(chan struct{}, 1),
		tasks:   map[*task]bool{},
	}
	r.pops, r.rdb = o.clients(func(ctx context.Context, c *redis.Conn) error {
		id, err := c.ClientID(ctx).Result()
		r.popsID.Store(id)
		return err
	})
	return r.run(ctx)
}

// runner is one call of Run.
type runner struct {
	Options
	pops   *redis.Client // one connection, which waits
	rdb    *redis.Client // all else
	popsID atomic.Int64  // the waiting connection's CLIENT ID

	handling context.Context // of handlers: ends with ErrStopped, some time after Run's
	calls    context.Context // of what is sent to the server: ends with Run

	shares *shares        // of the goroutine that pops
	freed  chan struct{}  // wakes it
	extend chan struct{}  // wakes the goroutine that extends leases
	work   sync.WaitGroup // jobs that are not settled

	mu         sync.Mutex     // guards what follows
	free       int            // places for jobs
	tasks      map[*task]bool // jobs whose handlers run
	nextExtend time.Time      // when the next lease is extended; zero = none
}

const (
	// parting is how long handlers have to return when their contexts are cancelled.
	parting = time.Second
	// lastCalls is how long the last acks and nacks may take after that.
	lastCalls = 2 * time.Second
)

func (r *runner) run(ctx context.Context) error {
	// Handlers see the values of ctx, but its end reaches them later.
	handling, stopHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	r.handling, r.calls = handling, calls

	var keeper sync.WaitGroup
	keeper.Go(r.keepLeases)
	var failed error
	popped, idle := make(chan struct{}), make(chan struct{})
	go func() {
		failed = r.takeJobs(ctx)
		close(popped)
		r.work.Wait()
		close(idle)
	}()
	defer func() {
		stopHandlers(ErrStopped)
		endCalls()
		r.pops.Close() // which ends what is still waited for
		r.rdb.Close()
		keeper.Wait()
	}()

	select {
	case <-ctx.Done():
		go r.unblock(popped)
	case <-popped:
	}
	r.mu.Lock()
	running := len(r.tasks)
	r.mu.Unlock()
	r.Log.Info("worker stops", "running", running, "grace", r.Grace)
	hung := 0
	if !within(r.Grace, idle) {
		stopHandlers(ErrStopped)
		if !within(parting, idle) {
			hung = r.takeBack()
			within(lastCalls, idle)
		}
	}

	var err error
	select {
	case <-popped:
		err = failed
	default: // it waits for a server that does not answer
	}
	if hung > 0 {
		err = errors.Join(err, fmt.Errorf("worker: %d handlers did not end within %v and run on; their jobs are given back", hung, r.Grace+parting))
	}
	return err
}

// within waits for c, or as long as d; it reports whether c came.
func within(d time.Duration, c <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// handle calls the handler for a job and settles the job by what it returns.
func (r *runner) handle(ctx context.Context, t *task) {
	began := time.Now()
	err := errGoexit
	defer func() {
		if v := recover(); v != nil {
			p := &panicked{v}
			err = p
			r.Metrics.panicked(t.Queue)
			r.Log.Error("the handler panics", "queue", t.Queue, "id", t.ID, "attempt", t.Attempt, "panic", p.Error(), "stack", string(debug.Stack()))
		}
		r.Metrics.handled(t.Queue, time.Since(began))
		s := settlementOf(ctx, t.Job, err)
		if r.drop(t) {
			r.settle(t.Job, s)
		}
		t.cancel(nil)
	}()
	err = r.Handle(ctx, t.Job)
}

// takeBack gives back the jobs whose handlers do not end, and returns how many.
func (r *runner) takeBack() (hung int) {
	r.mu.Lock()
	var tasks []*task
	for t := range r.tasks {
		tasks = append(tasks, t)
	}
	r.mu.Unlock()
	for _, t := range tasks {
		if r.drop(t) {
			hung++
			level, what := slog.LevelWarn, "a handler does not end: its job is given back"
			if t.lastAttempt() {
				level, what = slog.LevelError, "a handler does not end, and the attempts of its job are used up: it is dead"
			}
			r.Log.Log(context.Background(), level, what, "queue", t.Queue, "id", t.ID, "attempt", t.Attempt)
			go r.settle(t.Job, takenBack(t.Job))
		}
	}
	return hung
}
