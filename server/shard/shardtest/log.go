// Package shardtest has what tests need to run a shard without a server: a log
// that applies entries at once, or when it is told to, and a client that keeps its
// replies.
package shardtest

import (
	"sync"
	"sync/atomic"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm"
	"dqd/raftfsm/effect"
)

// Log is a test double of the replicated log: it applies each entry to a real
// state store, in order, on a goroutine of its own. Nothing is durable.
type Log struct {
	State  *persist.State
	leader chan bool

	mu      sync.Mutex
	hold    chan struct{} // entries wait until it is closed; nil = they do not
	step    chan struct{} // an entry waits until it may take one from it; nil = it does not
	fail    []error       // of the next entries, which are not applied
	applied record.Applied
	index   uint64
	queue   chan proposal
	waiting atomic.Int32
	stopped chan struct{}
}

type proposal struct {
	entry []byte
	done  func(error)
}

// NewLog returns a log over a state store; it leads at once.
func NewLog(state *persist.State) *Log {
	l := &Log{State: state, leader: make(chan bool, 1), queue: make(chan proposal, 16), stopped: make(chan struct{})}
	if v, ok, err := state.Get(record.AppliedKey()); err != nil {
		panic(err)
	} else if ok {
		if l.applied, err = record.DecodeApplied(v); err != nil {
			panic(err)
		}
		l.index = l.applied.Index
	}
	l.leader <- true
	go l.run()
	return l
}

func (l *Log) run() {
	defer close(l.stopped)
	for p := range l.queue {
		l.mu.Lock()
		hold := l.hold
		l.mu.Unlock()
		if hold != nil {
			<-hold
		}
		l.mu.Lock()
		step := l.step
		l.mu.Unlock()
		if step != nil {
			<-step
		}
		if err := l.failure(); err != nil {
			p.done(err)
			continue
		}
		l.index++
		b := l.State.Batch()
		next, fenced, err := effect.Apply(b, l.Applied(), 0, l.index, 1, p.entry)
		if err != nil {
			panic("shardtest: entry refused: " + err.Error())
		}
		if err := b.Commit(); err != nil {
			panic(err)
		}
		l.mu.Lock()
		l.applied = next
		l.mu.Unlock()
		if fenced {
			p.done(raftfsm.ErrFenced)
		} else {
			p.done(nil)
		}
	}
}

func (l *Log) failure() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fail) > 0 {
		err, l.fail = l.fail[0], l.fail[1:]
	}
	return err
}

// Hold keeps entries from being applied until the returned function is called.
func (l *Log) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hold := make(chan struct{})
	l.hold = hold
	return func() {
		l.mu.Lock()
		l.hold = nil
		l.mu.Unlock()
		close(hold)
	}
}

// Steps keeps entries from being applied, but for one per Step, until Flow is called.
func (l *Log) Steps() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.step = make(chan struct{}, 1<<16)
}

// Step lets one entry pass, or the next one that comes.
func (l *Log) Step() {
	l.mu.Lock()
	step := l.step
	l.mu.Unlock()
	if step == nil {
		panic("shardtest: Step without Steps")
	}
	step <- struct{}{}
}

// Flow ends what Steps began.
func (l *Log) Flow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.step)
	l.step = nil
}

// Waiting returns how many entries are not done with.
func (l *Log) Waiting() int { return int(l.waiting.Load()) }

// Fail lets the next entries fail with these errors.
func (l *Log) Fail(errs ...error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = errs
}

// Lead tells the shard that this node starts, or stops, to lead.
func (l *Log) Lead(lead bool) { l.leader <- lead }

// Propose implements shard.Log.
func (l *Log) Propose(entry []byte, done func(error)) {
	l.waiting.Add(1)
	l.queue <- proposal{entry, func(err error) {
		l.waiting.Add(-1)
		done(err)
	}}
}

// Applied implements shard.Log.
func (l *Log) Applied() record.Applied {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.applied
}

// Leadership implements shard.Log.
func (l *Log) Leadership() <-chan bool { return l.leader }

// Barrier implements shard.Log.
func (l *Log) Barrier() error { return nil }

// Close ends the log's goroutine; the shard must be closed before.
func (l *Log) Close() {
	close(l.queue)
	<-l.stopped
}
