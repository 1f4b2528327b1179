package evaluate

import (
	"cmp"
	"slices"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// What operators see of single queues. There may be a million of them, so a list is
// kept of the largest: by their live jobs when they were last changed.

// SurveyMax is how many queues a survey has at most.
const SurveyMax = 1024

// largest is the list. It may grow to twice SurveyMax before it is cut, so that most
// changes cost a comparison.
type largest struct {
	queues []*queue
	floor  int64 // a queue with as many live jobs, or fewer, does not get into a full list
}

// note puts a queue that was changed on the list, if it is large enough.
func (l *largest) note(q *queue) {
	if q.listed || len(l.queues) >= SurveyMax && q.Live() <= l.floor {
		return
	}
	q.listed = true
	if l.queues = append(l.queues, q); len(l.queues) == 2*SurveyMax {
		l.cut()
	}
}

// cut sorts the list and keeps the largest.
func (l *largest) cut() {
	slices.SortFunc(l.queues, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(b.Live(), a.Live()), cmp.Compare(a.Number, b.Number))
	})
	if len(l.queues) < SurveyMax {
		return
	}
	for _, q := range l.queues[SurveyMax:] {
		q.listed = false
	}
	clear(l.queues[SurveyMax:])
	l.queues = l.queues[:SurveyMax]
	l.floor = l.queues[SurveyMax-1].Live()
}

// keep drops the queues that are not those of byNum: they do not exist any more.
func (l *largest) keep(byNum map[uint32]*queue) {
	l.queues = slices.DeleteFunc(l.queues, func(q *queue) bool { return byNum[q.Number] != q || q.gone })
}

// Census is what a leader learns of all queues before it begins.
type Census struct {
	Totals  record.Queue // the sums
	Queues  int64
	largest largest
}

// Count adds a queue, which is read during the call only.
func (c *Census) Count(q *record.Queue) {
	c.Totals.Sum(q)
	c.Queues++
	stub := &queue{Queue: *q}
	stub.Name = nil
	c.largest.note(stub)
}

// list puts the queues on the list that the census found to be the largest.
func (b *Batch) list(found *largest) {
	for _, stub := range found.queues {
		if q := b.queueNumbered(stub.Number); q != nil {
			b.largest.note(q)
		}
	}
}

// Holds are what holds a queue back, from deliveries or from adds.
type Holds struct {
	PauseIn, PauseOut, MaxLen, MaxInflight, Rate bool
}

// SurveyedQueue is a queue for operators. Its Name must not be changed.
type SurveyedQueue struct {
	record.Queue
	Waiting int64 // pops
	Holds
	OldestReady int64 // ns since the due time of its oldest ready job, 0 if it has none; see AddAges
}

// Survey is what operators see of the memory at one moment.
type Survey struct {
	Now    Now
	Totals record.Queue            // the sums over all queues
	Queues []SurveyedQueue         // at most SurveyMax; those with most live jobs come first
	Timers [2]int64                // wake-ups in memory, by timeline
	Slots  [2][dispatch.Levels]int // occupied slots of the wheel, likewise
}

// Survey looks at the memory, in a fraction of a millisecond. It reads no store.
func (b *Batch) Survey() *Survey {
	s := &Survey{Now: b.now, Totals: b.totals}
	for d, w := range b.Windows {
		s.Timers[d], s.Slots[d] = int64(w.Len()), w.Occupancy()
	}
	b.largest.keep(b.byNum)
	b.largest.cut()
	s.Queues = make([]SurveyedQueue, len(b.largest.queues))
	for i, q := range b.largest.queues {
		s.Queues[i] = SurveyedQueue{Queue: q.Queue, Waiting: int64(b.Waiters.Waiting(string(q.Name))), Holds: Holds{
			PauseIn:     b.now.before(q.InUntil),
			PauseOut:    b.now.before(q.OutUntil),
			MaxLen:      atMaxLen(q),
			MaxInflight: full(q),
			Rate:        b.nextAllowed(q) > b.now.Progress,
		}}
	}
	return s
}

// surveyBudget bounds the look-ups of one AddAges: one per queue with ready jobs, and
// one more per priority that they have.
const surveyBudget = 1 << 14

// AddAges looks up the oldest ready jobs, the largest queues first, in a store of its own,
// usually a snapshot.
func (s *Survey) AddAges(store Store) {
	budget := surveyBudget
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Ready > 0 && budget > 0 {
			q.OldestReady = oldestReady(store, s.Now, q.Number, &budget, nil)
		}
	}
}
