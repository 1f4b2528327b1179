package worker

import (
	"cmp"
	"slices"
)

// shares decides in which order the queues are taken from. Each queue has a pass,
// which its jobs move on, each by a step that is the smaller the greater its
// weight; the queue that is furthest behind goes first. So while all have jobs
// their shares are as their weights, but for the last pop; and a queue without jobs
// earns nothing: it does not go far ahead of the others once it has some.
type shares struct {
	queues []Queue
	pass   []int64
	index  map[string]int
}

// stepOne is the step of a queue of weight 1; a multiple of 1 to 16, so that
// small weights share exactly.
const stepOne = 720720 << 20

func newShares(queues []Queue) *shares {
	s := &shares{queues: queues, pass: make([]int64, len(queues)), index: map[string]int{}}
	for i, q := range queues {
		s.index[q.Name] = i
	}
	return s
}

// order returns the queues as they are to be taken from.
func (s *shares) order() []int {
	order := make([]int, len(s.queues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.pass[a], s.pass[b]) })
	return order
}

// served counts what a pop in this order got.
func (s *shares) served(order []int, jobs []*Job) {
	got := make([]int64, len(s.queues))
	last := -1 // the last in order that gave something
	for _, j := range jobs {
		i, ok := s.index[j.Queue]
		if !ok {
			continue
		}
		got[i]++
		last = max(last, slices.Index(order, i))
	}
	if last < 0 {
		clear(s.pass) // all are empty: nobody is behind
		return
	}
	for _, i := range order[:last] {
		if got[i] == 0 {
			s.pass[i] = s.pass[order[last]] // it was empty
		}
	}
	for i, n := range got {
		s.pass[i] += n * (stepOne / int64(s.queues[i].Weight))
	}
	// Only differences count, and they stay small.
	least := slices.Min(s.pass)
	for i := range s.pass {
		s.pass[i] -= least
	}
}
