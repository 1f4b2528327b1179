package main

// storeSizes are the stores' caches and memory tables, and the heap's least size, in bytes.
type storeSizes struct {
	stateCache                 int64
	stateMemTable, logMemTable uint64
	leastHeap                  int64 // see collectSeldom
}

// sizesOf fits them into the memory that may be used: from 2 GiB on they are as
// large as is of use.
func sizesOf(maxMemory int64) storeSizes {
	share := func(part, least, most int64) int64 { return min(max(maxMemory/part, least), most) }
	return storeSizes{
		stateCache:    share(16, 4<<20, 128<<20),
		stateMemTable: uint64(share(64, 2<<20, 32<<20)),
		logMemTable:   uint64(share(128, 1<<20, 16<<20)),
		leastHeap:     share(8, 16<<20, 256<<20),
	}
}

// outside is what of it the Go runtime does not know: up to four memory tables each.
func (s storeSizes) outside() int64 {
	return s.stateCache + 4*int64(s.stateMemTable+s.logMemTable)
}
