package persist

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mergePause is the time without merges of tables after one that found no room: by
// itself Pebble tries again at once, for ever.
const mergePause = 30 * time.Second

// merges makes them pause: it lets the next one wait as it begins its first table.
type merges struct {
	stop chan struct{} // closed when the store is about to close

	mu    sync.Mutex // guards the rest
	until time.Time  // of the pause
	over  chan struct{}
}

func (m *merges) pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = time.Now().Add(mergePause)
	if m.over == nil {
		m.over = make(chan struct{})
	}
}

// resume ends the pause: somebody knows that there is room.
func (m *merges) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over != nil {
		close(m.over)
	}
	m.until, m.over = time.Time{}, nil
}

func (m *merges) wait() {
	m.mu.Lock()
	until, over := m.until, m.over
	m.mu.Unlock()
	if until.IsZero() {
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
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
