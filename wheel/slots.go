package wheel

import "math/bits"

const (
	ringBits  = slotBits + 1 // two rotations: the present and the next
	ringSize  = 1 << ringBits
	ringWords = ringSize / 64
	slotCount = Levels * ringSize
)

// slots are the lists of all levels, and the bitmaps that find the next one.
type slots struct {
	lists    [slotCount]list
	occupied [slotCount / 64]uint64 // bit r: list r is not empty
	words    [Levels]uint8          // bit i: word i of the level in occupied is not 0
	levels   uint8                  // bit l: words[l] is not 0

	// What first has found. It depends on occupied alone, as the cursor passes
	// no occupied slot; whatever changes occupied sets stale.
	found slot
	stale bool
}

// list is a queue of timers in chunks, none of them empty.
type list struct {
	head, tail uint32
	load       uint32 // its length, cancelled timers included
}

// slot is a place in time.
type slot struct {
	level int
	ring  uint32 // index of its list, and of its bit
	start int64  // ns, the first that belongs to the slot
	split bool   // part of its span's timers are in lower levels already
}

// end returns the last nanosecond that belongs to the slot.
func (s slot) end() int64 { return s.start + 1<<(s.level*slotBits) - 1 }

// at returns the slot with this number at a level.
func (ss *slots) at(level int, number int64) slot {
	return slot{level: level, ring: ring(level, number), start: number << (level * slotBits)}
}

func ring(level int, number int64) uint32 {
	return uint32(level)<<ringBits | uint32(number)%ringSize
}

func (ss *slots) empty(ring uint32) bool { return ss.occupied[ring/64]>>(ring%64)&1 == 0 }

// push appends a timer to the list of the slot that it belongs to at a level.
func (ss *slots) push(cs *chunks, level int, due int64, id ID) {
	r := ring(level, due>>(level*slotBits))
	l := &ss.lists[r]
	var p *chunk
	if l.tail != 0 {
		p = cs.at(l.tail)
	}
	if p == nil || p.to == chunkCap {
		var c uint32
		if c, p = cs.alloc(); l.tail == 0 {
			l.head = c
			ss.occupied[r/64] |= 1 << (r % 64)
			ss.words[level] |= 1 << (r / 64 % ringWords)
			ss.levels |= 1 << level
			ss.stale = true
		} else {
			cs.at(l.tail).next = c
		}
		l.tail = c
	}
	p.due[p.to], p.id[p.to] = due, id
	p.to++
	l.load++
}

// headOf returns the first chunk of a list; 0 for slotCount, which next returns.
func (ss *slots) headOf(ring uint32) uint32 {
	if ring == slotCount {
		return 0
	}
	return ss.lists[ring].head
}

// remove takes chunk c out of a list; prev is the one before it, 0 if it is the head.
func (ss *slots) remove(cs *chunks, ring, prev, c uint32) {
	l, p := &ss.lists[ring], cs.at(c)
	if prev == 0 {
		l.head = p.next
	} else {
		cs.at(prev).next = p.next
	}
	if l.tail == c {
		l.tail = prev
	}
	cs.free(c, p)
	if l.head != 0 {
		return
	}
	ss.stale = true
	level := ring >> ringBits
	if ss.occupied[ring/64] &^= 1 << (ring % 64); ss.occupied[ring/64] == 0 {
		if ss.words[level] &^= 1 << (ring / 64 % ringWords); ss.words[level] == 0 {
			ss.levels &^= 1 << level
		}
	}
}

// first returns the occupied slot that starts first. Of slots that start
// together it is the highest, which has to be emptied before the cursor may
// enter the lower ones.
func (ss *slots) first(cursor int64) (s slot, ok bool) {
	if ss.stale {
		ss.found, ss.stale = ss.find(cursor), false
	}
	return ss.found, ss.levels != 0
}

func (ss *slots) find(cursor int64) (s slot) {
	s.start = never
	for left := ss.levels; left != 0; left &= left - 1 {
		level := bits.TrailingZeros8(left)
		number := cursor >> (level * slotBits)
		c := ss.at(level, number+ss.ahead(level, uint32(number)%ringSize))
		if c.start <= s.start {
			c.split = s.start <= c.end()
			s = c
		}
	}
	return s
}

// ahead returns how many slots after position from, within a ring that is not
// empty, the next occupied one is.
func (ss *slots) ahead(level int, from uint32) int64 {
	words := (*[ringWords]uint64)(ss.occupied[level*ringWords:])
	// The slot at from is empty (invariant 2), so its bit need not be masked
	// off, and the bits before it in its word belong to the far end.
	at := from / 64 % ringWords
	if b := words[at] >> (from % 64); b != 0 {
		return int64(bits.TrailingZeros64(b))
	}
	n := 1 + uint32(bits.TrailingZeros8(bits.RotateLeft8(ss.words[level], -int(at)-1)))
	b := words[(at+n)%ringWords]
	return int64(n*64) - int64(from%64) + int64(bits.TrailingZeros64(b))
}

// next returns the first occupied list from ring index r on, or slotCount.
func (ss *slots) next(r uint32) uint32 {
	for r < slotCount {
		if b := ss.occupied[r/64] >> (r % 64); b != 0 {
			return r + uint32(bits.TrailingZeros64(b))
		}
		r = r&^63 + 64
	}
	return slotCount
}

func (ss *slots) occupancy() (n [Levels]int) {
	for i, b := range ss.occupied {
		n[i/ringWords] += bits.OnesCount64(b)
	}
	return n
}
