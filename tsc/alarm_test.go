package tsc

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A real alarm fires once for each setting, never early, the earlier of two
// settings wins, and a stopped one is silent.
func TestOSAlarm(t *testing.T) {
	for _, spin := range []time.Duration{0, maxSpin} {
		o := NewOS(Options{Spin: spin})
		fired := make(chan int64)
		a := o.NewAlarm(func() { fired <- o.Mono() })
		for i := range 20 {
			at := o.Mono() + int64(i)*50_000
			a.Set(at)
			if got := <-fired; got < at {
				t.Errorf("spin %v: %d ns early", spin, at-got)
			}
		}
		a.Set(o.Mono() + 3600*second)
		at := o.Mono() + 1e6
		a.Set(at) // interrupts the long sleep
		if got := <-fired; got < at {
			t.Errorf("spin %v: %d ns early", spin, at-got)
		}
		a.Set(0)
		<-fired
		a.Set(Never)
		a.Stop()
		a.Set(0)
		select {
		case <-fired:
			t.Error("fired after Stop")
		default:
		}
	}
}

// Many goroutines set an alarm; the last setting is not lost.
func TestOSAlarmContended(t *testing.T) {
	o := NewOS(Options{})
	fired := make(chan struct{}, 1)
	a := o.NewAlarm(func() {
		select {
		case fired <- struct{}{}:
		default:
		}
	})
	defer a.Stop()
	for i := range int64(2000) {
		var setters sync.WaitGroup
		setters.Go(func() { a.Set(o.Mono() + 1800*second) })
		setters.Go(func() { a.Set(o.Mono() + i%50*1000) })
		setters.Wait()
		select {
		case <-fired:
		default:
		}
		a.Set(o.Mono() + i%20*1000)
		<-fired
	}
}

// In a bubble, Go is virtual time: to the nanosecond and without waiting.
func TestGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGo()
		var fired []int64
		a := g.NewAlarm(func() { fired = append(fired, g.Mono()) })
		a.Set(int64(time.Hour))
		a.Set(int64(time.Minute)) // earlier
		time.Sleep(2 * time.Hour)
		a.Set(int64(time.Minute)) // in the past: at once
		synctest.Wait()
		a.Set(int64(3 * time.Hour))
		a.Set(int64(4 * time.Hour)) // later
		time.Sleep(3 * time.Hour)
		a.Set(int64(6 * time.Hour))
		a.Set(Never)
		time.Sleep(3 * time.Hour)
		a.Set(int64(9 * time.Hour))
		a.Stop()
		time.Sleep(3 * time.Hour)
		want := []int64{int64(time.Minute), int64(2 * time.Hour), int64(4 * time.Hour)}
		if !slices.Equal(fired, want) {
			t.Errorf("fired at %v, want %v", fired, want)
		}
		if wall := g.Wall(); wall != time.Now().UnixNano() {
			t.Errorf("Wall %d", wall)
		}
	})
}

// A Fake's alarms fire from Advance, in order, each at its own time, and may set
// themselves again on the way.
func TestFake(t *testing.T) {
	f := NewFake(100, 1_000_000)
	var log []string
	var ticker Alarm
	ticker = f.NewAlarm(func() {
		log = append(log, fmt.Sprintf("tick %d", f.Mono()))
		ticker.Set(f.Mono() + 40)
	})
	once := f.NewAlarm(func() { log = append(log, fmt.Sprintf("once %d", f.Mono())) })
	ticker.Set(140)
	once.Set(150)
	if got := f.NextAlarm(); got != 140 {
		t.Errorf("NextAlarm %d", got)
	}
	f.StepWall(-500)
	f.Advance(100)
	once.Set(10)
	f.Advance(0)
	ticker.Stop()
	f.Advance(1000)
	want := []string{"tick 140", "once 150", "tick 180", "once 200"}
	if !slices.Equal(log, want) {
		t.Errorf("%q, want %q", log, want)
	}
	if f.Mono() != 1200 || f.Wall() != 1_000_000-500+1100 || f.NextAlarm() != Never {
		t.Errorf("Mono %d, Wall %d, NextAlarm %d", f.Mono(), f.Wall(), f.NextAlarm())
	}
}
