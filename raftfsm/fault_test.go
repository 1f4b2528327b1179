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

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dqd/persist"
)

var errDisk = errors.New("injected disk error")

// A failed write or sync calls Fatal once, and nothing is acknowledged from then
// on (F4). In production the process is gone by then; here the hook returns.
func TestDiskFaults(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	table := func(store string) func(op errorfs.Op) bool {
		return func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, store) && strings.HasSuffix(op.Path, ".sst")
		}
	}
	for _, c := range []struct {
		name string
		err  error
		want string // part of the reason
		hits func(op errorfs.Op) bool
	}{
		{"full disk under a table of the state", full, "folder node/shard-0/state is full: make room", table("/state/")},
		{"full disk under a table of the log", full, "folder node/log is full: make room", table("/log/")},
		{"full disk under the log", full, "folder node/log is full: make room", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log")
		}},
		{"the log's marker", errDisk, "NEWEST-WAL", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, "NEWEST-WAL")
		}},
		{"the log's number of synced writes", errDisk, "SYNCED", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWriteAt && strings.Contains(op.Path, "SYNCED")
		}},
		{"sync of the log", errDisk, "injected", func(op errorfs.Op) bool {
			return (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) &&
				strings.HasSuffix(op.Path, ".log")
		}},
		{"write of the log", errDisk, "injected", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log")
		}},
		{"write of a table of the state", errDisk, "injected", table("/state/")},
		{"sync of the state's manifest", errDisk, "injected", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, "/state/MANIFEST")
		}},
		{"sync of a snapshot descriptor", errDisk, "injected", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, snapshotSuffix)
		}},
		{"rename of a snapshot descriptor", errDisk, "injected", func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpRename && strings.Contains(op.Path, snapshotSuffix)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var armed atomic.Bool
				var fatals atomic.Int32
				fs := errorfs.Wrap(persist.MemFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					// Pebble retries flushes in a tight loop, so the disk heals once the
					// fault was reported: what follows must be refused all the same.
					if armed.Load() && fatals.Load() == 0 && c.hits(op) {
						return c.err
					}
					return nil
				}))
				o := smallOptions(fs)
				var reason atomic.Value
				o.Fatal = func(err error) {
					reason.Store(err.Error())
					fatals.Add(1)
				}
				n := lead(t, o)
				for i := range 10 {
					if err := n.set(fmt.Sprint(i), "before"); err != nil {
						t.Fatal(err)
					}
				}
				armed.Store(true)
				failed := false
				for i := range 200 {
					err := n.set(fmt.Sprint(i), strings.Repeat("after", 300)) // so that the log needs a new file
					if err == nil && failed {
						t.Fatalf("entry %d was acknowledged after the fault", i)
					}
					if err == nil && fatals.Load() > 0 {
						// The answer may have been on its way when the fault came;
						// the next one may not.
						failed = true
					}
					failed = failed || err != nil
					synctest.Wait()
				}
				if fatals.Load() != 1 {
					t.Errorf("Fatal was called %d times", fatals.Load())
				}
				if got, _ := reason.Load().(string); !strings.Contains(got, c.want) {
					t.Errorf("the reason is %q, want %q", got, c.want)
				}
				if n.failure() == nil {
					t.Error("the node goes on")
				}
				start := time.Now()
				n.Close()
				if took := time.Since(start); took > time.Minute {
					t.Errorf("Close took %v", took)
				}
			})
		})
	}
}
