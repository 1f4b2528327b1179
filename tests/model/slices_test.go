package model_test

import (
	"flag"
	"testing"
	"testing/synctest"

	"dqd/server/shard/shardtest"
	"dqd/tests/model"
)

var (
	slicesSeed  = flag.Uint64("slices.seed", 0, "run the slices on this seed only")
	slicesSeeds = flag.Int("slices.seeds", 12, "how many seeds the slices run")
)

// stepped is a shard that takes commands on many jobs in slices of a few, and whose log is
// held up.
type stepped struct {
	*subject
	number map[int]int // client → number of its command
	held   bool
}

func (s *stepped) Hold() {
	s.held = true
	s.log.Steps()
}

func (s *stepped) Step() bool {
	if s.log.Waiting() == 0 {
		return false
	}
	s.log.Step()
	s.wait()
	return true
}

func (s *stepped) Flow() {
	s.held = false
	s.log.Flow()
	s.wait()
}

func (s *stepped) Close() {
	if s.held {
		s.Flow()
	}
	s.subject.Close()
}

func (s *stepped) Send(n, client int, args []string, queued [][]string) {
	c := s.clients[client]
	if c == nil {
		c = &shardtest.Client{}
		s.clients[client] = c
	}
	s.number[client] = n
	if queued != nil {
		c.Exec(s.shard, queued...)
	} else {
		c.Do(s.shard, args...)
	}
	s.wait()
}

func (s *stepped) Answers() map[int]model.Reply {
	answers := map[int]model.Reply{}
	for client, n := range s.number {
		for _, call := range s.clients[client].Replies() {
			answers[n] = tree(call.Reply)
			delete(s.number, client)
		}
	}
	return answers
}

func (s *stepped) Waits(n, client int) {
	s.number[client] = n
	delete(s.parked, client)
}

func (s *stepped) Parked(client int) {
	s.parked[client] = true
	delete(s.number, client)
}

// Between the slices of commands on many jobs others change the same queues: adds, pops, acks,
// cancels, settings, a second such command. Every answer, and all that is there at the end, must be
// what the model says for one of the ways in which slices and commands can have followed each
// other; each slice is whole (I7, I10).
func TestShardBetweenSlices(t *testing.T) {
	commands := 0
	for seed := range *slicesSeeds {
		seed := uint64(seed + 1)
		if *slicesSeed != 0 {
			seed = *slicesSeed
		}
		n, bad := runSlices(t, seed, "")
		if bad != nil {
			t.Fatalf("-slices.seed %d: %v", seed, bad)
		}
		commands += n
		if *slicesSeed != 0 {
			return
		}
	}
	t.Logf("%d commands came between slices", commands)
	if commands < 5**slicesSeeds {
		t.Error("too few: the test does not show what it should")
	}
}

// It sees what it must see.
func TestBetweenSlicesSeesFaults(t *testing.T) {
	from := map[string]uint64{"overlooks what moved": 5, "takes what came later": 12} // the first seeds that do; 0 = one of the first
	for _, fault := range model.SliceFaults() {
		t.Run(fault, func(t *testing.T) {
			for seed := max(1, from[fault]); seed <= 60; seed++ {
				if _, bad := runSlices(t, seed, fault); bad != nil {
					t.Logf("found at seed %d: %.200s", seed, bad.Text)
					return
				}
			}
			t.Error("it goes unnoticed")
		})
	}
}

func runSlices(t *testing.T, seed uint64, fault string) (commands int, bad *model.Mismatch) {
	const size = 2
	synctest.Test(t, func(*testing.T) {
		commands, bad = model.RunSlices(seed, 8, size, fault, func() model.Stepped {
			s := newSubject(seed)
			s.stop()
			s.stays, s.slice = true, size
			s.start()
			return &stepped{subject: s, number: map[int]int{}}
		})
	})
	return commands, bad
}
