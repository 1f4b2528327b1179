package persist

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A ballast takes real space, is taken over by the next process, and is given up
// at the first write that finds no room.
func TestBallast(t *testing.T) {
	dir := t.TempDir()
	var full atomic.Bool
	given := 0
	disk := errorfs.Wrap(DiskFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate) {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	path := filepath.Join(dir, ballastName)
	b := NewBallast(disk, dir, func() { given++; full.Store(false) })
	fs := b.FS()
	if b.Size() != 0 {
		t.Errorf("there is a ballast of %d bytes", b.Size())
	}
	for range 2 { // a second time changes nothing
		if err := b.Make(1 << 20); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() != 1<<20 || info.Mode() != fileMode {
			t.Fatal(info, err)
		}
		if blocks := info.Sys().(*syscall.Stat_t).Blocks * 512; blocks < 1<<20 {
			t.Errorf("%d bytes are allocated", blocks)
		}
	}
	if next := NewBallast(disk, dir, nil); next.Size() != 1<<20 {
		t.Errorf("the next process finds %d bytes", next.Size())
	}

	f, err := fs.Create(filepath.Join(dir, "a"), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if n, err := f.Write([]byte("acked")); n != 5 || err != nil {
		t.Errorf("the write was not tried again: %d %v", n, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) || b.Size() != 0 || given != 1 {
		t.Errorf("the ballast is still there: %v, %d bytes, given %d times", err, b.Size(), given)
	}
	// Without a ballast a full disk is an error.
	full.Store(true)
	if _, err := f.Write([]byte("acked")); !vfs.IsNoSpaceError(err) || given != 1 {
		t.Errorf("%v, given %d times", err, given)
	}
	full.Store(false)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Make(1 << 20); err != nil || b.Size() != 1<<20 {
		t.Error(err, b.Size())
	}
}

// What cannot be allocated leaves no file behind.
func TestBallastWithoutRoom(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFilePreallocate, errorfs.OpFileWriteAt, errorfs.OpFileSync} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			mem := MemFS()
			b := NewBallast(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == kind {
					return syscall.EOPNOTSUPP
				}
				return nil
			})), "", func() { t.Error("given") })
			if err := b.Make(1 << 20); err == nil || b.Size() != 0 {
				t.Errorf("%v, %d bytes", err, b.Size())
			}
			if _, err := mem.Stat(ballastName); !os.IsNotExist(err) {
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}
