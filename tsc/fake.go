package tsc

import (
	"slices"
	"sync"
	"time"
)

// Fake is a clock for tests. It moves only when told.
type Fake struct {
	mu         sync.Mutex // guards what follows; not held while an alarm fires
	mono, wall int64
	suspended  int64 // not counted by mono yet
	alarms     []*fakeAlarm
}

// NewFake returns a clock that shows mono and wall, in ns.
func NewFake(mono, wall int64) *Fake { return &Fake{mono: mono, wall: wall} }

func (f *Fake) Mono() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mono
}

func (f *Fake) Wall() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wall
}

// Info names the source.
func (f *Fake) Info() Info { return Info{Source: "fake"} }

// StepWall moves the wall clock alone, as an operator or NTP does.
func (f *Fake) StepWall(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall += int64(d)
}

// Suspend is a machine that sleeps for d: the wall clock goes on, and Mono counts the
// time with the next CatchUp, or the next Advance. No alarm fires meanwhile.
func (f *Fake) Suspend(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall += int64(d)
	f.suspended += int64(d)
}

// CatchUp makes Mono count what it was suspended for.
func (f *Fake) CatchUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.catchUp()
}

func (f *Fake) catchUp() {
	f.mono += f.suspended
	f.suspended = 0
}

// Advance moves both clocks forward, to each alarm on the way in turn, and calls
// it from here, with the clock showing its time. An alarm set to a time that has
// passed fires with the next Advance, of 0 too.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.catchUp()
	end := f.mono + int64(max(d, 0))
	for {
		a := f.first(end)
		if a == nil {
			break
		}
		f.moveTo(a.at)
		a.at = Never
		f.mu.Unlock()
		a.fire()
		f.mu.Lock()
	}
	f.moveTo(end)
}

// NextAlarm returns the time of the first alarm, or Never.
func (f *Fake) NextAlarm() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.first(Never - 1); a != nil {
		return a.at
	}
	return Never
}

// first returns the alarm that is due first, at end or before, or nil; of several
// the one made first.
func (f *Fake) first(end int64) (first *fakeAlarm) {
	for _, a := range f.alarms {
		if a.at != Never && a.at <= end && (first == nil || a.at < first.at) {
			first = a
		}
	}
	return first
}

func (f *Fake) moveTo(mono int64) {
	if mono > f.mono {
		f.wall += mono - f.mono
		f.mono = mono
	}
}

func (f *Fake) NewAlarm(fire func()) Alarm {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &fakeAlarm{fake: f, fire: fire, at: Never}
	f.alarms = append(f.alarms, a)
	return a
}

type fakeAlarm struct {
	fake *Fake
	fire func()
	at   int64 // guarded by fake.mu; Never = not set
}

func (a *fakeAlarm) Set(at int64) {
	a.fake.mu.Lock()
	defer a.fake.mu.Unlock()
	a.at = at
}

// Stop does not wait: whoever calls Advance knows whether fire runs.
func (a *fakeAlarm) Stop() {
	a.fake.mu.Lock()
	defer a.fake.mu.Unlock()
	a.at = Never
	a.fake.alarms = slices.DeleteFunc(a.fake.alarms, func(b *fakeAlarm) bool { return a == b })
}
