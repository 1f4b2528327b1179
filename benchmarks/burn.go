package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// burnShare is what the busy case takes of every CPU.
const burnShare = 0.85

const burnPeriod = 10 * time.Millisecond

// burn starts a process that keeps every CPU busy for burnShare of the time. stop
// ends it; it ends by itself after atMost, or when this process dies.
func (l *launcher) burn(atMost time.Duration) (stop func(), err error) {
	cmd := exec.Command(l.self, "burn", "-share", fmt.Sprint(burnShare), "-for", atMost.String())
	cmd.SysProcAttr = childAttributes()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start burn: %w", err)
	}
	return func() {
		killGroup(cmd.Process)
		cmd.Wait()
	}, nil
}

// burnMain is the process that burns.
func burnMain(args []string) error {
	fs := flag.NewFlagSet("benchmarks burn", flag.ContinueOnError)
	share := fs.Float64("share", 0, "`part` of every CPU, below 1")
	length := fs.Duration("for", 0, "`time` after which it ends")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *share <= 0 || *share >= 1 || *length <= 0 {
		return errors.New("want -share between 0 and 1, and -for above 0")
	}
	var wg sync.WaitGroup
	end := time.Now().Add(*length)
	for i := range runtime.NumCPU() {
		wg.Go(func() {
			runtime.LockOSThread()
			// The CPUs are not busy in step.
			period := time.Now().Add(burnPeriod * time.Duration(i) / time.Duration(runtime.NumCPU()))
			for ; period.Before(end); period = period.Add(burnPeriod) {
				time.Sleep(time.Until(period))
				for busyTo := period.Add(time.Duration(*share * float64(burnPeriod))); time.Now().Before(busyTo); {
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// busy runs a case beside the burning process.
func busy(run func(context.Context, *bench) (*result, error)) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		stop, err := b.launcher.burn(b.timeout)
		if err != nil {
			return nil, err
		}
		defer stop()
		return run(ctx, b)
	}
}
