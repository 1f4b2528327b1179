package wheel

const (
	chunkCap = 42 // makes a chunk 512 bytes, 12.2 a timer

	pageBits = 7
	pageSize = 1 << pageBits // chunks, 64 KiB
)

// chunk is a link in a list of timers. Timers are read in a row, from memory
// in a row, which is what makes moving them cheap; a list of single nodes costs
// a cache miss for each.
type chunk struct {
	due      [chunkCap]int64 // ns
	id       [chunkCap]ID
	next     uint32 // index of the next chunk, 0 at the end
	from, to uint16 // the timers in use are [from, to)
}

// chunks owns all chunks. Pages are never moved: growth copies nothing, and
// at most one page is in excess. Chunk 0 is not used.
type chunks struct {
	pages []*[pageSize]chunk
	top   uint32 // chunks from here on were never used, or not since reset
	freed uint32 // head of the list of free chunks
}

func (cs *chunks) at(c uint32) *chunk { return &cs.pages[c>>pageBits][c%pageSize] }

func (cs *chunks) alloc() (uint32, *chunk) {
	if c := cs.freed; c != 0 {
		p := cs.at(c)
		cs.freed, p.next = p.next, 0
		return c, p
	}
	c := cs.top
	if int(c>>pageBits) == len(cs.pages) {
		cs.pages = append(cs.pages, new([pageSize]chunk))
	}
	cs.top++
	p := cs.at(c)
	p.next, p.from, p.to = 0, 0, 0
	return c, p
}

func (cs *chunks) free(c uint32, p *chunk) {
	p.next, p.from, p.to = cs.freed, 0, 0
	cs.freed = c
}

func (cs *chunks) reset() { cs.top, cs.freed = 1, 0 }
