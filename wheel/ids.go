package wheel

import "math"

const (
	genBits = 12
	genPage = 1 << genBits
)

// ids hands out IDs and knows which are pending. Its table of 4 bytes an ID is
// all that a Cancel touches.
//
// Free IDs are a stack in chunks: 12.2 bytes for each, just what the timer's
// entry left behind, so the stack takes no memory of its own.
type ids struct {
	gens  []*[genPage]uint32 // by ID; odd while the timer is pending
	top   ID                 // IDs from here on were never used, or not since reset
	stack uint32             // chunk with the top of the stack of free IDs, 0 if empty
}

func (s *ids) gen(id ID) *uint32 { return &s.gens[id>>genBits][id%genPage] }

func (s *ids) pending(id ID) bool { return *s.gen(id)%2 == 1 }

// alloc returns an unused ID with a new generation.
func (s *ids) alloc(cs *chunks) Timer {
	var id ID
	if s.stack != 0 {
		p := cs.at(s.stack)
		p.to--
		id = p.id[p.to]
		if p.to == 0 {
			c := s.stack
			s.stack = p.next
			cs.free(c, p)
		}
	} else {
		id = s.top
		if id == math.MaxUint32 {
			panic("wheel: 2^32 timers")
		}
		if int(id>>genBits) == len(s.gens) {
			s.gens = append(s.gens, new([genPage]uint32))
		}
		s.top++
	}
	g := s.gen(id)
	*g++
	return Timer{id, *g}
}

// kill ends the generation of t, and reports whether it was pending.
func (s *ids) kill(t Timer) bool {
	if t.ID == 0 || t.ID >= s.top || t.Gen%2 == 0 {
		return false
	}
	g := s.gen(t.ID)
	if *g != t.Gen {
		return false
	}
	*g++
	return true
}

// free makes an ID that is not pending, and in no list any more, available.
func (s *ids) free(cs *chunks, id ID) {
	p := &chunk{to: chunkCap}
	if s.stack != 0 {
		p = cs.at(s.stack)
	}
	if p.to == chunkCap {
		below := s.stack
		s.stack, p = cs.alloc()
		p.next = below
	}
	p.id[p.to] = id
	p.to++
}

// reset frees all IDs but keeps the generations.
func (s *ids) reset() {
	for id := ID(1); id < s.top; id++ {
		g := s.gen(id)
		*g += *g % 2
	}
	s.top, s.stack = 1, 0
}
