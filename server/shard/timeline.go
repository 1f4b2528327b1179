package shard

import (
	"math"
	"time"
)

const (
	// stepMin is the smallest difference between the OS wall clock and ours that
	// counts as a step; what is smaller is slewed.
	stepMin = int64(50 * time.Millisecond)

	// jitter is how far below stepMin a held step ends: a clock that stands on the edge
	// is not one step after the other.
	jitter = int64(time.Millisecond)

	// slewShare bounds how fast small differences are worked off: 1 ns in 2,000,
	// which is 500 ppm.
	slewShare = 2000

	// standing is how long a forward step must have stood before it is followed.
	standing = int64(10 * time.Second)

	// maxElapsed is the longest stop of a node after which the wall clock is
	// believed: progress goes on by the elapsed wall time.
	maxElapsed = int64(366 * 24 * time.Hour)

	// How often the clocks are looked at: while AT jobs wait or a step is held, and
	// else. Between two looks a clock that drifts by 500 ppm must stay below stepMin.
	lookOften = int64(time.Second)
	lookIdle  = int64(30 * time.Second)
)

// timeline turns what a node's clocks say into cluster time, by the clock rule
// (PROMISES §3): progress, which never steps, and the wall offset, which follows
// the OS wall clock. Backwards it follows at once. A forward step is held: it is
// followed when it has stood for 10 s and is no larger than trust, or by accept.
// Small differences are slewed. It is pure: readings go in.
type timeline struct {
	trust int64 // ns; the largest forward step that is followed by itself, 0 = none

	// progress = base + (mono − monoBase)
	base, monoBase int64
	offset         int64
	slewed         int64 // mono time up to which slewing is accounted for
	last           int64 // the latest progress time given out

	steps int64 // steps of the OS wall clock that were seen
	ahead int64 // OS wall clock − (progress + offset), as of the last look
	// held is the forward step that is not followed, 0 = none. It follows ahead as
	// slowly as the offset follows the clock, so that ahead − held tells one more step
	// from drift.
	held  int64
	since int64 // mono time from which the held step stands
	// stopped says that the node itself stood still longer than maxElapsed: then
	// what is held is progress, not offset.
	stopped bool
}

// change is what a look at the clocks found.
type change int

const (
	unchanged    change = iota
	wentBack            // the wall clock stepped back, and the offset with it
	wentForward         // the wall clock stepped forward: it is held
	heldChanged         // the wall clock stepped while a step is held, and is still ahead
	heldReturned        // the wall clock came back to ours: nothing is held any more
	followed            // the held step is followed
)

// newTimeline continues cluster time after a start: lastTime and lastOffset are
// of the newest applied entry, both 0 on an empty store.
func newTimeline(lastTime, lastOffset, mono, wall, trust int64) *timeline {
	t := &timeline{trust: trust, base: lastTime, monoBase: mono, offset: lastOffset, slewed: mono, last: lastTime}
	if lastTime == 0 {
		// The first start: progress begins as the wall clock does, offset 0.
		t.base, t.last = wall, wall
		return t
	}
	switch elapsed := wall - (lastTime + lastOffset); {
	case elapsed >= 0 && elapsed <= maxElapsed:
		t.base += elapsed
	case elapsed < 0:
		// The wall clock stands before our last entry: no time has passed that we know of.
	default:
		t.stopped = true // too long to be believed: it shows as a held forward step
	}
	return t
}

// resume goes on after this node led before, in the same process: its monotonic
// clock knows better than the wall clock how much time has passed.
func (t *timeline) resume(lastTime, lastOffset int64) {
	if lastTime > t.last {
		t.base += lastTime - t.last
		t.last = lastTime
	}
	t.offset = lastOffset
}

// agrees reports whether the readings need neither a step nor the end of one.
func (t *timeline) agrees(mono, wall int64) bool {
	d := wall - t.progress(mono) - t.offset - t.held
	return d <= stepMin && d >= -stepMin
}

func (t *timeline) progress(mono int64) int64 { return max(t.last, t.base+mono-t.monoBase) }

// at returns cluster time for the readings mono and wall, and what they changed.
func (t *timeline) at(mono, wall int64) (progress, offset int64, c change) {
	t.last = t.progress(mono)
	t.ahead = wall - t.last - t.offset
	limit := max(0, mono-t.slewed) / slewShare
	t.slewed += limit * slewShare
	away := t.ahead - t.held // from where the clock was seen last
	stepped := away > stepMin || away < -stepMin
	if stepped {
		t.steps++
	}
	small := stepMin
	if t.held != 0 {
		small -= jitter
	}
	switch {
	case t.ahead < -stepMin:
		t.follow()
		c = wentBack
	case t.ahead <= small:
		if t.held != 0 {
			c = heldReturned
		}
		t.held, t.stopped = 0, false
		slew := min(max(t.ahead, -limit), limit)
		t.offset += slew
		t.ahead -= slew
	case stepped:
		c = wentForward
		if t.held != 0 {
			c = heldChanged
		}
		t.held, t.since = t.ahead, mono
	default:
		t.held += min(max(away, -limit), limit)
		if mono-t.since >= standing && t.trusted() {
			t.accept()
			c = followed
		}
	}
	return t.last, t.offset, c
}

// trusted reports whether what is held may be followed without being asked to. A stop
// is believed up to maxElapsed, as at the start.
func (t *timeline) trusted() bool {
	if t.stopped {
		return t.ahead <= maxElapsed
	}
	return t.ahead <= t.trust
}

// accept follows what is held. It reports whether there was anything.
func (t *timeline) accept() bool {
	if t.held == 0 {
		return false
	}
	if t.stopped {
		t.base += t.ahead
		t.last += t.ahead
		t.ahead, t.held, t.stopped = 0, 0, false
		return true
	}
	t.follow()
	return true
}

// follow makes our wall clock what the OS's is.
func (t *timeline) follow() {
	t.offset += t.ahead
	t.ahead, t.held, t.stopped = 0, 0, false
}

// nextLook returns the progress time at which the clocks must be looked at again,
// whatever else happens. waiting says that jobs wait for the wall clock.
func (t *timeline) nextLook(waiting bool) int64 {
	if t.held == 0 && !waiting {
		return t.last + lookIdle
	}
	at := t.last + lookOften
	if stands := t.since + standing - t.monoBase + t.base; t.held != 0 && stands > t.last && t.trusted() {
		at = min(at, stands)
	}
	return at
}

// mono returns the monotonic reading at which progress will reach p.
func (t *timeline) mono(p int64) int64 {
	if p == math.MaxInt64 {
		return p
	}
	return p - t.base + t.monoBase
}
