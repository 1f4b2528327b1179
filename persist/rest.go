package persist

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// How Pebble calls the writes of a flush and of a merge.
const (
	flushCategory vfs.DiskWriteCategory = "pebble-memtable-flush"
	mergeCategory vfs.DiskWriteCategory = "pebble-compaction"
)

// A flush or a merge takes a core for parts of a second, and the kernel lets whoever
// serves meanwhile wait for time slices of some milliseconds. So it rests as long as
// it has worked, after every piece of work.
const (
	restAfter = 300 * time.Microsecond
	restMost  = time.Millisecond // it may have waited for the disk, or for a core
)

const (
	lateFlush = 2  // memory tables flushed together
	lateMerge = 16 // tables of level 0, one upon the other: half as many as stop writes
)

// pace is that of the flushes or the merges of a store. The zero pace rests.
type pace struct{ late atomic.Bool }

// rest is called after every write of a table; it returns when the next piece of work
// began, given when this one did.
func (p *pace) rest(began time.Time) time.Time {
	if p.late.Load() {
		runtime.Gosched()
		return began
	}
	worked := time.Since(began)
	if worked < restAfter {
		return began
	}
	time.Sleep(min(worked, restMost))
	return time.Now()
}

// paces are those of a store. Who is late does not rest: the store would stop
// whoever writes to it.
type paces struct {
	flushes, merges pace
	db              atomic.Pointer[pebble.DB] // nil while it is opened or closed
}

// of returns the pace of who makes a file, nil if it is waited for. Merges look how late
// they are with each table that they make: their events come with the store locked.
func (p *paces) of(c vfs.DiskWriteCategory) *pace {
	switch c {
	case flushCategory:
		return &p.flushes
	case mergeCategory:
		if db := p.db.Load(); db != nil {
			p.merges.late.Store(db.Metrics().Levels[0].Sublevels >= lateMerge)
		}
		return &p.merges
	}
	return nil
}

// hurry is for a store that stops writes, or that is about to be closed.
func (p *paces) hurry() {
	p.flushes.late.Store(true)
	p.merges.late.Store(true)
}

// listen learns from the store's events whether flushes are late, and whether it stops
// writes.
func (p *paces) listen(l *pebble.EventListener) {
	l.FlushBegin = func(info pebble.FlushInfo) { p.flushes.late.Store(info.Input >= lateFlush) }
	l.WriteStallBegin = func(pebble.WriteStallBeginInfo) { p.hurry() }
}
