package tsc

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// TSC is a clock read from the processor's time stamp counter, in a quarter of
// the time that the OS clock takes. It shows the OS clock's Mono line: it starts
// as the OS clock, is calibrated against it for ten seconds, is compared with it
// every second from then on, and at any doubt is the OS clock again.
//
// Never backwards: a new line starts where the old one is. If the counter jumps
// ahead, readers follow by no more than a line's limit, and the clock then stands
// still until the OS clock has caught up. If it jumps back, or one core's is
// behind, readers see that by no more than highNs: to write down each time shown
// would rule it out, and cost every reader the cache line that all write to.
type TSC struct {
	os   *OS
	env  env
	line sharedLine
	high atomic.Int64 // ns, shown before; at most highNs behind what was shown last

	invariant bool // asking the processor costs microseconds in a virtual machine

	checking   sync.Mutex // held by whoever renews the line
	mu         sync.Mutex // guards discipline; held by check and Info
	discipline *discipline

	stop chan struct{}
	done chan struct{}
}

// highNs is how far a faulty counter can take the clock back: as much as may pass
// before a time shown is written down for all to see.
const highNs = 100_000

// env is what a test replaces.
type env struct {
	counter func() uint64 // nil = the processor's
	sample  func() sample // count, os, widthNs, suspendedNs and unfit
	mono    func() int64  // the OS clock's Mono
	onEvent func(Info)
}

// NewTSC returns a clock and starts the goroutine that watches it; Close ends it.
func NewTSC(options Options) *TSC {
	t := &TSC{os: NewOS(options), invariant: invariant(), discipline: newDiscipline(), stop: make(chan struct{}), done: make(chan struct{})}
	t.env = env{sample: t.sample, mono: t.os.Mono, onEvent: options.OnEvent}
	go t.run()
	return t
}

// Close ends the goroutine. The clock goes on, as the OS clock.
func (t *TSC) Close() {
	close(t.stop)
	<-t.done
	t.checking.Lock()
	defer t.checking.Unlock()
	t.mu.Lock()
	t.discipline.reject(sample{unfit: "closed"}, "closed")
	t.mu.Unlock()
	t.apply(verdict{})
}

func (t *TSC) Mono() int64 {
	for {
		l, seq := t.line.load()
		count := t.count()
		ns, ok := l.at(count)
		if !ok {
			ns = l.outside(count, t.env.mono())
		}
		high := t.high.Load()
		if ns < high {
			ns = max(high, t.env.mono())
		}
		if t.line.valid(seq) {
			if ns-high > highNs {
				t.high.CompareAndSwap(high, ns)
			}
			return ns
		}
	}
}

// count reads the counter. It has to be read, as the OS clock, between load and
// valid: see renew.
func (t *TSC) count() uint64 {
	if t.env.counter != nil {
		return t.env.counter()
	}
	return counter()
}

// OS returns the clock that t shows and falls back to.
func (t *TSC) OS() *OS { return t.os }

func (t *TSC) Wall() int64 { return t.os.Wall() }

// CatchUp looks for a suspension now: after one the counter is not trusted, and t is
// the OS clock.
func (t *TSC) CatchUp() {
	t.os.CatchUp()
	t.check()
}

func (t *TSC) NewAlarm(fire func()) Alarm { return newAlarm(t, t.os.options.Spin, fire) }

// Info tells which clock is in use and how good it is.
func (t *TSC) Info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.discipline.info
}

func (t *TSC) run() {
	defer close(t.done)
	tick := time.NewTicker(time.Duration(intervalNs))
	defer tick.Stop()
	for {
		t.check()
		select {
		case <-tick.C:
		case <-t.stop:
			return
		}
	}
}

// check takes a sample and does what it leads to.
func (t *TSC) check() {
	t.checking.Lock()
	defer t.checking.Unlock()
	s := t.env.sample()
	l, _ := t.line.load() // nobody else writes it
	s.line, _ = l.at(s.count)

	t.mu.Lock()
	before := t.discipline.info
	v := t.discipline.feed(s)
	after := t.discipline.info
	t.mu.Unlock()

	t.apply(v)
	if (before.Source != after.Source || before.Reason != after.Reason) && t.env.onEvent != nil {
		t.env.onEvent(after)
	}
}

// apply renews the line, to start where the present one is.
func (t *TSC) apply(v verdict) {
	t.line.renew(func(old line) line {
		count := t.count()
		base, ok := old.at(count)
		if !ok {
			base = old.outside(count, t.env.mono())
			count = t.count()
		}
		base = max(base, t.high.Load())
		if !v.use {
			return line{base: base, from: count}
		}
		mult := v.mult
		if mult == 0 {
			mult = old.mult
		}
		// A quarter of a second more than what passes until the next check.
		limit := mulDiv(uint64(intervalNs/4*5), 1<<multBits, mult)
		return line{from: count, base: base, mult: mult, limit: limit}
	})
}

// sample takes the closest of a few readings.
func (t *TSC) sample() sample {
	t.os.Mono() // which also looks for a suspension, once a second
	best := sample{unfit: t.unfit(), suspendedNs: t.os.Info().SuspendedNs, widthNs: Never}
	if best.unfit != "" {
		return best
	}
	width, ended := uint64(Never), int64(0)
	started := t.os.Mono()
	begin := orderedCounter()
	for range 64 {
		before := orderedCounter()
		os := t.os.Mono()
		after := orderedCounter()
		if after-before < width {
			width = after - before
			best.count, best.os = before+width/2, os
		}
		ended = os
	}
	// The width in ns by the rate of just now, as the calibrated one is what
	// is in question.
	if counts := orderedCounter() - begin; counts > 0 {
		best.widthNs = int64(mulDiv(width, uint64(max(ended-started, 1)), counts))
	}
	return best
}

// unfit returns why the counter must not be used, or "".
func (t *TSC) unfit() string {
	const path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
	if !t.invariant {
		return "no invariant time stamp counter on this " + runtime.GOARCH
	}
	kernel, err := os.ReadFile(path)
	if err != nil {
		return "clock source of the kernel not known: " + err.Error()
	}
	if kernel = bytes.TrimSpace(kernel); string(kernel) != "tsc" {
		return "the kernel itself prefers the clock source " + string(kernel)
	}
	return ""
}
