package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A crew is the goroutines of one measurement. The first error ends all of them,
// through their context; stop ends them without one.
type crew struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards err and stopped
	err     error
	stopped bool
}

func newCrew(ctx context.Context) *crew {
	c := &crew{}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// start runs fn in a goroutine. fn must return soon after its context ends.
func (c *crew) start(fn func(context.Context) error) {
	c.wg.Go(func() {
		if err := fn(c.ctx); err != nil {
			c.fail(err)
		}
	})
}

// fail notes the first error that was not brought about by stop.
func (c *crew) fail(err error) {
	c.mu.Lock()
	if c.err == nil && !c.stopped {
		if cause := c.ctx.Err(); cause != nil { // the time-out, not the closed connection
			err = fmt.Errorf("%w (%v)", cause, err)
		}
		c.err = err
	}
	c.mu.Unlock()
	c.cancel()
}

// wait returns when all have returned on their own, with the first error.
func (c *crew) wait() error {
	c.wg.Wait()
	return c.stop()
}

// stop ends all: connections close, reads fail, and those failures do not count.
func (c *crew) stop() error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	return c.err
}

// sleepUntil waits for an instant, or for the end of ctx.
func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
