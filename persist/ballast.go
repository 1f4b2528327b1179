package persist

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ballastName is a file in a node's folder that holds nothing but space.
const ballastName = "BALLAST"

// Ballast holds disk space by a file that is given up at the first write that
// finds the disk full; the write is then tried once more. So acks and cancels can
// be logged, and tables merged, after others filled the disk. A failed sync is not
// tried again. It is safe for concurrent use.
type Ballast struct {
	fs   FS // not the wrapped one
	path string
	// given is called after the file was given up; it must not block, nor write.
	given func()

	mu   sync.Mutex // one change of the file at a time
	size atomic.Int64
}

// NewBallast returns the ballast of a node's folder, which need not exist yet. A
// file that an earlier process left is taken over.
func NewBallast(fs FS, dir string, given func()) *Ballast {
	b := &Ballast{fs: fs, path: fs.PathJoin(dir, ballastName), given: given}
	if info, err := fs.Stat(b.path); err == nil {
		b.size.Store(info.Size())
	}
	return b
}

// FS returns a file system for the node's stores that gives up the ballast when
// the disk is full; but not for a merge of tables, which can wait.
func (b *Ballast) FS() FS { return ballastFS{vfs.OnDiskFull(b.fs, b.give), b.fs} }

type ballastFS struct {
	FS
	plain FS
}

func (b ballastFS) Unwrap() vfs.FS { return b.FS }

func (b ballastFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == mergeCategory {
		return b.plain.Create(name, c)
	}
	return b.FS.Create(name, c)
}

// Size returns the bytes that are held; 0 = there is no ballast.
func (b *Ballast) Size() int64 { return b.size.Load() }

// Make allocates the file at a size in bytes, or completes one that is there: a
// copied folder may have it without its space. On an error there is no ballast.
func (b *Ballast) Make(size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.allocate(size)
	if err != nil {
		return errors.Join(err, b.remove())
	}
	b.size.Store(size)
	return nil
}

func (b *Ballast) allocate(size int64) error {
	f, err := b.fs.OpenReadWrite(b.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// The allocation does not change the file's length; the last byte does, so that
	// people see what the file is for, and the next process how large it is.
	err = f.Preallocate(0, size)
	if err == nil {
		_, err = f.WriteAt([]byte{0}, size-1)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (b *Ballast) remove() error {
	b.size.Store(0)
	if err := b.fs.Remove(b.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// give is called while all writes wait.
func (b *Ballast) give() {
	b.mu.Lock()
	held := b.Size() > 0
	err := b.remove()
	b.mu.Unlock()
	if held && err == nil {
		b.given()
	}
}
