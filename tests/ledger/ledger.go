// Package ledger remembers what a server has acknowledged, and finds out after
// a crash whether all of it is still true: nothing acknowledged lost, nothing
// acked or cancelled delivered again, no job leased twice at a time, no due time
// moved, counters that add up.
//
// Operations whose answer did not come are open: they may or may not have
// happened. The next look at the job settles which.
//
// Ids are never used twice. Every method may be called from any goroutine.
package ledger

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

// Span is a set of instants in Unix nanoseconds, ends included: AT is exact, DELAY
// lies between the sending of the command and its reply.
type Span struct{ From, To int64 }

// At is the span of one instant.
func At(ns int64) Span { return Span{ns, ns} }

// Around widens an instant by d to both sides.
func Around(ns int64, d time.Duration) Span { return Span{ns - int64(d), ns + int64(d)} }

// Ending is how a job left the server.
type Ending string

const (
	Lives     Ending = ""
	Acked     Ending = "acked"
	Cancelled Ending = "cancelled"
)

// job is what is known of one job.
type job struct {
	added    bool   // the add was answered, or the job was seen
	addOpen  bool   // an add was sent and not answered
	relative bool   // due by DELAY: shown against the wall clock, which is corrected in small steps
	dues     []Span // it has one of these, until its first delivery
	ending   Ending
	endOpen  map[Ending]bool // sent and not answered
	endedAt  time.Time       // the answer had come by then
	leases   []Delivery      // in the order in which they became known
}

// Delivery is what a client knows of a lease that it was given.
type Delivery struct {
	Token int64
	// Due is as delivered, in Unix nanoseconds.
	Due   int64
	Lease time.Duration
	// Sent is when the pop was sent, Received when its reply was there: the lease
	// began in between.
	Sent, Received time.Time
}

// Ledger is what a server has acknowledged.
type Ledger struct {
	mu         sync.Mutex // guards all below
	jobs       map[string]*job
	violations []string
	open       int
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{jobs: map[string]*job{}} }

// Op is an operation that was sent. Exactly one of its methods is called, or
// none if no answer came.
type Op struct {
	l      *Ledger
	settle func(done bool)
}

// Done notes that the server answered that it did it.
func (o Op) Done() { o.answer(true) }

// Refused notes that the server answered that it did not.
func (o Op) Refused() { o.answer(false) }

func (o Op) answer(done bool) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	o.l.open--
	o.settle(done)
}

// Add notes that an add was sent. due may be corrected by Due once it is known.
func (l *Ledger) Add(id string, due Span, relative bool) Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs[id] != nil {
		panic("ledger: id used twice: " + id)
	}
	j := &job{addOpen: true, relative: relative, dues: []Span{due}, endOpen: map[Ending]bool{}}
	l.jobs[id] = j
	l.open++
	return Op{l, func(done bool) {
		j.addOpen = false
		if done {
			j.added = true
		} else if !j.added {
			delete(l.jobs, id)
		}
	}}
}

// Move notes that a reschedule was sent.
func (l *Ledger) Move(id string, due Span, relative bool) Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.jobs[id]
	before := j.dues
	j.dues = append(before[:len(before):len(before)], due)
	j.relative = j.relative || relative
	l.open++
	return Op{l, func(done bool) {
		if done {
			j.dues = []Span{due}
		} else {
			j.dues = before
		}
	}}
}

// End notes that an ack or a cancel was sent.
func (l *Ledger) End(id string, how Ending) Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.jobs[id]
	j.endOpen[how] = true
	l.open++
	return Op{l, func(done bool) {
		delete(j.endOpen, how)
		if done {
			if j.ending != Lives {
				l.violation("%s was %s although it had been %s", id, how, j.ending)
			}
			j.ending, j.endedAt = how, time.Now()
		}
	}}
}

// Delivered notes a delivery.
func (l *Ledger) Delivered(id string, d Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.jobs[id]
	switch {
	case j == nil:
		l.violation("%s was delivered and never added", id)
		return
	case j.ending != Lives && d.Sent.After(j.endedAt):
		l.violation("%s was delivered again after it had been %s", id, j.ending)
	}
	// The two clocks are of one machine; the slack is for their correction.
	if early := time.Duration(d.Due - d.Received.UnixNano()); early > clockSlack {
		l.violation("%s was delivered %v before its due time", id, early)
	}
	for _, other := range j.leases {
		if other.Token == d.Token {
			l.violation("%s was delivered twice with the token %d", id, d.Token)
			continue
		}
		first, second := other, d
		if first.Token > second.Token {
			first, second = second, first
		}
		// The first lease began when its pop was sent, or later.
		if early := first.Sent.Add(first.Lease).Sub(second.Received); early > clockSlack {
			l.violation("%s was leased with the token %d at least %v before the lease of the token %d was over", id, second.Token, early, first.Token)
		}
	}
	j.leases = append(j.leases, d)
	j.added, j.addOpen = true, false
}

const (
	clockSlack = 50 * time.Millisecond
	// relativeSlack is how far the shown due of a DELAY job may move: its progress
	// time is fixed, the wall clock beside it is corrected in small steps.
	relativeSlack = 5 * time.Millisecond
)

// Observed is a job as the server shows it.
type Observed struct {
	Present bool
	State   string
	DueNs   int64
	Attempt int
}

// Counters are a queue's DQSTATS.
type Counters struct {
	Delayed, Ready, Leased, Dead                            int64
	Added, Acked, Noack, Cancelled, Expired, Purged, Pruned int64
}

// Check compares the ledger with a server at rest, and settles what was open.
// It returns everything that was found wrong since the last Check.
func (l *Ledger) Check(look func(id string) (Observed, error), counters func() (Counters, error)) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := map[string]int64{}
	for _, id := range l.ids() {
		seen, err := look(id)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", id, err)
		}
		l.settle(id, l.jobs[id], seen)
		if seen.Present {
			states[seen.State]++
		}
	}
	l.open = 0
	c, err := counters()
	if err != nil {
		return nil, err
	}
	l.count(c, states)
	found := l.violations
	l.violations = nil
	return found, nil
}

// settle compares one job with what the server shows, and decides what was open.
func (l *Ledger) settle(id string, j *job, seen Observed) {
	switch {
	case seen.Present && j.ending != Lives:
		l.violation("%s is there again (%s) after it had been %s", id, seen.State, j.ending)
	case !seen.Present && j.ending == Lives:
		switch {
		case len(j.endOpen) > 0:
			for how := range j.endOpen { // one of them; one at a time is sent
				j.ending, j.endedAt = how, time.Now()
			}
			j.added = true
		case j.added:
			l.violation("%s is lost", id)
			delete(l.jobs, id)
		default: // the add that was open did not happen
			delete(l.jobs, id)
		}
	case seen.Present:
		j.added = true
		l.checkDue(id, j, seen)
	}
	j.addOpen = false
	clear(j.endOpen)
}

func (l *Ledger) checkDue(id string, j *job, seen Observed) {
	if seen.Attempt > 0 || len(j.leases) > 0 {
		return // a retry has a due of its own
	}
	slack := int64(0)
	if j.relative {
		slack = int64(relativeSlack)
	}
	for _, due := range j.dues {
		if seen.DueNs >= due.From-slack && seen.DueNs <= due.To+slack {
			j.dues = []Span{At(seen.DueNs)}
			return
		}
	}
	l.violation("%s has moved: due %d, expected %v", id, seen.DueNs, j.dues)
}

// count checks I7: the counters add up, agree with each other, and with the ledger.
func (l *Ledger) count(c Counters, states map[string]int64) {
	live := c.Delayed + c.Ready + c.Leased
	if sum := live + c.Dead + c.Acked + c.Noack + c.Cancelled + c.Expired + c.Purged + c.Pruned; c.Added != sum {
		l.violation("counters do not add up: added %d, live and ended %d: %+v", c.Added, sum, c)
	}
	var acked, cancelled int64
	for _, j := range l.jobs {
		switch j.ending {
		case Acked:
			acked++
		case Cancelled:
			cancelled++
		}
	}
	for _, pair := range []struct {
		name      string
		got, want int64
	}{
		{"added", c.Added, int64(len(l.jobs))},
		{"acked", c.Acked, acked},
		{"cancelled", c.Cancelled, cancelled},
		{"live", live, states["delayed"] + states["ready"] + states["leased"]},
		{"dead", c.Dead, states["dead"]},
	} {
		if pair.got != pair.want {
			l.violation("counter %s is %d, the ledger says %d", pair.name, pair.got, pair.want)
		}
	}
}

// Living returns the ids of the jobs that have not ended, in order.
func (l *Ledger) Living() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, id := range l.ids() {
		if j := l.jobs[id]; j.added && j.ending == Lives {
			ids = append(ids, id)
		}
	}
	return ids
}

// Summary says what the ledger holds.
func (l *Ledger) Summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[Ending]int{}
	for _, j := range l.jobs {
		n[j.ending]++
	}
	return fmt.Sprintf("%d jobs: %d live, %d acked, %d cancelled; %d operations open",
		len(l.jobs), n[Lives], n[Acked], n[Cancelled], l.open)
}

func (l *Ledger) ids() []string {
	ids := make([]string, 0, len(l.jobs))
	for id := range l.jobs {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

func (l *Ledger) violation(format string, args ...any) {
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}
