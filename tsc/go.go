package tsc

import (
	"math"
	"sync"
	"time"
)

// Go is a Source on Go's own clock and timers: virtual inside a testing/synctest
// bubble.
type Go struct{ origin time.Time }

// NewGo returns a Go source whose Mono begins at 1.
func NewGo() *Go { return &Go{origin: time.Now().Add(-1)} }

// Mono implements Source.
func (g *Go) Mono() int64 { return int64(time.Since(g.origin)) }

// Wall implements Source.
func (g *Go) Wall() int64 { return time.Now().UnixNano() }

// NewAlarm implements Source.
func (g *Go) NewAlarm(fire func()) Alarm {
	a := &goAlarm{clock: g, at: math.MaxInt64}
	a.timer = time.AfterFunc(math.MaxInt64, fire)
	a.timer.Stop()
	return a
}

type goAlarm struct {
	clock *Go
	mu    sync.Mutex
	at    int64
	timer *time.Timer
}

func (a *goAlarm) Set(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = at
	if at == math.MaxInt64 {
		a.timer.Stop()
		return
	}
	a.timer.Reset(time.Duration(at - a.clock.Mono()))
}

func (a *goAlarm) Stop() { a.Set(math.MaxInt64) }
