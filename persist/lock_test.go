package persist

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Who looks at a folder keeps others from changing it, and is kept out by them; any
// number may look. The lock's file stays as it is, even if it may only be read.
func TestLockExisting(t *testing.T) {
	dir := t.TempDir()
	lock, err := LockFolder(DiskFS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockExisting(PlainFS(), dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a folder in use: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	first, err := LockExisting(PlainFS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := LockExisting(PlainFS(), dir)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the lock's file changed from %v to %v, %v", before.ModTime(), after.ModTime(), err)
	}
	if _, err := LockFolder(DiskFS(), dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a folder that is looked at: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	if lock, err = LockFolder(DiskFS(), dir); err != nil {
		t.Fatal(err)
	}
	lock.Close()
}
