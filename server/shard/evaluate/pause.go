package evaluate

import (
	"fmt"

	"dqd/commands"
	"dqd/persist/record"
)

// pause evaluates DQPAUSE. FOR counts on progress time, UNTIL follows the wall.
func (b *Batch) pause(r *commands.Pause) commands.Reply {
	until := record.Endless
	if r.Until.Kind != commands.DueNone {
		until = b.due(r.Until)
		switch left := until.Ns - b.now.In(until.Domain); {
		case left <= 0:
			return commands.Error(fmt.Sprintf("BADTIME UNTIL %d ms is over already: give a later time, or DQRESUME the queue", commands.MsUp(until.Ns)))
		case left > b.limit.MaxAhead:
			return commands.Error(fmt.Sprintf("BADTIME UNTIL %d ms is more than 100 years ahead: leave it out for a pause without end", commands.MsUp(until.Ns)))
		}
	}
	q := b.queueNamed(r.Queue)
	if q == nil {
		if err := b.roomForQueue(); err != "" {
			return err
		}
		q = b.create(r.Queue)
	}
	b.setPause(q, r.Ways, until)
	return b.pauseInfo(q)
}

// resume evaluates DQRESUME.
func (b *Batch) resume(r *commands.Resume) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return &commands.PauseInfo{State: "none"}
	}
	b.setPause(q, r.Ways, record.Instant{})
	b.removeIfBare(q)
	return b.pauseInfo(q)
}

func (b *Batch) setPause(q *queue, ways commands.Ways, until record.Instant) {
	in, out := q.InUntil, q.OutUntil
	if ways&commands.WayIn != 0 {
		in = until
	}
	if ways&commands.WayOut != 0 {
		out = until
	}
	if in != q.InUntil || out != q.OutUntil {
		b.touch(q)
		q.InUntil, q.OutUntil = in, out
		b.wants(q) // also when it goes on: it may have another end
	}
}

// paused names the ways that are paused now.
func (b *Batch) paused(q *queue) string {
	in, out := b.now.before(q.InUntil), b.now.before(q.OutUntil)
	switch {
	case in && out:
		return "all"
	case in:
		return "in"
	case out:
		return "out"
	}
	return "none"
}

func (b *Batch) pauseInfo(q *queue) *commands.PauseInfo {
	return &commands.PauseInfo{State: b.paused(q), InUntil: b.shownEnd(q.InUntil), OutUntil: b.shownEnd(q.OutUntil)}
}

// shownEnd is the end of a pause for clients; 0 if it has none, or is over.
func (b *Batch) shownEnd(until record.Instant) int64 {
	if until == record.Endless || !b.now.before(until) {
		return 0
	}
	return b.now.shown(until)
}
