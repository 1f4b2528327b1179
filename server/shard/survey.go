package shard

import (
	"context"

	"dqd/server/shard/evaluate"
)

// Survey is what operators see of the largest queues and of the timers.
type Survey = evaluate.Survey

// SurveyedQueue is a queue of a Survey.
type SurveyedQueue = evaluate.SurveyedQueue

// Holds are what holds a queue back.
type Holds = evaluate.Holds

// surveyCall is a survey that was asked for, by one or several.
type surveyCall struct {
	done   chan struct{} // closed when survey is whole
	survey *Survey       // set by the actor when it is at work
}

// Survey looks at the largest queues and the timers. It waits for the actor's next
// boundary, and for a few thousand look-ups beside it; one that is at work answers all who
// ask meanwhile. The result is nil while this node does not lead, after Close, and when ctx
// ends first.
func (s *Shard) Survey(ctx context.Context) *Survey {
	c := &surveyCall{done: make(chan struct{})}
	for !s.asked.CompareAndSwap(nil, c) {
		if other := s.asked.Load(); other != nil {
			c = other
			break
		}
	}
	s.mu.Lock()
	s.unlockAndPoke()
	select {
	case <-c.done:
		return c.survey
	case <-s.done:
	case <-ctx.Done():
	}
	return nil
}

// noSurvey answers that there is none: this node does not lead.
func (s *Shard) noSurvey() {
	if c := s.asked.Load(); c != nil && c.survey == nil {
		s.asked.Store(nil)
		close(c.done)
	}
}

// survey makes the one that was asked for. What it needs of the store is read beside
// the actor.
func (s *Shard) survey(b *evaluate.Batch) {
	c := s.asked.Load()
	if c == nil || c.survey != nil {
		return
	}
	c.survey = b.Survey()
	snapshot := s.opt.State.Snapshot()
	s.besides(func() {
		defer snapshot.Close()
		c.survey.AddAges(stoppable{store{snapshot, s.opt.Fatal}, s.quits})
		s.asked.Store(nil)
		close(c.done)
	})
}
