package worker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A lease that was extended while its timer fired is not lost; it is when it ends.
func TestExtendedWhileItsTimerFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runner{tasks: map[*task]bool{}}
		r.Log = slog.New(slog.DiscardHandler)
		ctx, cancel := context.WithCancelCause(t.Context())
		held := &task{Job: &Job{lease: 10 * time.Second}, cancel: cancel}
		lost := func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return held.lost
		}
		r.hold(held, time.Now())
		time.Sleep(9 * time.Second)
		r.extended(held, time.Now())
		r.lose(held, true, "the timer had fired before")
		if lost() || ctx.Err() != nil {
			t.Errorf("a lease that goes on is lost: %v", context.Cause(ctx))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !lost() || context.Cause(ctx) != ErrLeaseLost {
			t.Errorf("a lease that has ended is not lost: %v", context.Cause(ctx))
		}
	})
}
