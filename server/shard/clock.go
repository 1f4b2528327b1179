package shard

import (
	"math"
	"time"

	"dqd/commands"
	"dqd/server/shard/evaluate"
)

// readings is how often the clocks are read to get the two of one moment, and
// oneMoment the time within which they then are.
const (
	readings  = 8
	oneMoment = int64(100 * time.Microsecond)
)

// stamp reads the clocks and returns cluster time.
func (s *Shard) stamp() (now evaluate.Now, c change) {
	mono, wall := s.opt.Clock.Mono(), s.opt.Clock.Wall()
	if s.alarmAt <= mono {
		if s.opt.Observe.TimerError != nil {
			s.opt.Observe.TimerError(mono - s.alarmAt)
		}
		s.alarmAt = math.MaxInt64
	}
	if !s.timeline.agrees(mono, wall) {
		mono, wall = s.readClocks()
	}
	now.Progress, now.Offset, c = s.timeline.at(mono, wall)
	s.logClock(c)
	return now, c
}

// readClocks reads both clocks as of one moment. What looks like a step may be a
// suspension that the monotonic clock does not count yet, or a pause of this thread
// between the two readings.
func (s *Shard) readClocks() (mono, wall int64) {
	clock := s.opt.Clock
	clock.CatchUp()
	best := int64(math.MaxInt64)
	for range readings {
		before := clock.Mono()
		w := clock.Wall()
		after := clock.Mono()
		if after-before < best {
			best, mono, wall = after-before, before+(after-before)/2, w
		}
		if best <= oneMoment {
			break
		}
	}
	return mono, wall
}

// logClock tells of each step once.
func (s *Shard) logClock(c change) {
	t, log := s.timeline, s.opt.Logger
	ahead, wall := time.Duration(t.ahead), time.Duration(t.offset)
	switch c {
	case wentBack:
		log.Warn("the wall clock stepped back: AT jobs wait for it", "offset", wall)
	case wentForward, heldChanged:
		text := "the wall clock stepped forward: AT jobs wait until it returns, or for DQCLOCK ACCEPT"
		switch {
		case t.trusted():
			text = "the wall clock stepped forward: it is followed if it stays so for 10 s"
		case t.stopped:
			text = "since the last entry more than 366 days have passed by the wall clock: time goes on from there until the clock returns, or DQCLOCK ACCEPT"
		}
		log.Warn(text, "ahead", ahead)
	case heldReturned:
		log.Warn("the wall clock returned: nothing is held any more", "ahead", ahead)
	case followed:
		log.Warn("the wall clock's step is followed: it has stood for 10 s", "offset", wall)
	}
}

// clockInfo is what DQCLOCK answers.
func (s *Shard) clockInfo() commands.ClockInfo {
	t := s.timeline
	info := commands.ClockInfo{
		Now:      t.last + t.offset,
		OffsetUs: t.ahead / 1000,
		Steps:    t.steps,
		State:    "ok",
	}
	if t.held != 0 {
		info.State = "held"
	}
	if s.opt.ClockInfo != nil {
		c := s.opt.ClockInfo()
		info.Source, info.TSCHz = c.Source, c.HzTSC
		info.UncertaintyUs = (c.UncertaintyNs + max(c.ResidualNs, -c.ResidualNs) + 999) / 1000
	}
	return info
}
