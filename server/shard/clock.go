package shard

import "dqd/commands"

// clockInfo is what DQCLOCK answers.
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
