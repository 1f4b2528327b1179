package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"dqd/tsc"
)

// clocks measures what reading the clocks costs, how far TSC is from OS, and how
// late alarms are, for about the given time after the counter is calibrated.
func clocks(span time.Duration) {
	c := tsc.NewTSC(tsc.Options{})
	defer c.Close()
	o := tsc.NewOS(tsc.Options{})
	fmt.Printf("clock: calibrating\n")
	for start := time.Now(); c.Info().Source != "tsc" && time.Since(start) < 30*time.Second; {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("%+v\n\n", c.Info())

	now := best(func() { _ = time.Now() })
	mono := best(func() { _ = c.Mono() })
	fmt.Printf("ns a reading: tsc.TSC.Mono %.1f, tsc.OS.Mono %.1f, time.Now %.1f; TSC is %.2f of time.Now\n",
		mono, best(func() { _ = o.Mono() }), now, mono/now)

	// Residuals, between two readings of the OS clock; wide pairs say nothing.
	var residuals []int64
	start := time.Now()
	for time.Since(start) < span/2 {
		os0 := c.OS().Mono()
		at := c.Mono()
		os1 := c.OS().Mono()
		if os1-os0 < 300 {
			residuals = append(residuals, max(at-(os0+os1)/2, (os0+os1)/2-at))
		}
		if len(residuals)%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Printf("TSC against OS, ns, %d readings: %s\n", len(residuals), quantiles(residuals))

	lateness("time.Sleep", span/8, func(d time.Duration) int64 {
		at := o.Mono() + int64(d)
		time.Sleep(d)
		return o.Mono() - at
	})
	for _, spin := range []time.Duration{0, 80 * time.Microsecond} {
		s := tsc.NewOS(tsc.Options{Spin: spin})
		fired := make(chan int64, 1)
		a := s.NewAlarm(func() { fired <- s.Mono() })
		lateness(fmt.Sprintf("alarm, spin %v", spin), span/8, func(d time.Duration) int64 {
			at := s.Mono() + int64(d)
			a.Set(at)
			return <-fired - at
		})
		a.Stop()
	}
}

// best returns ns per call, the best of a few rounds, by the thread's CPU time.
func best(f func()) float64 {
	const n = 1_000_000
	ns := 1e9
	for range 5 {
		ns = min(ns, perOp(n, func() {
			for range n {
				f()
			}
		}))
	}
	return ns
}

func lateness(name string, span time.Duration, wait func(d time.Duration) int64) {
	runtime.UnlockOSThread() // as a goroutine of a server would wait
	defer runtime.LockOSThread()
	var late []int64
	for start := time.Now(); time.Since(start) < span; {
		late = append(late, wait(100*time.Microsecond+rand.N(1900*time.Microsecond)))
	}
	fmt.Printf("late, ns, %s, %d deadlines 0.1-2 ms ahead: %s\n", name, len(late), quantiles(late))
}

func quantiles(v []int64) string {
	if len(v) == 0 {
		return "none"
	}
	slices.Sort(v)
	return fmt.Sprintf("min %d P50 %d P99 %d max %d", v[0], v[len(v)/2], v[len(v)*99/100], v[len(v)-1])
}
