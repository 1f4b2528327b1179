package tsc

import (
	"sync"
	"time"
)

// Go is package time as a Source, and so virtual time inside a testing/synctest
// bubble. Outside one its alarms are late by up to a millisecond.
type Go struct{ start time.Time }

// NewGo returns a source whose Mono counts from 0, now.
func NewGo() *Go { return &Go{time.Now()} }

func (g *Go) Mono() int64 { return int64(time.Since(g.start)) }
func (g *Go) Wall() int64 { return time.Now().UnixNano() }

// CatchUp does nothing: package time does not count suspensions.
func (g *Go) CatchUp() {}

// Info names the source.
func (g *Go) Info() Info { return Info{Source: "go"} }

func (g *Go) NewAlarm(fire func()) Alarm {
	a := &goAlarm{source: g, fire: fire, at: Never}
	a.timer = time.AfterFunc(Never, a.run)
	return a
}

type goAlarm struct {
	source *Go
	fire   func()
	firing sync.Mutex // held while fire runs

	mu    sync.Mutex // guards what follows
	at    int64      // Never = not set
	timer *time.Timer
	dead  bool
}

func (a *goAlarm) Set(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at == a.at || a.dead {
		return
	}
	a.at = at
	a.timer.Stop()
	if at != Never {
		a.timer.Reset(time.Duration(at - a.source.Mono()))
	}
}

// run is called by the timer, on a goroutine of its own.
func (a *goAlarm) run() {
	a.firing.Lock()
	defer a.firing.Unlock()
	if a.due() {
		a.fire()
	}
}

func (a *goAlarm) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead || a.at == Never {
		return false
	}
	if left := a.at - a.source.Mono(); left > 0 { // it was set anew while the timer fired
		a.timer.Reset(time.Duration(left))
		return false
	}
	a.at = Never
	return true
}

func (a *goAlarm) Stop() {
	a.mu.Lock()
	a.dead = true
	a.timer.Stop()
	a.mu.Unlock()
	a.firing.Lock() // wait for fire
	defer a.firing.Unlock()
}
