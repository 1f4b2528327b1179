package evaluate

import (
	"fmt"
	"testing"

	"dqd/persist/record"
)

// sized returns a queue with so many jobs.
func sized(number uint32, jobs int64) *queue {
	return &queue{Queue: record.Queue{Number: number, Name: fmt.Appendf(nil, "q%d", number), Ready: jobs}}
}

// The largest queues are kept, whatever the order in which they come.
func TestLargest(t *testing.T) {
	const n = 10 * SurveyMax
	for _, step := range []int{1, 3, 7, n - 1} { // prime to n
		var l largest
		for i := range n {
			at := i * step % n
			l.note(sized(uint32(at), int64(at)))
			if len(l.queues) >= 2*SurveyMax {
				t.Fatalf("%d queues in the list", len(l.queues))
			}
		}
		l.cut()
		for i, q := range l.queues {
			if q.Live() != int64(n-1-i) || !q.listed {
				t.Fatalf("step %d: place %d has %d jobs, listed %v", step, i, q.Live(), q.listed)
			}
		}
	}
}

// When those in the list shrink, the next ones get in.
func TestLargestShrink(t *testing.T) {
	var l largest
	for i := range uint32(3 * SurveyMax) {
		l.note(sized(i, 100))
	}
	l.cut()
	for _, q := range l.queues {
		q.Ready = 0
	}
	l.cut()
	late := sized(1<<20, 1)
	l.note(late)
	if l.cut(); l.queues[0] != late {
		t.Errorf("the largest has %d jobs", l.queues[0].Live())
	}
}

// nothing is a store that has no key.
type nothing struct{}

func (nothing) Get([]byte) ([]byte, bool)                        { return nil, false }
func (nothing) GetAll(keys [][]byte) [][]byte                    { return make([][]byte, len(keys)) }
func (nothing) Scan(_, _ []byte, _ func(key, value []byte) bool) {}

// What is listed is the queue that the memory goes on with, also when it forgets the
// others; a queue that does not exist any more is not listed.
func TestListedQueuesStay(t *testing.T) {
	m := NewMemory(nothing{}, record.Applied{NextQueue: 1}, &Census{})
	b := m.NewBatch(Now{}, DefaultLimits())
	kept, dropped := b.create([]byte("kept")), b.create([]byte("dropped"))
	b.Seal(0)
	m.Committed(b.Number())
	delete(m.byNum, dropped.Number)
	delete(m.queues, "dropped")
	b = m.NewBatch(Now{}, DefaultLimits())
	b.forgetQueues()
	if b.queueNamed([]byte("kept")) != kept || b.queueNumbered(kept.Number) != kept {
		t.Error("a listed queue was forgotten")
	}
	if b.queueNamed([]byte("dropped")) != nil {
		t.Error("a queue that does not exist came back")
	}
	if s := b.Survey(); len(s.Queues) != 1 || string(s.Queues[0].Name) != "kept" {
		t.Errorf("%+v", s.Queues)
	}
}
