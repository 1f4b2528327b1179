package shard

import (
	"slices"

	"dqd/commands"
	"dqd/server/shard/dispatch"
	"dqd/server/shard/evaluate"
)

// Commands on any number of jobs (evaluate.Bulk) are resumed batch after batch. A
// reader beside the actor finds their jobs on a snapshot and hands them over in
// pages; the actor takes one slice per batch, behind all calls and wake-ups.

const (
	// maxBulks is how many such commands are at work at a time; the others wait in line.
	maxBulks = 2
	// bulkPage is how many jobs a reader hands over at a time.
	bulkPage = 1024
	// A slice has at most sliceJobs jobs (Options.Slice), and about sliceBytes of effects
	// and bodies read, and ends when stepTime has passed.
	sliceJobs  = 128
	sliceBytes = 256 << 10
)

// errPartly is the answer to a bulk command that did not come to its end.
const errPartly = commands.Error("INDOUBT this node stopped while the command was at work: some of its jobs are done, or all; send it again to do the rest")

// bulk is a command that works in slices.
type bulk struct {
	call  *Call
	work  *evaluate.Bulk
	pages chan []dispatch.Hint // of the reader; nil = it has none yet, or no more
	page  []dispatch.Hint      // what is left of the latest one
	stop  chan struct{}        // closed when it ends: its reader need not go on
}

// refuse sets the answer of a call that fails. Of a bulk command some slices may be
// done: then nobody may say that nothing was.
func (c *Call) refuse(reply commands.Reply) {
	if c.partly {
		reply = errPartly
	}
	c.Reply = reply
}

// beginBulk accepts a bulk command, between batches. It returns the reply if there is
// nothing to do; then the batch may have changed a little.
func (s *Shard) beginBulk(b *evaluate.Batch, c *Call) commands.Reply {
	s.bytes.Add(-int64(c.Size))
	if c.Client.Gone() {
		return ErrGone
	}
	work, reply := b.BeginBulk(c.Request)
	s.dropped(c, reply)
	if work != nil {
		s.bulks = append(s.bulks, &bulk{call: c, work: work, stop: make(chan struct{})})
	}
	return reply
}

// startBulks starts the readers of the bulk commands that have none. It is called
// while nothing is in flight.
func (s *Shard) startBulks() {
	for _, w := range s.bulks[:min(maxBulks, len(s.bulks))] {
		if w.pages == nil {
			w.pages = make(chan []dispatch.Hint, 1)
			s.readBulk(w, w.pages)
		}
	}
}

// wantsBulks reports whether startBulks has something to do.
func (s *Shard) wantsBulks() bool {
	return slices.ContainsFunc(s.bulks[:min(maxBulks, len(s.bulks))], func(w *bulk) bool { return w.pages == nil })
}

// readBulk hands over the jobs that a command is about, and an empty page behind the
// last ones.
func (s *Shard) readBulk(w *bulk, pages chan<- []dispatch.Hint) {
	stops := func() bool {
		select {
		case <-w.stop:
			return true
		default:
			return s.quits()
		}
	}
	send := func(page []dispatch.Hint) bool {
		select {
		case pages <- page:
			s.poke()
			return true
		case <-w.stop:
		case <-s.quit:
		}
		return false
	}
	snapshot := s.opt.State.Snapshot()
	s.besides(func() {
		defer snapshot.Close()
		var page []dispatch.Hint
		going := true
		w.work.Candidates(stoppable{store{snapshot, s.opt.Fatal}, stops}, s.opt.Limits, func(h dispatch.Hint) bool {
			if page = append(page, h); len(page) == bulkPage {
				going = send(page)
				page = nil
			}
			return going
		})
		if going && len(page) > 0 {
			going = send(page)
		}
		if going && !stops() {
			send(nil)
		}
	})
}

// slice lets one of the bulk commands at work go on, in turns. It reports whether it
// did; the answer of one that is done goes with the batch.
func (s *Shard) slice(b *evaluate.Batch, answer func(*Call, commands.Reply)) bool {
	for i, w := range s.bulks[:min(maxBulks, len(s.bulks))] {
		if len(w.page) == 0 && len(w.pages) == 0 {
			continue
		}
		// The one behind it gets the next turn.
		if i == 0 && len(s.bulks) > 1 {
			s.bulks[0], s.bulks[1] = s.bulks[1], s.bulks[0]
		}
		over := false
		if len(w.page) == 0 {
			w.page = <-w.pages
			over = len(w.page) == 0
		}
		w.markPartly()
		s.take(b, w)
		if over || w.work.Full() {
			w.pages = nil
			if reply := b.Pass(w.work); reply != nil {
				s.endBulk(w)
				s.dropped(w.call, reply)
				answer(w.call, reply)
			}
		}
		return true
	}
	return false
}

// take takes one slice of the jobs at hand.
func (s *Shard) take(b *evaluate.Batch, w *bulk) {
	full := b.Size() + sliceBytes
	until := s.opt.Clock.Mono() + stepTime
	for n := 0; n < s.opt.Slice && len(w.page) > 0 && !w.work.Full() && b.Size() < full && s.opt.Clock.Mono() <= until; n += stepJobs {
		step := min(stepJobs, s.opt.Slice-n, len(w.page))
		rest := b.Take(w.work, w.page[:step], full-b.Size())
		w.page = w.page[step-len(rest):]
	}
}

// bulksReady reports whether slice, or startBulks, has something to do at once.
func (s *Shard) bulksReady() bool {
	return slices.ContainsFunc(s.bulks[:min(maxBulks, len(s.bulks))], func(w *bulk) bool {
		return len(w.page) > 0 || len(w.pages) > 0 || w.pages == nil
	})
}

// markPartly notes that some of the command's slices are in batches already.
func (w *bulk) markPartly() { w.call.partly = w.work.Count() > 0 }

// dropped forgets this node's figures of a queue that was dropped.
func (s *Shard) dropped(c *Call, reply commands.Reply) {
	if r, ok := c.Request.(*commands.Drop); ok && reply == commands.Int(1) {
		delete(s.stats.queues, string(r.Queue))
	}
}

// stopBulks ends all bulk commands and returns their calls.
func (s *Shard) stopBulks() (calls []*Call) {
	for _, w := range slices.Clone(s.bulks) {
		s.endBulk(w)
		w.markPartly()
		calls = append(calls, w.call)
	}
	return calls
}

func (s *Shard) endBulk(w *bulk) {
	close(w.stop)
	s.bulks = slices.DeleteFunc(s.bulks, func(o *bulk) bool { return o == w })
}

// giveUpBulks ends the bulk commands of a client that is gone, but for those at work:
// they go on, as they would if it had left a moment later.
func (s *Shard) giveUpBulks(c Client) {
	var answers []*Call
	for _, w := range slices.Clone(s.bulks[min(maxBulks, len(s.bulks)):]) {
		if w.call.Client == c {
			s.endBulk(w)
			w.call.Reply = ErrGone
			answers = append(answers, w.call)
		}
	}
	s.answer(answers)
}
