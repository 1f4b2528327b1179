package persist

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mergePause is the time without merges of tables after one that found no room: by
// itself Pebble tries again at once, for ever.
const mergePause = 30 * time.Second

// mergeCategory is how Pebble calls the writes of a merge.
const mergeCategory vfs.DiskWriteCategory = "pebble-compaction"

// merges makes them pause: it lets the next one wait as it begins its first table.
type merges struct {
	until atomic.Int64  // Unix ns
	stop  chan struct{} // closed when the store is about to close
}

func (m *merges) pause() { m.until.Store(time.Now().Add(mergePause).UnixNano()) }

func (m *merges) wait() {
	until := m.until.Load()
	if until == 0 {
		return
	}
	timer := time.NewTimer(time.Until(time.Unix(0, until)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.stop:
	}
}

type mergesFS struct {
	FS
	m *merges
}

func (f mergesFS) Unwrap() vfs.FS { return f.FS }

func (f mergesFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == mergeCategory {
		f.m.wait()
	}
	return f.FS.Create(name, c)
}
