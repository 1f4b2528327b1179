package persist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errReadOnly is what a read-only file system answers to every change.
var errReadOnly = errors.New("the folder is only looked at, not changed")

// ReadOnlyFS returns a file system that shows fs and refuses every change to it.
// Its locks are none: whoever uses it takes the folder's lock with LockExisting.
func ReadOnlyFS(fs FS) FS { return readOnlyFS{fs} }

type readOnlyFS struct{ FS }

func (r readOnlyFS) Unwrap() vfs.FS { return r.FS }

func (readOnlyFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

func (readOnlyFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

func (readOnlyFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

func (readOnlyFS) Link(string, string) error          { return errReadOnly }
func (readOnlyFS) Remove(string) error                { return errReadOnly }
func (readOnlyFS) RemoveAll(string) error             { return errReadOnly }
func (readOnlyFS) Rename(string, string) error        { return errReadOnly }
func (readOnlyFS) MkdirAll(string, os.FileMode) error { return errReadOnly }
func (readOnlyFS) Lock(string) (io.Closer, error)     { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }

// LockExisting takes the lock of a folder without changing it. Where the lock's
// file is missing, is not empty, or lies on a disk that is mounted read-only, no
// server has the folder open, and there is nothing to lock.
func LockExisting(fs FS, dir string) (io.Closer, error) {
	name := fs.PathJoin(dir, lockName)
	info, err := fs.Stat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() > 0 {
		return noLock{}, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := fs.Lock(name)
	var open *os.PathError // the file could not even be opened
	switch {
	case errors.Is(err, syscall.EROFS):
		return noLock{}, nil
	case errors.As(err, &open):
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w (%v)", dir, ErrLocked, err)
	}
	return l, nil
}
