package shard

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var (
	clockSeed  = flag.Uint64("clock.seed", 0, "run the clock rule on this seed only; 0 = new ones")
	clockSeeds = flag.Int("clock.seeds", 300, "how many seeds it runs")
)

// rule is what TestRandomClocks holds against the clock rule.
type rule interface {
	at(mono, wall int64) (progress, offset int64, c change)
	count() int64
}

func (t *timeline) count() int64 { return t.steps }

// seen is a reading of the past: when, and by how much the OS wall clock was ahead of
// the monotonic one.
type seen struct{ mono, lead int64 }

// playClocks reads clocks that drift and step at random, and says where the rule is broken.
func playClocks(seed uint64, made func(mono, wall, trust int64) rule) error {
	r := rand.New(rand.NewPCG(seed, 0x636c6f63))
	pick := func(from ...int64) int64 { return from[r.IntN(len(from))] }
	const ms, year = second / 1000, 365 * day
	trust := pick(0, second, day, day, day)
	mono := r.Int64N(year)
	lead := 1_800_000_000*second - mono
	line := made(mono, mono+lead, trust)
	var (
		ours     = lead // by how much our wall clock is ahead of the monotonic one
		progress = mono + lead
		slewed   = mono
		held     bool
		steps    int64
		past     = []seen{{mono, lead}}
		aheadAt  = int64(math.MaxInt64) // since when the OS clock stands ahead, to the nanosecond
	)
	for range 400 {
		passed := pick(0, 1, 1999, 2000, ms, 100*ms, second, second, second, 5*second, 10*second, 40*second) // below 100 s, as the actor looks more often
		passed += pick(0, 0, r.Int64N(passed+1))
		moved := int64(0)
		switch r.IntN(8) {
		case 0, 1:
			moved = pick(-1, 1) * r.Int64N(passed/2000+1) // drift
		case 2:
			moved = pick(-1, 1) * pick(1, ms, 30*ms, 50*ms, 50*ms+1, 60*ms, second, 7*second, 3600*second, day, day+1, 10*year)
		case 3:
			moved = ours - lead + pick(0, 50*ms, 50*ms+1, -50*ms, -50*ms-1) // back to ours, about
		}
		mono += passed
		lead += moved
		p, offset, _ := line.at(mono, mono+lead)
		fail := func(format string, args ...any) error {
			return fmt.Errorf("-clock.seed %d, trust %d, %d ns after the last look, the OS clock moved by %d: %s", seed, trust, passed, moved, fmt.Sprintf(format, args...))
		}
		if p != progress+passed {
			return fail("progress moved by %d", p-progress)
		}
		progress = p
		ahead := lead - ours
		now := p + offset - mono
		if now > lead+stepMin {
			return fail("our wall clock is %d ns ahead of the OS's", now-lead)
		}

		// What may move our clock, and by how much.
		limit := (mono - slewed) / 2000
		slewed += limit * 2000
		switch {
		case ahead < -stepMin:
			if now != lead {
				return fail("a step back of %d left %d", ahead, now-lead)
			}
		case ahead <= stepMin-jitter, ahead <= stepMin && !held:
			if want := ours + min(max(ahead, -limit), limit); now != want {
				return fail("%d ahead: slewed by %d, want %d", ahead, now-ours, want-ours)
			}
		case now == ours:
			if stood := mono - aheadAt; moved == 0 && ahead <= trust && stood >= 10*second {
				return fail("a step of %d has stood for %d and is not followed", ahead, stood)
			}
		case now != lead:
			return fail("a forward step of %d was followed by %d", ahead, now-ours)
		case ahead > trust:
			return fail("a forward step of %d was followed", ahead)
		default:
			for i := len(past) - 1; i >= 0; i-- {
				if off, slack := past[i].lead-lead, 2*stepMin+(mono-past[i].mono)/2000; off > slack || off < -slack || past[i].lead-ours <= stepMin-jitter {
					return fail("followed a step of %d that did not stand %d ns ago", ahead, mono-past[i].mono)
				}
				if past[i].mono <= mono-10*second {
					break
				}
			}
		}

		// Each step is counted, once.
		switch counted := line.count() - steps; {
		case counted < 0, counted > 1, counted == 1 && moved == 0:
			return fail("counted %d steps", counted)
		case counted == 0 && (moved > 2*stepMin+passed/2000 || moved < -2*stepMin-passed/2000):
			return fail("the step was not counted")
		}
		steps = line.count()

		held = lead-now > stepMin || held && lead-now > stepMin-jitter && now == ours
		if !held {
			aheadAt = math.MaxInt64
		} else if moved != 0 || aheadAt == math.MaxInt64 {
			aheadAt = mono
		}
		ours = now
		past = append(past, seen{mono, lead})
	}
	return nil
}

func good(mono, wall, trust int64) rule { return newTimeline(0, 0, mono, wall, trust) }

// TestRandomClocks: whatever the clocks do, progress goes as the monotonic one does, our
// wall clock is never ahead of the OS's, and it moves by the clock rule alone.
func TestRandomClocks(t *testing.T) {
	if *clockSeed != 0 {
		if err := playClocks(*clockSeed, good); err != nil {
			t.Fatal(err)
		}
		return
	}
	for range *clockSeeds {
		if err := playClocks(rand.Uint64(), good); err != nil {
			t.Fatal(err)
		}
	}
}

// faulty is a timeline with something done to it before and after each reading.
type faulty struct {
	*timeline
	before, after func(t *timeline)
}

func (f faulty) at(mono, wall int64) (progress, offset int64, c change) {
	if f.before != nil {
		f.before(f.timeline)
	}
	_, _, c = f.timeline.at(mono, wall)
	if f.after != nil {
		f.after(f.timeline)
	}
	return f.timeline.last, f.timeline.offset, c
}

// TestRandomClocksSeeFaults: a timeline that breaks the rule is noticed.
func TestRandomClocksSeeFaults(t *testing.T) {
	for name, f := range map[string]faulty{
		"follows a forward step at once":         {after: func(t *timeline) { t.accept() }},
		"follows it after 5 s":                   {before: func(t *timeline) { t.since -= 5 * second }},
		"follows beyond clock-trust":             {before: func(t *timeline) { t.trust = math.MaxInt64 }},
		"never follows":                          {before: func(t *timeline) { t.trust = 0 }},
		"follows by progress":                    {before: func(t *timeline) { t.stopped = true }},
		"slews without bound":                    {before: func(t *timeline) { t.slewed -= 3600 * second }},
		"slews a little too fast":                {before: func(t *timeline) { t.slewed -= 2000 }},
		"does not slew":                          {before: func(t *timeline) { t.slewed = math.MaxInt64 / 2 }},
		"counts a step each time it looks":       {after: func(t *timeline) { t.steps += min(1, t.held) }},
		"counts no steps":                        {after: func(t *timeline) { t.steps = 0 }},
		"forgets that the step was followed":     {before: func(t *timeline) { t.offset = 0 }},
		"lets the 10 s run on over another step": {after: func(t *timeline) { t.held = t.ahead }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				err := playClocks(seed+1, func(mono, wall, trust int64) rule {
					return faulty{newTimeline(0, 0, mono, wall, trust), f.before, f.after}
				})
				if err != nil {
					t.Log(err)
					return
				}
			}
			t.Fatal("not noticed")
		})
	}
}
