package raftfsm

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// maxInFlight bounds the proposals that raft has not answered. Raft's queue holds
// as many, so handing one over never blocks.
const maxInFlight = 48

// proposals are the entries on their way, answered in the order of proposal.
//
// A success is known first on raft's FSM thread, which answers it at once; all
// else is known from raft's future, for which the watcher waits. The two never
// answer at the same time.
type proposals struct {
	observe func(ObserveKind, time.Time)

	mu       sync.Mutex
	queue    []*proposal // not yet answered, in order of proposal
	inRaft   int         // of them, those that raft has
	draining bool        // someone is calling done functions
	closed   bool        // refuse all from now on
	// abandoned: the watcher is no more.
	abandoned bool
	empty     *sync.Cond // signalled when the queue becomes empty

	proposing sync.Mutex     // keeps the queue in the order of raft's queue
	watch     chan *proposal // to the watcher, in order
	watched   chan struct{}  // closed when the watcher has ended
}

type proposal struct {
	data    []byte      // nil for a barrier
	future  raft.Future // nil if raft never got it
	refused error       // why raft never got it
	done    func(error)
	start   time.Time // zero if raft never got it

	settled bool  // guarded by proposals.mu
	err     error // the outcome, if settled
}

func newProposals(observe func(ObserveKind, time.Time)) *proposals {
	p := &proposals{observe: observe, watch: make(chan *proposal, 4*maxInFlight), watched: make(chan struct{})}
	p.empty = sync.NewCond(&p.mu)
	go p.watcher()
	return p
}

// add hands an entry, or a barrier if data is nil, to raft.
func (p *proposals) add(data []byte, refuse error, submit func() raft.Future, done func(error)) {
	p.proposing.Lock()
	defer p.proposing.Unlock()
	e := &proposal{data: data, done: done, refused: refuse}
	p.mu.Lock()
	switch {
	case refuse != nil:
	case p.closed:
		e.refused = fmt.Errorf("%w: %w", ErrNotProposed, ErrStopped)
	case p.inRaft >= maxInFlight:
		e.refused = fmt.Errorf("%w: %d are in flight", ErrNotProposed, p.inRaft)
	}
	if p.abandoned {
		p.mu.Unlock()
		go done(e.refused) // never from within Propose
		return
	}
	p.queue = append(p.queue, e)
	if e.refused == nil {
		p.inRaft++
		e.start = time.Now()
		p.mu.Unlock()
		e.future = submit()
	} else {
		p.mu.Unlock()
	}
	p.watch <- e
}

func (p *proposals) inFlight() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inRaft
}

// applied answers the proposal with these bytes, if it is one of ours: raft hands
// the FSM the very slice that was proposed.
func (p *proposals) applied(data []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.queue {
		if len(e.data) > 0 && len(data) > 0 && &e.data[0] == &data[0] && !e.settled {
			p.settle(e, err)
			return
		}
	}
}

// watcher waits for raft's answers, one after the other. It ends with the channel.
func (p *proposals) watcher() {
	defer close(p.watched)
	for e := range p.watch {
		err := e.refused
		if e.future != nil {
			err = outcome(e.future.Error(), e.data == nil)
		}
		p.mu.Lock()
		if !e.settled {
			p.settle(e, err)
		}
		p.mu.Unlock()
	}
}

// outcome says what raft's answer means. A future that succeeds without the FSM
// having answered first is that of a barrier, or of an entry that could not be applied.
func outcome(err error, barrier bool) error {
	switch {
	case err == nil && barrier:
		return nil
	case err == nil:
		return ErrInDoubt
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %v", ErrNotProposed, err)
	default: // leadership lost, shut down, log store failed: it may be in the log
		return fmt.Errorf("%w: %v", ErrInDoubt, err)
	}
}

// settle fixes the outcome of a proposal, and calls the done functions of all that
// are settled and have no unsettled one before them. p.mu is held; it is released
// during the calls.
func (p *proposals) settle(e *proposal, err error) {
	e.settled, e.err = true, err
	if !e.start.IsZero() {
		p.inRaft--
	}
	if p.draining {
		return
	}
	p.draining = true
	for len(p.queue) > 0 && p.queue[0].settled {
		first := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		if !first.start.IsZero() && first.err == nil {
			p.observe(ObserveCommit, first.start)
		}
		first.done(first.err)
		p.mu.Lock()
	}
	p.draining = false
	if len(p.queue) == 0 {
		p.queue = nil
		p.empty.Broadcast()
	}
}

// close refuses new proposals and waits, up to the deadline, for the answers to
// the present ones. It must come before raft is shut down: raft forgets what is
// in its queue then.
func (p *proposals) close(patience time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	late := false
	timer := time.AfterFunc(patience, func() {
		p.mu.Lock()
		late = true
		p.mu.Unlock()
		p.empty.Broadcast()
	})
	defer timer.Stop()
	for len(p.queue) > 0 && !late {
		p.empty.Wait()
	}
}

// abandon answers what is left after raft was shut down, and ends the watcher
// unless it waits for an answer that will not come.
func (p *proposals) abandon() {
	p.proposing.Lock()
	defer p.proposing.Unlock()
	close(p.watch)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.abandoned = true, true
	stuck := p.inRaft > 0
	for len(p.queue) > 0 && !p.draining {
		for _, e := range p.queue {
			if !e.settled {
				err := e.refused // the watcher did not get to it yet
				if err == nil {
					err = fmt.Errorf("%w: the node was closed", ErrInDoubt)
				}
				p.settle(e, err)
				break
			}
		}
	}
	if !stuck {
		p.mu.Unlock()
		<-p.watched
		p.mu.Lock()
	}
}
