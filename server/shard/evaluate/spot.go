package evaluate

import (
	"bytes"
	"cmp"
	"slices"
)

// spot is a job as an index shows it: where it stands, without its record.
type spot struct {
	due  int64 // as shown, wall ns
	pri  uint8
	seq  uint64
	died int64 // of dead jobs only, progress ns
	id   []byte
}

// byDue is the order of due times.
func byDue(a, b *spot) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.pri, b.pri), cmp.Compare(a.seq, b.seq))
}

// bySeq is the order of acceptance.
func bySeq(a, b *spot) int { return cmp.Compare(a.seq, b.seq) }

// nearest keeps the first of the spots that it is given, in an order that the store
// does not have, as many as a budget of bytes allows: so a part of what takes a look
// at everything is found with bounded memory.
type nearest struct {
	order  func(a, b *spot) int
	after  *spot // only what comes behind it counts; nil = all
	budget int   // bytes; one spot may exceed it

	spots []spot // in order, once done was called
	bytes int
	more  bool // some did not fit: all of them come behind bound
	bound spot
}

// spotBytes is about what a spot takes besides its id.
const spotBytes = 64

// add takes a spot and copies its id.
func (n *nearest) add(s spot) {
	if n.after != nil && n.order(&s, n.after) <= 0 || n.more && n.order(&s, &n.bound) > 0 {
		return
	}
	s.id = bytes.Clone(s.id)
	n.spots = append(n.spots, s)
	if n.bytes += spotBytes + len(s.id); n.bytes > 2*n.budget {
		n.cut()
	}
}

// done ends the adding.
func (n *nearest) done() {
	if n.bytes > n.budget {
		n.cut()
		return
	}
	n.sort()
}

func (n *nearest) sort() {
	slices.SortFunc(n.spots, func(a, b spot) int { return n.order(&a, &b) })
}

// cut drops what exceeds the budget.
func (n *nearest) cut() {
	n.sort()
	keep, size := 0, 0
	for keep < len(n.spots) {
		size += spotBytes + len(n.spots[keep].id)
		if keep > 0 && size > n.budget {
			break
		}
		keep++
	}
	if keep == len(n.spots) {
		return
	}
	n.bytes = 0
	for i := range n.spots[:keep] {
		n.bytes += spotBytes + len(n.spots[i].id)
	}
	clear(n.spots[keep:])
	n.spots = n.spots[:keep]
	n.more, n.bound = true, n.spots[keep-1]
}
