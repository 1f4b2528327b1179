package dispatch

import (
	"cmp"
	"container/heap"
	"math"

	"dqd/persist/record"
)

// Looks says when to look again at queues whose waiting pops are held back until
// a time: the end of a pause, the next delivery that a rate allows. A look too
// many is harmless: whoever looks asks for the next one.
//
// There is one look per queue at most, on either timeline.
type Looks struct {
	of    map[uint32]*look
	heaps [2]lookHeap // by timeline
}

type look struct {
	queue uint32
	at    record.Instant
	place int // in its heap
}

// NewLooks returns Looks without any.
func NewLooks() *Looks { return &Looks{of: map[uint32]*look{}} }

// Set asks for a look at the queue, in place of an earlier one.
func (l *Looks) Set(queue uint32, at record.Instant) {
	if old := l.of[queue]; old != nil {
		if old.at == at {
			return
		}
		heap.Remove(&l.heaps[old.at.Domain], old.place)
	}
	n := &look{queue: queue, at: at}
	l.of[queue] = n
	heap.Push(&l.heaps[at.Domain], n)
}

// Take removes the looks of a timeline whose time has come and returns their
// queues, earliest first.
func (l *Looks) Take(d record.Domain, now int64) (queues []uint32) {
	h := &l.heaps[d]
	for len(*h) > 0 && (*h)[0].at.Ns <= now {
		n := heap.Pop(h).(*look)
		delete(l.of, n.queue)
		queues = append(queues, n.queue)
	}
	return queues
}

// Next returns the time of the next look on a timeline; MaxInt64 = never.
func (l *Looks) Next(d record.Domain) int64 {
	if h := l.heaps[d]; len(h) > 0 {
		return h[0].at.Ns
	}
	return math.MaxInt64
}

// lookHeap implements heap.Interface, earliest first.
type lookHeap []*look

func (h lookHeap) Len() int { return len(h) }

func (h lookHeap) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(h[i].at.Ns, h[k].at.Ns), cmp.Compare(h[i].queue, h[k].queue)) < 0
}

func (h lookHeap) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].place, h[k].place = i, k
}

func (h *lookHeap) Push(x any) {
	n := x.(*look)
	n.place = len(*h)
	*h = append(*h, n)
}

func (h *lookHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return n
}
