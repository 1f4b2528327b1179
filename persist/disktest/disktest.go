// Package disktest has disks that fail: the power goes, or an operation is refused.
package disktest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dqd/persist"
)

// Disk is a file system in memory that may fail.
type Disk struct {
	persist.FS
	mem *vfs.MemFS
}

// Cut is what a power loss leaves of a disk.
type Cut struct {
	*Disk
	Percent int    // of what was not synced is kept
	Op      string // the operation before which the power went
}

// New returns an empty disk.
func New() *Disk {
	mem := persist.CrashFS()
	return &Disk{FS: reusing{mem}, mem: mem}
}

// Over returns the same disk with a layer over its operations.
func (d *Disk) Over(layer func(persist.FS) persist.FS) *Disk { return &Disk{layer(d.FS), d.mem} }

// Cut returns what a power loss at this moment leaves.
func (d *Disk) Cut(percent int, seed uint64, op string) Cut {
	left := d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 3))})
	return Cut{&Disk{FS: reusing{left}, mem: left}, percent, op}
}

// Cuts returns the disk with the power going before one in so many of the operations that
// write, with none, half or all of the unsynced data kept, each counted. It calls at, which
// notes what must be there and then lets the power go; the disk itself goes on.
func (d *Disk) Cuts(seed uint64, every int, at func(cut func() Cut)) *Disk {
	var mu sync.Mutex // operations come from several goroutines
	rng := rand.New(rand.NewPCG(seed, 2))
	return d.Over(func(fs persist.FS) persist.FS {
		return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			for _, percent := range []int{0, 50, 100} {
				mu.Lock()
				skip, seed := rng.IntN(every) > 0, rng.Uint64()
				mu.Unlock()
				if !skip {
					at(func() Cut { return d.Cut(percent, seed, fmt.Sprintf("%v %s", op.Kind, op.Path)) })
				}
			}
			return nil
		}))
	})
}

// reusing takes a file into use again in two steps. MemFS does it in one, during
// which it takes the lock that CrashClone waits for twice, and then both wait for ever.
type reusing struct{ *vfs.MemFS }

func (f reusing) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.Rename(from, to); err != nil {
		return nil, err
	}
	return f.OpenReadWrite(to, c)
}

// Roomy is a file system that says it has room, which memory says nothing about.
type Roomy struct{ persist.FS }

// GetDiskUsage implements persist.FS.
func (Roomy) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// Fault lets the k-th operation of a disk fail, or all from it on, until the process
// would have ended: then nothing that it does counts any more, and the disk heals, as
// Pebble would try again for ever.
type Fault struct {
	K    int // from 1; 0 = none fails
	Ever bool
	Err  error
	Hits func(op Op) bool // which operations are counted

	mu     sync.Mutex
	ops    int
	failed string
	over   bool
}

// Op is an operation of a disk.
type Op = errorfs.Op

// Anything hits all operations that can fail.
func Anything(op Op) bool { return op.Kind != errorfs.OpFileClose }

// Needing hits the operations that need room.
func Needing(op Op) bool {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpRename, errorfs.OpMkdirAll, errorfs.OpFilePreallocate:
		return true
	}
	return false
}

// Filling hits the writes and syncs of tables and manifests.
func Filling(op Op) bool {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return strings.HasSuffix(op.Path, ".sst") || strings.Contains(op.Path, "MANIFEST")
	}
	return false
}

// Reading hits the reads of tables.
func Reading(op Op) bool {
	return (op.Kind == errorfs.OpFileRead || op.Kind == errorfs.OpFileReadAt) && strings.HasSuffix(op.Path, ".sst")
}

// Logging hits the writes and syncs of write-ahead files.
func Logging(op Op) bool {
	switch op.Kind {
	case errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return strings.HasSuffix(op.Path, ".log")
	}
	return false
}

// On returns the disk with the fault.
func (f *Fault) On(d *Disk) *Disk {
	return d.Over(func(fs persist.FS) persist.FS { return errorfs.Wrap(fs, errorfs.InjectorFunc(f.inject)) })
}

func (f *Fault) inject(op Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || !f.Hits(op) {
		return nil
	}
	f.ops++
	if f.K == 0 || f.ops < f.K || f.ops > f.K && !f.Ever {
		return nil
	}
	if f.failed == "" {
		f.failed = fmt.Sprintf("%v %s", op.Kind, op.Path)
	}
	return f.Err
}

// Heal ends the fault. It reports whether it had not ended.
func (f *Fault) Heal() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.over
	f.over = true
	return !was
}

// Healed reports whether the fault has ended.
func (f *Fault) Healed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// Failed is the first operation that failed, "" if none did; ops are those counted.
func (f *Fault) Failed() (op string, ops int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed, f.ops
}
