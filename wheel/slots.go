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
	occupied [slotCount / 64]uint64 // bit r: list r is not empty
	lists    [slotCount]list
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
	if l.head == 0 {
		ss.occupied[ring/64] &^= 1 << (ring % 64)
	}
	cs.free(c, p)
}

// first returns the occupied slot that starts first. Of slots that start
// together it is the highest, which has to be emptied before the cursor may
// enter the lower ones.
func (ss *slots) first(cursor int64) (s slot, ok bool) {
	for level := range Levels {
		number := cursor >> (level * slotBits)
		ahead, found := ss.ahead(level, uint32(number)%ringSize)
		if !found {
			continue
		}
		if c := ss.at(level, number+ahead); !ok || c.start <= s.start {
			c.split = ok && s.start <= c.end()
			s, ok = c, true
		}
	}
	return s, ok
}

// ahead returns how many slots after position from, within a level's ring, the
// next occupied one is.
func (ss *slots) ahead(level int, from uint32) (int64, bool) {
	words := (*[ringWords]uint64)(ss.occupied[level*ringWords:])
	// The slot at from is empty (invariant 2), so its bit need not be masked
	// off, and the bits before it in its word belong to the far end.
	at := from / 64
	if b := words[at] >> (from % 64); b != 0 {
		return int64(bits.TrailingZeros64(b)), true
	}
	for n := uint32(1); n <= ringWords; n++ {
		if b := words[(at+n)%ringWords]; b != 0 {
			return int64(n*64) - int64(from%64) + int64(bits.TrailingZeros64(b)), true
		}
	}
	return 0, false
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
