package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist/record"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
)

// survey describes what the shard tells of its largest queues, a line each.
func (b *bench) survey() string {
	b.t.Helper()
	s := b.shard.Survey(context.Background())
	if s == nil {
		b.t.Fatal("there is no survey")
	}
	var out []string
	for i := range s.Queues {
		q := &s.Queues[i]
		line := fmt.Sprintf("%s: %d delayed, %d ready, %d leased, oldest %v", q.Name, q.Delayed, q.Ready, q.Leased, time.Duration(q.OldestReady))
		if q.Waiting > 0 {
			line += fmt.Sprintf(", %d wait", q.Waiting)
		}
		if q.Holds != (shard.Holds{}) {
			line += fmt.Sprintf(", held by %+v", q.Holds)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestSurvey: the largest queues come first, with what operators ask for.
func TestSurvey(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQMADD small JOBS 1 a x +0")
		b.do(c, "DQMADD big JOBS 3 a x +0 b x +0 c x +5s")
		b.after(2*time.Second, c)
		b.do(c, "DQADD big urgent x PRI 1")
		b.do(&shardtest.Client{}, "DQPOP none BLOCK 30s")
		b.want(b.survey(), "big: 1 delayed, 3 ready, 0 leased, oldest 2s\nsmall: 0 delayed, 1 ready, 0 leased, oldest 2s")
		b.do(c, "DQPOP small COUNT 1")
		b.do(&shardtest.Client{}, "DQPOP small BLOCK 30s")
		b.want(b.survey(), "big: 1 delayed, 3 ready, 0 leased, oldest 2s\nsmall: 0 delayed, 0 ready, 1 leased, oldest 0s, 1 wait")
		s := b.shard.Survey(context.Background())
		slots := 0
		for _, n := range s.Slots[record.Progress] {
			slots += n
		}
		if s.Totals.Ready != 3 || s.Totals.Leased != 1 || s.Timers != [2]int64{1, 0} || slots != 1 {
			t.Errorf("totals %+v, timers %v, %d slots", s.Totals, s.Timers, slots)
		}
	})
}

// TestSurveyHolds: what holds a queue back is told, as long as it does.
func TestSurveyHolds(t *testing.T) {
	for _, step := range []struct{ lines, want string }{
		{"DQPAUSE q IN FOR 1s", "{PauseIn:true PauseOut:false MaxLen:false MaxInflight:false Rate:false}"},
		{"DQPAUSE q OUT FOR 1s", "{PauseIn:false PauseOut:true MaxLen:false MaxInflight:false Rate:false}"},
		{"DQCONFIG SET q max-len 2", "{PauseIn:false PauseOut:false MaxLen:true MaxInflight:false Rate:false}"},
		{"DQCONFIG SET q max-inflight 1|DQPOP q LEASE 1s", "{PauseIn:false PauseOut:false MaxLen:false MaxInflight:true Rate:false}"},
		{"DQCONFIG SET q rate 1|DQPOP q", "{PauseIn:false PauseOut:false MaxLen:false MaxInflight:false Rate:true}"},
	} {
		run(t, func(b *bench) {
			c := &shardtest.Client{}
			b.do(c, "DQMADD q JOBS 2 a x +0 b x +0")
			if got := b.survey(); strings.Contains(got, "held") {
				t.Errorf("%s: at first %s", step.lines, got)
			}
			for line := range strings.SplitSeq(step.lines, "|") {
				b.do(c, line)
			}
			if got := b.survey(); !strings.HasSuffix(got, "held by "+step.want) {
				t.Errorf("%s:\n%s\nwant %s", step.lines, got, step.want)
			}
			b.do(c, "DQCONFIG SET q max-len 3")
			b.after(time.Second, c)
			if got := b.survey(); strings.Contains(got, "held") {
				t.Errorf("%s: at last %s", step.lines, got)
			}
		})
	}
}

// TestSurveyAfterARestart: queues that nobody touched since are in it.
func TestSurveyAfterARestart(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQMADD small JOBS 1 a x +1h")
		b.do(c, "DQMADD big JOBS 2 a x +1h b x +1h")
		want := b.survey()
		b.log.Lead(false)
		synctest.Wait()
		if s := b.shard.Survey(context.Background()); s != nil {
			t.Errorf("a node that does not lead has a survey: %+v", s)
		}
		b.log.Lead(true)
		synctest.Wait()
		b.want(b.survey(), want)
	})
}

// TestSurveyOfManyQueues has the largest of them, before and after a new start.
func TestSurveyOfManyQueues(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		for i := range 2*evaluate.SurveyMax + 100 {
			b.do(c, fmt.Sprintf("DQADD q%04d a x", i))
		}
		b.do(c, "DQADD q2100 b x")
		b.do(c, "DQADD q0007 b x")
		for range 2 {
			s := b.shard.Survey(context.Background())
			if len(s.Queues) != evaluate.SurveyMax || string(s.Queues[0].Name) != "q0007" || string(s.Queues[1].Name) != "q2100" {
				t.Fatalf("%d queues, first %s and %s", len(s.Queues), s.Queues[0].Name, s.Queues[1].Name)
			}
			b.log.Lead(false)
			b.log.Lead(true)
			synctest.Wait()
		}
	})
}

// TestSurveysTogether: all who ask while one is at work, or waits, get that one, also
// while leadership comes and goes.
func TestSurveysTogether(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x")
		release := b.log.Hold()
		b.do(c, "DQADD q b x") // surveys wait
		surveys := make(chan *shard.Survey, 100)
		for range cap(surveys) {
			go func() { surveys <- b.shard.Survey(context.Background()) }()
		}
		synctest.Wait()
		release()
		first := <-surveys
		for range cap(surveys) - 1 {
			if s := <-surveys; s != first || s == nil {
				t.Fatal("there were several")
			}
		}
		for range 50 {
			go func() { surveys <- b.shard.Survey(context.Background()) }()
			b.log.Lead(false)
			b.log.Lead(true)
			<-surveys
		}
		synctest.Wait()
		b.want(b.survey(), "q: 0 delayed, 2 ready, 0 leased, oldest 0s")
	})
}

// TestSurveyEnds with its context while nothing gets through, and with the shard.
func TestSurveyEnds(t *testing.T) {
	run(t, func(b *bench) {
		release := b.log.Hold()
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x")
		for range 3 { // those that gave up do not pile up
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			if s := b.shard.Survey(ctx); s != nil {
				t.Errorf("a survey while an entry is stuck: %+v", s)
			}
			cancel()
		}
		release()
		b.want(b.survey(), "q: 0 delayed, 1 ready, 0 leased, oldest 3s")
	})
	run(t, func(b *bench) {
		log := shardtest.NewLog(b.state)
		other := shard.New(shard.Options{Log: log, State: b.state, Clock: b.clock, Logger: slog.New(slog.DiscardHandler), Limits: evaluate.DefaultLimits()})
		synctest.Wait()
		other.Close()
		log.Close()
		if s := other.Survey(context.Background()); s != nil {
			t.Errorf("a survey of a closed shard: %+v", s)
		}
	})
}
