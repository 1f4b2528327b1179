package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dqd/persist"
)

func noSpace(path string) error { return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC} }

// A full disk costs the ballast, and nothing else: entries are logged, tables
// flushed. Full once more, the node stops.
func TestBallast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var given atomic.Int32
		disk := errorfs.Wrap(persist.MemFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if full.Load() && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate) {
				return noSpace(op.Path)
			}
			return nil
		}))
		b := persist.NewBallast(disk, "node", func() { given.Add(1); full.Store(false) })
		o := smallOptions(b.FS())
		var fatal atomic.Value
		o.Fatal = func(err error) {
			fatal.Store(err.Error())
			full.Store(false) // the process has ended: Pebble would go on trying
		}
		n := lead(t, o)
		work := func(entries int) (err error) {
			for i := range entries {
				if err = n.set(fmt.Sprint(i), strings.Repeat("v", 1000)); err != nil {
					return err
				}
			}
			return nil
		}
		for round := range 3 {
			if err := b.Make(1 << 20); err != nil {
				t.Fatal(err)
			}
			full.Store(true)
			if err := work(300); err != nil || fatal.Load() != nil {
				t.Fatalf("round %d: %v %v", round, err, fatal.Load())
			}
			if given.Load() != int32(round+1) || b.Size() != 0 {
				t.Errorf("the ballast was given %d times, %d bytes are left", given.Load(), b.Size())
			}
		}
		full.Store(true)
		if err := work(300); err == nil {
			t.Error("entries are acknowledged on a full disk")
		}
		if text, _ := fatal.Load().(string); !strings.Contains(text, "is full: make room") {
			t.Errorf("stopped with %q", text)
		}
		n.Close()
	})
}

// noRoomToMerge has room for everything but merged tables.
type noRoomToMerge struct {
	persist.FS
	full  *atomic.Bool
	tries *atomic.Int32
}

func (f noRoomToMerge) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == "pebble-compaction" && f.full.Load() {
		f.tries.Add(1)
		return nil, noSpace(name)
	}
	return f.FS.Create(name, c)
}

// A merge of tables that finds no room costs neither the node nor the ballast. It
// is tried again, not at once.
func TestNoRoomToMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := noRoomToMerge{persist.MemFS(), new(atomic.Bool), new(atomic.Int32)}
		disk.full.Store(true)
		b := persist.NewBallast(disk, "node", func() { t.Error("the ballast was given up") })
		n := lead(t, smallOptions(b.FS()))
		if err := b.Make(1 << 20); err != nil {
			t.Fatal(err)
		}
		// More tables than are merged at once, fewer than what stops the writes.
		work := func(done func() bool) {
			t.Helper()
			for i := 0; !done() && i < 3000; i++ {
				if err := n.set(fmt.Sprint(i%500), strings.Repeat("v", 1000)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		work(func() bool { return disk.tries.Load() > 0 })
		tries, before := disk.tries.Load(), n.Stats().DataStore.Compactions
		if tries == 0 || tries > 10 {
			t.Fatalf("tried %d times within no time", tries)
		}
		time.Sleep(5 * time.Minute)
		if more := disk.tries.Load() - tries; more == 0 || more > 50 {
			t.Errorf("tried %d times in 5 minutes", more)
		}
		disk.full.Store(false)
		merged := func() bool { return n.Stats().DataStore.Compactions > before }
		time.Sleep(time.Minute)
		work(merged)
		if !merged() {
			t.Error("tables are not merged with room again")
		}
		n.shut()
	})
}

// A snapshot that finds no room says what to do, like everything else that does.
func TestNoRoomForASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		o := smallOptions(errorfs.Wrap(persist.MemFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if full.Load() && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, snapshotSuffix) {
				return noSpace(op.Path)
			}
			return nil
		})))
		var fatal atomic.Value
		o.Fatal = func(err error) { fatal.Store(err.Error()) }
		n := lead(t, o)
		full.Store(true)
		for i := range 3000 {
			if n.set(fmt.Sprint(i), strings.Repeat("v", 1000)) != nil {
				break
			}
			synctest.Wait()
		}
		if text, _ := fatal.Load().(string); !strings.Contains(text, "recording a snapshot: the disk of folder node is full: make room") {
			t.Errorf("stopped with %q", text)
		}
		n.Close()
	})
}

// The process ends by the first fault: whoever meets another one meanwhile waits,
// for raft would panic at it and hide the first.
func TestOneFaultIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending, ended := make(chan struct{}), make(chan error, 2)
		n := &Node{failed: make(chan struct{}), fatal: func(error) { <-ending }}
		first, second := errors.New("first"), errors.New("second")
		go func() { ended <- n.fail(first) }()
		synctest.Wait()
		go func() { ended <- n.fail(second) }()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("a fault goes on while the process ends")
		}
		close(ending)
		if a, b := <-ended, <-ended; a != first || b != first {
			t.Errorf("%v and %v, want the first for both", a, b)
		}
	})
}
