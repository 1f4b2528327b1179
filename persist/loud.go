package persist

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// loudFS ends the process at the first error of the operating system under a
// store, whatever Pebble would make of it: it tries flushes again for ever, panics
// at some syncs, and loses goroutines when it cannot be opened. Not an error is a
// file that does not exist; a merge that finds no room is tolerated, see merges;
// and what this user may not do is said by whoever opens the store.
type loudFS struct {
	FS
	fault *fault
}

// noRoom marks the error of a merge that finds no room. Pebble reports it like those
// that end the process, and several merges may find none at once.
type noRoom struct{ error }

func (e noRoom) Unwrap() error { return e.error }

func (l loudFS) Unwrap() vfs.FS { return l.FS }

// heard passes an error on, if the process did not end by it.
func (f *fault) heard(op, name string, err error) error {
	if err == nil || !ofSystem(err) || errors.Is(err, os.ErrPermission) {
		return err
	}
	f.fail(fmt.Errorf("%s %s: %w", op, name, err))
	return err
}

func (l loudFS) file(op, name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, l.fault.heard(op, name, err)
	}
	return &loudFile{File: f, name: name, fault: l.fault}, nil
}

func (l loudFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, c)
	if c == mergeCategory && vfs.IsNoSpaceError(err) {
		return nil, noRoom{err}
	}
	if f, err = l.file("making", name, f, err); err == nil {
		f := f.(*loudFile)
		f.pace, f.began = l.fault.paces.of(c), time.Now()
	}
	return f, err
}

func (l loudFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := l.FS.Open(name, o...)
	return l.file("opening", name, f, err)
}

func (l loudFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := l.FS.OpenReadWrite(name, c, o...)
	return l.file("opening", name, f, err)
}

func (l loudFS) OpenDir(name string) (vfs.File, error) {
	f, err := l.FS.OpenDir(name)
	return l.file("opening", name, f, err)
}

func (l loudFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.ReuseForWrite(from, to, c)
	return l.file("making", to, f, err)
}

func (l loudFS) Remove(name string) error {
	return l.fault.heard("removing", name, l.FS.Remove(name))
}

func (l loudFS) Rename(from, to string) error {
	return l.fault.heard("renaming", from, l.FS.Rename(from, to))
}

func (l loudFS) Link(from, to string) error {
	return l.fault.heard("linking", from, l.FS.Link(from, to))
}

func (l loudFS) List(dir string) ([]string, error) {
	names, err := l.FS.List(dir)
	return names, l.fault.heard("listing", dir, err)
}

func (l loudFS) Stat(name string) (vfs.FileInfo, error) {
	info, err := l.FS.Stat(name)
	return info, l.fault.heard("looking at", name, err)
}

type loudFile struct {
	vfs.File
	name  string
	fault *fault
	pace  *pace     // of who writes it; nil = it is waited for
	began time.Time // the piece of work under way
}

func (f *loudFile) heard(op string, err error) error {
	if f.pace == &f.fault.paces.merges && vfs.IsNoSpaceError(err) {
		return noRoom{err}
	}
	return f.fault.heard(op, f.name, err)
}

func (f *loudFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	return n, f.heard("reading", err)
}

func (f *loudFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	return n, f.heard("reading", err)
}

func (f *loudFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if f.pace != nil {
		f.began = f.pace.rest(f.began)
	}
	return n, f.heard("writing", err)
}

func (f *loudFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, f.heard("writing", err)
}

func (f *loudFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, f.heard("looking at", err)
}

func (f *loudFile) Sync() error { return f.heard("syncing", f.File.Sync()) }

func (f *loudFile) SyncData() error { return f.heard("syncing", f.File.SyncData()) }

func (f *loudFile) SyncTo(length int64) (full bool, err error) {
	full, err = f.File.SyncTo(length)
	return full, f.heard("syncing", err)
}
