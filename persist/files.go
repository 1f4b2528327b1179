package persist

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system that the stores work on.
type FS = vfs.FS

// DiskFS returns the operating system's file system. Files get mode 0600 and
// folders 0700, whatever the process's umask is.
func DiskFS() FS { return privateFS{vfs.Default} }

// PlainFS returns the operating system's file system as it is, for looking: its
// lock keeps others from making theirs, and does not touch the file.
func PlainFS() FS { return plainFS{vfs.Default} }

type plainFS struct{ vfs.FS }

func (p plainFS) Unwrap() vfs.FS { return p.FS }

func (plainFS) Lock(name string) (io.Closer, error) { return lockUntouched(name) }

// MemFS returns an empty file system in memory.
func MemFS() FS { return vfs.NewMem() }

// CrashFS returns an empty file system in memory whose CrashClone method gives
// what a power loss at that moment would leave.
func CrashFS() *vfs.MemFS { return vfs.NewCrashableMem() }

const (
	fileMode   = 0o600
	folderMode = 0o700
)

// privateFS tightens the modes of what Pebble creates. The folder is private
// before the first file is in it, so the moment before a chmod shows nothing.
type privateFS struct{ vfs.FS }

func (p privateFS) Unwrap() vfs.FS { return p.FS }

func (p privateFS) MkdirAll(dir string, _ os.FileMode) error {
	return p.FS.MkdirAll(dir, folderMode)
}

func (p privateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return private(name)(p.FS.Create(name, c))
}

func (p privateFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return private(name)(p.FS.OpenReadWrite(name, c, o...))
}

func (p privateFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return private(to)(p.FS.ReuseForWrite(from, to, c))
}

func (p privateFS) Lock(name string) (io.Closer, error) {
	l, err := p.FS.Lock(name)
	if err == nil {
		err = os.Chmod(name, fileMode)
	}
	return l, err
}

func private(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		if err := os.Chmod(name, fileMode); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}

// orderedFS makes a folder's earlier entries durable before a marker enters it.
// Pebble creates a manifest, then the marker that names it, and syncs the folder
// only then; where a power loss may keep the second entry and lose the first, the
// store could not be opened any more. The crash test finds this.
type orderedFS struct{ vfs.FS }

func (o orderedFS) Unwrap() vfs.FS { return o.FS }

func (o orderedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), "marker.") {
		if err := SyncFolder(o.FS, o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, c)
}

// ErrLocked is wrapped when another process (or this one) has the folder open.
var ErrLocked = errors.New("the folder is in use: another process has it open; only one may")

// lockName is the file in a folder that is locked while a process has it open.
const lockName = "LOCK"

// makeFolder makes a folder and what is missing above it, durably.
func makeFolder(fs FS, dir string) error {
	var parents []string // of what is missing
	for at := dir; ; {
		if _, err := fs.Stat(at); !errors.Is(err, os.ErrNotExist) {
			break
		}
		up := fs.PathDir(at)
		if up == at {
			break
		}
		parents, at = append(parents, up), up
	}
	err := fs.MkdirAll(dir, folderMode)
	for i := len(parents) - 1; i >= 0 && err == nil; i-- {
		err = SyncFolder(fs, parents[i])
	}
	return err
}

// LockFolder creates the folder if need be and takes its lock.
func LockFolder(fs FS, dir string) (io.Closer, error) {
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("creating %s: %w", dir, err)
	}
	l, err := fs.Lock(fs.PathJoin(dir, lockName))
	var open *os.PathError // the file could not even be opened
	switch {
	case errors.As(err, &open):
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w (%v)", dir, ErrLocked, err)
	}
	return l, nil
}

// WriteFile writes a small file whole: after a crash the name shows either the
// old content or the new one.
func WriteFile(fs FS, dir, name string, content []byte) error {
	temp, final := fs.PathJoin(dir, name+".tmp"), fs.PathJoin(dir, name)
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("writing %s: %w", final, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fs.Rename(temp, final)
	}
	if err == nil {
		err = SyncFolder(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", final, err)
	}
	return nil
}

// ReadFile reads a small file; an error that is os.ErrNotExist means there is none.
func ReadFile(fs FS, dir, name string) ([]byte, error) {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// SyncFolder makes the folder's entries durable.
func SyncFolder(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
