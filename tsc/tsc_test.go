package tsc

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Readers on many threads never see the clock run backwards while the line is
// renewed at changing rates, and leaves and enters use.
func TestConcurrentReaders(t *testing.T) {
	var counter, os atomic.Int64
	c := &TSC{env: env{
		counter: func() uint64 { return uint64(counter.Add(7)) },
		mono:    func() int64 { return os.Add(3) },
	}}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for last := int64(0); !stop.Load(); {
				now := c.Mono()
				if now < last {
					t.Errorf("%d after %d", now, last)
					return
				}
				last = now
			}
		})
	}
	for i := range uint64(20_000) {
		c.apply(verdict{use: i%5 > 0, mult: (1 + i%3) << (multBits - 1)})
	}
	stop.Store(true)
	readers.Wait()
}

// The real counter and the real clocks agree on what a sample is, and a closed
// clock is the OS clock, without a step back.
func TestReal(t *testing.T) {
	c := NewTSC(Options{})
	before := c.Mono()
	s := c.sample()
	if after := c.Mono(); s.unfit == "" && (s.os < before || s.os > after || s.widthNs <= 0) {
		t.Errorf("sample %+v outside [%d, %d]", s, before, after)
	}
	before = c.Mono()
	c.Close()
	if after := c.Mono(); after < before {
		t.Errorf("%d after %d", after, before)
	}
	if i := c.Info(); i.Source != "os" || i.Reason != "closed" {
		t.Errorf("%+v", i)
	}
}

// A suspension shows on Mono at the next look, and only whole milliseconds are
// taken for one.
func TestSuspension(t *testing.T) {
	suspended := int64(0)
	o := newOS(Options{}, func() int64 { return suspended })
	offset := o.offset.Load()
	for _, step := range []struct{ suspended, offset int64 }{
		{0, 0},
		{suspendMinNs - 1, 0},
		{3600 * second, 3600 * second},
		{3600*second - 1000, 3600 * second},
		{7200 * second, 7200 * second},
	} {
		suspended = step.suspended
		o.nextCheck.Store(0)
		o.Mono()
		if got := o.offset.Load() - offset; got != step.offset {
			t.Errorf("suspended for %d: Mono moved by %d, want %d", suspended, got, step.offset)
		}
	}
}

func BenchmarkMono(b *testing.B) {
	o := NewOS(Options{})
	c := &TSC{env: env{mono: o.Mono}}
	c.apply(verdict{use: true, mult: 1 << (multBits - 10)}) // slow, so that it is not left
	for name, source := range map[string]Source{"tsc": c, "os": o} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				source.Mono()
			}
		})
	}
}

// CatchUp shows a suspension at once, on the OS clock and on the counter's, which it
// ends the use of: the counter may have stood still meanwhile.
func TestCatchUp(t *testing.T) {
	suspended := int64(0)
	o := newOS(Options{}, func() int64 { return suspended })
	c := &TSC{os: o, discipline: newDiscipline(), env: env{
		counter: func() uint64 { return 1000 },
		mono:    o.Mono,
		sample: func() sample {
			return sample{count: 1000, os: o.Mono(), suspendedNs: o.Info().SuspendedNs, widthNs: 50}
		},
	}}
	c.check()
	c.apply(verdict{use: true, mult: 1 << multBits})
	before := c.Mono()
	suspended = 3600 * second
	if now := c.Mono(); now != before {
		t.Fatalf("the counter's clock moved by %d", now-before)
	}
	c.CatchUp()
	if now := c.Mono(); now < before+3600*second {
		t.Errorf("an hour of suspension moved the clock by %d ns", now-before)
	}
}

// A Fake shows a suspension on the wall at once, and on Mono when asked to catch up or
// when time passes; an alarm is late by it.
func TestFakeSuspends(t *testing.T) {
	f := NewFake(0, 1000)
	fired := int64(-1)
	f.NewAlarm(func() { fired = f.Mono() }).Set(5)
	f.Suspend(10)
	if f.Mono() != 0 || f.Wall() != 1010 {
		t.Fatal(f.Mono(), f.Wall())
	}
	f.CatchUp()
	f.CatchUp()
	f.Suspend(20)
	f.Advance(1)
	if f.Mono() != 31 || f.Wall() != 1031 || fired != 30 {
		t.Fatal(f.Mono(), f.Wall(), fired)
	}
}
