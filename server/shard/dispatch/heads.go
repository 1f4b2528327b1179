package dispatch

import (
	"cmp"
	"maps"
	"slices"
)

// HeadSize is how many ready jobs of a queue are read ahead.
const HeadSize = 4096

// maxHeads bounds the queues that have a head in memory; others are read again
// from the store when somebody pops from them.
const maxHeads = 16384

// maxItems bounds the jobs in all heads together.
const maxItems = 1 << 20

// ReadyItem is one job of a queue's ready index. Its order is the order of
// delivery: priority, due time, acceptance (invariant I6).
type ReadyItem struct {
	Due int64 // wall ns, frozen when the job became ready
	Seq uint64
	Pri uint8
	ID  string
}

// Compare orders items by delivery.
func (a *ReadyItem) Compare(b *ReadyItem) int {
	return cmp.Or(cmp.Compare(a.Pri, b.Pri), cmp.Compare(a.Due, b.Due), cmp.Compare(a.Seq, b.Seq))
}

// Heads keeps the first ready jobs of the queues that are popped from.
//
// Invariant: a queue's head holds every ready job that sorts at or before the
// head's bound (and perhaps some that are ready no more). Jobs behind the bound
// are in the store's ready index, or in a batch that the store does not have yet.
type Heads struct {
	queues map[uint32]*head
	items  int // in all of them
}

type head struct {
	items    []ReadyItem // a binary heap
	bound    ReadyItem   // meaningless when complete
	complete bool        // the bound is infinite: the head holds all ready jobs
}

// NewHeads returns Heads without any queue.
func NewHeads() *Heads { return &Heads{queues: map[uint32]*head{}} }

// Add tells that a job became ready. queueWasEmpty says that the queue's ready
// index was empty before, so that a head can start here.
func (h *Heads) Add(queue uint32, item ReadyItem, queueWasEmpty bool) {
	q := h.queues[queue]
	if q == nil {
		if !queueWasEmpty || len(h.queues) >= maxHeads {
			return
		}
		q = &head{complete: true}
		h.queues[queue] = q
	} else if queueWasEmpty && !q.complete {
		// Nothing in it is ready any more, and nothing is behind it: a purge may have
		// left much to step over there.
		h.items -= len(q.items)
		*q = head{complete: true}
	}
	if !q.complete && item.Compare(&q.bound) > 0 {
		return
	}
	q.push(item)
	h.items++
	if len(q.items) > 2*HeadSize {
		h.items -= q.cut()
	}
	if h.items > maxItems {
		h.evict()
	}
}

// Next returns the queue's first item without removing it; ok is false when the
// head is empty. Then more says whether the store may hold more behind it (call
// Refill); without a head, more is true.
func (h *Heads) Next(queue uint32) (item *ReadyItem, more bool) {
	q := h.queues[queue]
	if q == nil {
		return nil, true
	}
	if len(q.items) == 0 {
		return nil, !q.complete
	}
	return &q.items[0], false
}

// Drop removes the item that Next returned.
func (h *Heads) Drop(queue uint32) {
	h.queues[queue].pop()
	h.items--
}

// Short reports whether the queue's head may hold fewer than n jobs although the
// store has more.
func (h *Heads) Short(queue uint32, n int) bool {
	q := h.queues[queue]
	return q == nil || !q.complete && len(q.items) < n
}

// Refill moves the queue's bound on: scan yields the committed ready jobs that
// sort behind after (nil: all of them), in order. What the batch under evaluation
// made ready behind after must be added then; no other change may be uncommitted.
func (h *Heads) Refill(queue uint32, scan func(after *ReadyItem, yield func(ReadyItem) bool)) {
	q := h.queues[queue]
	var after *ReadyItem
	if q == nil {
		if len(h.queues) >= maxHeads {
			h.evict()
		}
		q = &head{}
		h.queues[queue] = q
	} else {
		bound := q.bound
		after = &bound
	}
	q.complete = true
	n := 0
	scan(after, func(item ReadyItem) bool {
		if n == HeadSize {
			q.complete = false
			q.bound = q.items[len(q.items)-1]
			return false
		}
		// Behind all that is there, and in order: the heap stays a heap.
		q.items = append(q.items, item)
		n++
		return true
	})
	h.items += n
}

// Forget drops the queue's head: it is read anew.
func (h *Heads) Forget(queue uint32) {
	if q := h.queues[queue]; q != nil {
		h.items -= len(q.items)
		delete(h.queues, queue)
	}
}

// evict forgets half of the heads. Which ones does not matter for what is
// delivered; the lowest numbers keep it independent of map order.
func (h *Heads) evict() {
	numbers := slices.Sorted(maps.Keys(h.queues))
	for _, n := range numbers[:(len(numbers)+1)/2] {
		h.items -= len(h.queues[n].items)
		delete(h.queues, n)
	}
}

// cut keeps the first HeadSize items and lowers the bound to the last of them.
func (q *head) cut() (dropped int) {
	dropped = len(q.items) - HeadSize
	slices.SortFunc(q.items, func(a, b ReadyItem) int { return a.Compare(&b) })
	clear(q.items[HeadSize:])
	q.items = q.items[:HeadSize]
	q.bound = q.items[HeadSize-1]
	q.complete = false
	return dropped
}

func (q *head) push(item ReadyItem) {
	q.items = append(q.items, item)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q.items[parent].Compare(&q.items[i]) <= 0 {
			break
		}
		q.items[parent], q.items[i] = q.items[i], q.items[parent]
		i = parent
	}
}

func (q *head) pop() {
	last := len(q.items) - 1
	q.items[0] = q.items[last]
	q.items[last] = ReadyItem{}
	q.items = q.items[:last]
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			return
		}
		if child+1 < last && q.items[child+1].Compare(&q.items[child]) < 0 {
			child++
		}
		if q.items[i].Compare(&q.items[child]) <= 0 {
			return
		}
		q.items[i], q.items[child] = q.items[child], q.items[i]
		i = child
	}
}
