package wheel

// front holds the timers that are about to expire, a 4-ary heap ordered by due,
// then by the order of push. It is small: see frontLevel. Only timers that were
// added when already due, and are not collected, can make it large.
type front struct {
	heap   []frontTimer
	pushes uint32
}

type frontTimer struct {
	due int64 // ns
	id  ID
	// order is the number of the push. It wraps, and the comparison with it:
	// two timers with the same due would have to be 2^31 pushes apart, with
	// the first of them still here, to be taken in the wrong order.
	order uint32
}

func (a frontTimer) before(b frontTimer) bool {
	return a.due < b.due || a.due == b.due && int32(a.order-b.order) < 0
}

func (f *front) push(due int64, id ID) {
	t := frontTimer{due, id, f.pushes}
	f.pushes++
	f.heap = append(f.heap, t)
	k := len(f.heap) - 1
	for k > 0 && t.before(f.heap[(k-1)/4]) {
		f.heap[k] = f.heap[(k-1)/4]
		k = (k - 1) / 4
	}
	f.heap[k] = t
}

// pop removes the first timer; the front must not be empty.
func (f *front) pop() {
	last := len(f.heap) - 1
	t := f.heap[last]
	f.heap = f.heap[:last]
	if last > 0 {
		f.down(0, t)
	}
}

// down puts t at k or, while a child comes earlier, in the first child's place.
func (f *front) down(k int, t frontTimer) {
	for child := 4*k + 1; child < len(f.heap); child = 4*k + 1 {
		first := child
		for c := child + 1; c < min(child+4, len(f.heap)); c++ {
			if f.heap[c].before(f.heap[first]) {
				first = c
			}
		}
		if !f.heap[first].before(t) {
			break
		}
		f.heap[k] = f.heap[first]
		k = first
	}
	f.heap[k] = t
}

// heapify restores the order after the heap was changed from outside.
func (f *front) heapify() {
	for k := len(f.heap)/4 + 1; k >= 0; k-- {
		if k < len(f.heap) {
			f.down(k, f.heap[k])
		}
	}
}
