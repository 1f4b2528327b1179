package shard

import "time"

// stepMin is the smallest difference between the OS wall clock and ours that
// counts as a step; what is smaller is slewed.
const stepMin = int64(50 * time.Millisecond)

// slewPPM bounds how fast small differences are taken back: 500 µs per second.
const slewPPM = 500

// maxElapsed is the longest stop of a node after which the wall clock is
// believed: progress goes on by the elapsed wall time.
const maxElapsed = int64(366 * 24 * time.Hour)

// timeline turns what a node's clocks say into cluster time, by the clock rule
// (PROMISES §3): progress, which never steps, and the wall offset, which follows
// the OS wall clock backwards at once, forwards only by slewing (a forward step
// is held), and small errors at most at slewPPM. It is pure: readings go in.
type timeline struct {
	// progress = base + (mono − monoBase)
	base, monoBase int64
	offset         int64
	slewed         int64 // mono time up to which slewing is accounted for
	last           int64 // the latest progress time given out

	steps int64 // steps seen, held or followed
	held  int64 // a forward step that is not followed, ns; 0 = none
	// stopped says that the node itself stood still longer than maxElapsed: then
	// what is held is progress, not offset.
	stopped bool
}

// newTimeline continues cluster time after a start: lastTime and lastOffset are
// of the newest applied entry, both 0 on an empty store.
func newTimeline(lastTime, lastOffset, mono, wall int64) *timeline {
	t := &timeline{base: lastTime, monoBase: mono, offset: lastOffset, slewed: mono, last: lastTime}
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

// at returns cluster time for the readings mono and wall. stepped says that the
// wall clock went back and the offset with it: AT jobs wait for the corrected
// wall, so the wall window must be made anew.
func (t *timeline) at(mono, wall int64) (progress, offset int64, stepped bool) {
	progress = max(t.last, t.base+mono-t.monoBase)
	t.last = progress
	difference := wall - progress - t.offset
	switch {
	case difference < -stepMin:
		t.offset += difference
		t.steps++
		t.held, t.stopped = 0, false
		stepped = true
	case difference > stepMin:
		// One step is counted once, however often it is looked at, and although it drifts.
		if t.held == 0 || difference-t.held > stepMin || t.held-difference > stepMin {
			t.steps++
			t.held = difference
		}
	default:
		t.held, t.stopped = 0, false
		limit := (mono - t.slewed) / 1_000_000 * slewPPM
		t.offset += min(max(difference, -limit), limit)
		if limit == 0 {
			return progress, t.offset, false // too soon: let the allowance grow
		}
	}
	t.slewed = mono
	return progress, t.offset, stepped
}

// accept follows a held forward step. It reports whether there was one.
func (t *timeline) accept() bool {
	if t.held == 0 {
		return false
	}
	if t.stopped {
		t.base += t.held
	} else {
		t.offset += t.held
	}
	t.held, t.stopped = 0, false
	return true
}

// mono returns the monotonic reading at which progress will reach p.
func (t *timeline) mono(p int64) int64 {
	const max = 1<<63 - 1
	if p == max {
		return max
	}
	return p - t.base + t.monoBase
}
