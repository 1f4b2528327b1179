package shard

import (
	"fmt"

	"dqd/commands"
	"dqd/server/shard/evaluate"
)

// What reads much of the store does so on a snapshot, beside the actor, which must not
// wait for it.

// renewKnown starts to fill a new filter of known ids, if the memory wants one.
func (s *Shard) renewKnown() {
	m := s.memory
	filter := m.RenewKnown()
	if filter == nil {
		return
	}
	snapshot := s.opt.State.Snapshot()
	s.besides(func() {
		defer snapshot.Close()
		if evaluate.LearnStored(store{snapshot, s.opt.Fatal}, filter, s.quits) {
			s.mu.Lock()
			s.inbox.known = append(s.inbox.known, filledKnown{m, filter})
			s.unlockAndPoke()
		}
	})
}

// quits reports that the shard ends.
func (s *Shard) quits() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// read is a call that is answered beside the actor.
type read struct {
	call *Call
	run  func(store evaluate.Snapshot, now evaluate.Now) commands.Reply
}

// beside returns what answers a call that reads much.
func (s *Shard) beside(b *evaluate.Batch, c *Call) func(evaluate.Snapshot, evaluate.Now) commands.Reply {
	limits := s.opt.Limits
	switch r := c.Request.(type) { // those that need the actor's memory too
	case *commands.Stats:
		sums := b.TotalStats()
		s.stats.fill(sums, nil)
		return func(st evaluate.Snapshot, now evaluate.Now) commands.Reply {
			evaluate.AddAges(st, now, limits, sums)
			return sums
		}
	case *commands.Scan:
		windows := s.scans
		part := windows.take(r)
		return func(st evaluate.Snapshot, now evaluate.Now) commands.Reply {
			reply, used := evaluate.Scan(st, now, limits, r, part.windows)
			windows.give(part, used)
			return reply
		}
	}
	return func(st evaluate.Snapshot, now evaluate.Now) commands.Reply {
		switch r := c.Request.(type) {
		case *commands.Peek:
			return evaluate.Peek(st, now, limits, r)
		case *commands.Purge:
			return evaluate.DryPurge(st, now, limits, r)
		case *commands.Range:
			return evaluate.Range(st, now, limits, r)
		case *commands.Count:
			return evaluate.CountRange(st, now, limits, r)
		case *commands.Queues:
			return evaluate.Queues(st, now, limits, r)
		case *commands.DeadJobs:
			return evaluate.Dead(st, now, limits, r)
		}
		panic(fmt.Sprintf("shard: nothing answers %T", c.Request))
	}
}

// startReads starts readers for the calls that wait for one, each on a snapshot of
// committed state: the actor must not wait for them. It is called between batches.
func (s *Shard) startReads(now evaluate.Now) {
	for s.reading < maxReaders && len(s.reads) > 0 {
		r := s.reads[0]
		s.reads = s.reads[1:]
		s.reading++
		snapshot := s.opt.State.Snapshot()
		s.besides(func() {
			defer snapshot.Close()
			r.call.Reply = r.run(stoppable{store{snapshot, s.opt.Fatal}, s.quits}, now)
			if s.quits() { // it may have seen a part only
				r.call.Reply = errShutDown
			}
			s.deliver([]*Call{r.call})
			s.mu.Lock()
			s.inbox.readDone++
			s.unlockAndPoke()
		})
	}
}

// besides runs f beside the actor; it must end by itself.
func (s *Shard) besides(f func()) {
	s.readers.Go(func() {
		defer s.fatalPanic()
		f()
	})
}
