package shard

import (
	"testing"
	"time"
)

const (
	second = int64(time.Second)
	day    = 24 * 3600 * second
)

// reading is one look at the node's clocks and what cluster time must be then.
type reading struct {
	mono, wall       int64 // ns since the start
	progress, offset int64 // the same; offset against the one before the first reading
	stepped          bool
	held             int64
}

// TestClockRule plays the clock rule of PROMISES §3 for one node.
func TestClockRule(t *testing.T) {
	const wall0 = 1_800_000_000 * second
	for _, c := range []struct {
		name string
		play []reading
	}{
		{"time passes", []reading{{second, second, second, 0, false, 0}, {5 * second, 5 * second, 5 * second, 0, false, 0}}},
		{"a backward step is followed at once and moves no progress", []reading{
			{second, second, second, 0, false, 0},
			{2 * second, second, 2 * second, -second, true, 0},
			{3 * second, 2 * second, 3 * second, -second, false, 0},
		}},
		{"a forward step is held", []reading{
			{second, day, second, 0, false, day - second},
			{2 * second, day + second, 2 * second, 0, false, day - second},
		}},
		{"a held step that returns is forgotten", []reading{
			{second, 10 * second, second, 0, false, 9 * second},
			{2 * second, 2 * second, 2 * second, 0, false, 0},
		}},
		{"50 ms are no step but slewed, at most 500 µs per second", []reading{
			{second, second - 50_000_000, second, -500_000, false, 0},
			{2 * second, 2*second - 50_000_000, 2 * second, -1_000_000, false, 0},
		}},
		{"50 ms and 1 ns are a step", []reading{{second, second - 50_000_001, second, -50_000_001, true, 0}}},
		{"readings that go back do not turn progress back", []reading{
			{2 * second, 2 * second, 2 * second, 0, false, 0},
			{second, second, 2 * second, -second, true, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := newTimeline(0, 0, 77, wall0)
			for i, r := range c.play {
				progress, offset, stepped := line.at(77+r.mono, wall0+r.wall)
				got := reading{r.mono, r.wall, progress - wall0, offset, stepped, line.held}
				if got != r {
					t.Fatalf("reading %d: got %+v, want %+v", i, got, r)
				}
			}
		})
	}
}

// TestRestart: after a stop progress goes on by the elapsed wall time, if that can be believed.
func TestRestart(t *testing.T) {
	const last, offset = 1_800_000_000 * second, -7 * second
	for _, c := range []struct {
		name                   string
		elapsed                int64
		progress, offset, held int64
	}{
		{"at once", 0, 0, offset, 0},
		{"a minute later", 60 * second, 60 * second, offset, 0},
		{"366 days later", 366 * day, 366 * day, offset, 0},
		{"later than that is held", 366*day + 1, 0, offset, 366*day + 1},
		{"the wall clock stands before our last entry", -60 * second, 0, offset - 60*second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			wall := last + offset + c.elapsed
			line := newTimeline(last, offset, 5, wall)
			progress, off, _ := line.at(5, wall)
			if progress-last != c.progress || off != c.offset || line.held != c.held {
				t.Fatalf("progress +%d offset %d held %d", progress-last, off, line.held)
			}
		})
	}
}

// TestAccept: DQCLOCK ACCEPT follows what is held, and steps are counted once.
func TestAccept(t *testing.T) {
	const wall0 = 1_800_000_000 * second
	line := newTimeline(0, 0, 0, wall0)
	if line.accept() {
		t.Fatal("there was nothing to accept")
	}
	for i := range int64(10) {
		line.at(i*second, wall0+i*second+day)
	}
	if line.steps != 1 || line.held != day {
		t.Fatalf("steps %d, held %d", line.steps, line.held)
	}
	if !line.accept() {
		t.Fatal("nothing was accepted")
	}
	if progress, offset, stepped := line.at(10*second, wall0+10*second+day); progress != wall0+10*second || offset != day || stepped {
		t.Fatalf("progress %d offset %d stepped %v", progress-wall0, offset, stepped)
	}

	// What is held because the node stood still too long is progress.
	line = newTimeline(wall0, 0, 0, wall0+400*day)
	line.at(0, wall0+400*day)
	line.accept()
	if progress, offset, _ := line.at(second, wall0+400*day+second); progress != wall0+400*day+second || offset != 0 {
		t.Fatalf("progress +%d offset %d", progress-wall0, offset)
	}
}
