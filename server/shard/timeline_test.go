package shard

import (
	"testing"
	"time"
)

const (
	second = int64(time.Second)
	day    = 24 * 3600 * second
)

// reading is one look at the node's clocks and what must come of it.
type reading struct {
	mono, wall       int64 // ns since the start
	progress, offset int64 // the same; offset against the one before the first reading
	ahead            int64 // of the OS wall clock, as is left
	change           change
	steps            int64
}

// TestClockRule plays the clock rule of PROMISES §3 for one node that trusts an hour.
func TestClockRule(t *testing.T) {
	const wall0 = 1_800_000_000 * second
	const ms, hour = second / 1000, 3600 * second
	for _, c := range []struct {
		name string
		play []reading
	}{
		{"time passes", []reading{{second, second, second, 0, 0, unchanged, 0}, {5 * second, 5 * second, 5 * second, 0, 0, unchanged, 0}}},
		{"a backward step is followed at once and moves no progress", []reading{
			{second, second, second, 0, 0, unchanged, 0},
			{2 * second, second, 2 * second, -second, 0, wentBack, 1},
			{3 * second, 2 * second, 3 * second, -second, 0, unchanged, 1},
		}},
		{"a forward step is followed when it has stood for 10 s", []reading{
			{second, 2 * second, second, 0, second, wentForward, 1},
			{11*second - 1, 12*second - 1, 11*second - 1, 0, second, unchanged, 1},
			{11 * second, 12 * second, 11 * second, second, 0, followed, 1},
			{12 * second, 13 * second, 12 * second, second, 0, unchanged, 1},
		}},
		{"one of clock-trust is", []reading{
			{0, hour, 0, 0, hour, wentForward, 1},
			{10 * second, hour + 10*second, 10 * second, hour, 0, followed, 1},
		}},
		{"one beyond clock-trust is held", []reading{
			{0, hour + 1, 0, 0, hour + 1, wentForward, 1},
			{10 * second, hour + 1 + 10*second, 10 * second, 0, hour + 1, unchanged, 1},
			{10 * hour, 11*hour + 1, 10 * hour, 0, hour + 1, unchanged, 1},
		}},
		{"a held step that returns is forgotten", []reading{
			{second, 10 * second, second, 0, 9 * second, wentForward, 1},
			{2 * second, 2 * second, 2 * second, 0, 0, heldReturned, 2},
			{12 * second, 12 * second, 12 * second, 0, 0, unchanged, 2},
		}},
		{"two steps in sequence: the 10 s begin anew, and their sum counts", []reading{
			{0, second, 0, 0, second, wentForward, 1},
			{9 * second, 11 * second, 9 * second, 0, 2 * second, heldChanged, 2},
			{18 * second, 20 * second, 18 * second, 0, 2 * second, unchanged, 2},
			{19 * second, 21 * second, 19 * second, 2 * second, 0, followed, 2},
		}},
		{"a sum beyond clock-trust is held, and followed once it has shrunk", []reading{
			{0, hour, 0, 0, hour, wentForward, 1},
			{9 * second, 9*second + 2*hour, 9 * second, 0, 2 * hour, heldChanged, 2},
			{60 * second, 60*second + 2*hour, 60 * second, 0, 2 * hour, unchanged, 2},
			{61 * second, 61*second + hour, 61 * second, 0, hour, heldChanged, 3},
			{71 * second, 71*second + hour, 71 * second, hour, 0, followed, 3},
		}},
		{"a step back beyond ours while one is held is followed", []reading{
			{0, hour, 0, 0, hour, wentForward, 1},
			{second, 0, second, -second, 0, wentBack, 2},
			{20 * second, 19 * second, 20 * second, -second, 0, unchanged, 2},
		}},
		{"50 ms are no step but slewed, at most 500 µs per second", []reading{
			{second, second - 50*ms, second, -500_000, -50*ms + 500_000, unchanged, 0},
			{2 * second, 2*second - 50*ms, 2 * second, -1_000_000, -49 * ms, unchanged, 0},
			{102 * second, 102*second - 50*ms, 102 * second, -50 * ms, 0, unchanged, 0},
			{103 * second, 103*second - 50*ms, 103 * second, -50 * ms, 0, unchanged, 0},
		}},
		{"forwards too", []reading{
			{second, second + 50*ms, second, 500_000, 50*ms - 500_000, unchanged, 0},
			{100 * second, 100*second + 50*ms, 100 * second, 50 * ms, 0, unchanged, 0},
		}},
		{"many looks slew as much as one", []reading{
			{1_999, 1_999 + ms, 1_999, 0, ms, unchanged, 0},
			{3_998, 3_998 + ms, 3_998, 1, ms - 1, unchanged, 0},
			{5_997, 5_997 + ms, 5_997, 2, ms - 2, unchanged, 0},
			{6_000, 6_000 + ms, 6_000, 3, ms - 3, unchanged, 0},
		}},
		{"50 ms and 1 ns are a step", []reading{{second, second - 50*ms - 1, second, -50*ms - 1, 0, wentBack, 1}}},
		{"forwards too", []reading{{second, second + 50*ms + 1, second, 0, 50*ms + 1, wentForward, 1}}},
		{"a held step that shrinks to 49 ms is slewed", []reading{
			{0, 51 * ms, 0, 0, 51 * ms, wentForward, 1},
			{second, second + 49*ms + 1, second, 0, 49*ms + 1, unchanged, 1},
			{2 * second, 2*second + 49*ms, 2 * second, 500_000, 49*ms - 500_000, heldReturned, 1},
		}},
		{"a held step may drift by 500 ppm for ever and is one", []reading{
			{0, 2 * hour, 0, 0, 2 * hour, wentForward, 1},
			{100 * second, 100*second + 2*hour - 50*ms, 100 * second, 0, 2*hour - 50*ms, unchanged, 1},
			{200 * second, 200*second + 2*hour - 100*ms, 200 * second, 0, 2*hour - 100*ms, unchanged, 1},
			{300 * second, 300*second + 2*hour - 150*ms, 300 * second, 0, 2*hour - 150*ms, unchanged, 1},
		}},
		{"readings that go back do not turn progress back", []reading{
			{2 * second, 2 * second, 2 * second, 0, 0, unchanged, 0},
			{second, second, 2 * second, -second, 0, wentBack, 1},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := newTimeline(0, 0, 77, wall0, hour)
			for i, r := range c.play {
				progress, offset, change := line.at(77+r.mono, wall0+r.wall)
				got := reading{r.mono, r.wall, progress - wall0, offset, line.ahead, change, line.steps}
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
			line := newTimeline(last, offset, 5, wall, day)
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
	line := newTimeline(0, 0, 0, wall0, 0)
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
	if progress, offset, change := line.at(10*second, wall0+10*second+day); progress != wall0+10*second || offset != day || change != unchanged {
		t.Fatalf("progress %d offset %d change %d", progress-wall0, offset, change)
	}

	// What is held because the node stood still too long is progress.
	line = newTimeline(wall0, 0, 0, wall0+400*day, 0)
	line.at(0, wall0+400*day)
	line.accept()
	if progress, offset, _ := line.at(second, wall0+400*day+second); progress != wall0+400*day+second || offset != 0 {
		t.Fatalf("progress +%d offset %d", progress-wall0, offset)
	}
}

// TestLongStop: a stop that was too long to be believed is believed once the wall clock
// shows a shorter one and stays there; then, too, it is progress.
func TestLongStop(t *testing.T) {
	const last = 1_800_000_000 * second
	line := newTimeline(last, 0, 0, last+3650*day, 0)
	line.at(0, last+3650*day)
	for _, r := range []reading{
		{20 * second, 20*second + 3650*day, 20 * second, 0, 3650 * day, unchanged, 1},
		{21 * second, 21*second + 300*day, 21 * second, 0, 300 * day, heldChanged, 2},
		{31 * second, 31*second + 300*day, 31*second + 300*day, 0, 0, followed, 2},
	} {
		progress, offset, change := line.at(r.mono, last+r.wall)
		if got := (reading{r.mono, r.wall, progress - last, offset, line.ahead, change, line.steps}); got != r {
			t.Fatalf("got %+v, want %+v", got, r)
		}
	}
}

// TestNextLook: a held step is looked at again when it has stood for 10 s, and the
// clock now and then in any case.
func TestNextLook(t *testing.T) {
	const wall0 = 1_800_000_000 * second
	line := newTimeline(0, 0, 77, wall0, day)
	for _, r := range []struct {
		mono, ahead int64
		waiting     bool
		next        int64
	}{
		{0, 0, false, 30 * second},
		{0, 0, true, second},
		{second, day, false, 2 * second},
		{10*second + 5, day, false, 11 * second},
		{11 * second, day, false, 41 * second},
		{12 * second, 3 * day, false, 13 * second}, // held for good
		{30 * second, 3 * day, false, 31 * second},
	} {
		line.at(77+r.mono, wall0+r.mono+r.ahead)
		if got := line.nextLook(r.waiting) - wall0; got != r.next {
			t.Fatalf("%+v: next look at %d", r, got)
		}
	}
}
