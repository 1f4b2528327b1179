package disktest

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dqd/persist"
)

type noSync struct {
	persist.FS
	from string
	on   *atomic.Bool
}

// NoSync is a file system that forgets to sync the write-ahead files of a log, once a
// file was renamed to a name that ends in from.
func NoSync(fs persist.FS, from string) persist.FS { return noSync{fs, from, new(atomic.Bool)} }

func (n noSync) Rename(from, to string) error {
	if strings.HasSuffix(to, n.from) {
		n.on.Store(true)
	}
	return n.FS.Rename(from, to)
}

func (n noSync) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err == nil && strings.HasSuffix(name, ".log") {
		return noSyncFile{f, n.on}, nil
	}
	return f, err
}

func (n noSync) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := n.FS.Create(name, c)
	return n.wrap(name, f, err)
}

func (n noSync) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := n.FS.ReuseForWrite(from, to, c)
	return n.wrap(to, f, err)
}

type noSyncFile struct {
	vfs.File
	on *atomic.Bool
}

func (f noSyncFile) Sync() error {
	if f.on.Load() {
		return nil
	}
	return f.File.Sync()
}

func (f noSyncFile) SyncData() error {
	if f.on.Load() {
		return nil
	}
	return f.File.SyncData()
}

func (f noSyncFile) SyncTo(int64) (bool, error) { return false, nil }
