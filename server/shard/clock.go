package shard

import "dqd/commands"

// clock answers DQCLOCK.
func (s *Shard) clock(r *commands.Clock) commands.Reply {
	if r.Accept && s.timeline.accept() {
		s.opt.Logger.Warn("DQCLOCK ACCEPT: the held wall-clock step is followed", "offset_ns", s.timeline.offset)
	}
	return s.clockInfo()
}

func (s *Shard) clockInfo() *commands.ClockInfo {
	t := s.timeline
	info := &commands.ClockInfo{
		Now:      t.last + t.offset,
		OffsetUs: t.held / 1000,
		Steps:    t.steps,
		State:    "ok",
	}
	if t.held != 0 {
		info.State = "held"
	}
	if s.opt.ClockInfo != nil {
		c := s.opt.ClockInfo()
		info.Source, info.TSCHz, info.UncertaintyUs = c.Source, c.HzTSC, (c.UncertaintyNs+999)/1000
	}
	return info
}
