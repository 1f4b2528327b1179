package raftfsm

import (
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist"
	"dqd/persist/disktest"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

var (
	crashSeed  = flag.Uint64("crash-seed", 0, "seed of the crash test; 0 = by the clock")
	crashEvery = flag.Int("crash-every", 4, "look at about one in so many crash points")
)

// ledger is what must be true of every crash: which states there were, and how
// many entries were acknowledged when.
type ledger struct {
	mu     sync.Mutex
	byHash map[uint64]int // state hash → number of entries applied
	digest []uint64       // number of entries → content
	acked  atomic.Int64
}

// crash is the disk after a power loss, and how many entries had been acknowledged before it.
type crash struct {
	disktest.Cut
	acked int64
}

// crashRun drives a node and cuts the power after file-system operations.
type crashRun struct {
	seed   uint64
	steps  int
	every  int
	change func(*Options)              // breaks the node under test
	disk   func(persist.FS) persist.FS // breaks the disk under test
	enough int                         // stop after so many violations; 0 = 1
	points int
}

// run returns the violations that it found.
func (c *crashRun) run(t *testing.T) (violations []string) {
	l := &ledger{byHash: map[uint64]int{0: 0}}
	crashes := make(chan crash, 4)
	var stopped atomic.Bool
	disk := disktest.New()
	if c.disk != nil {
		disk = disk.Over(c.disk)
	}
	o := smallOptions(disk.Cuts(c.seed, c.every, func(cut func() disktest.Cut) {
		if !stopped.Load() {
			// First the ledger, then the disk: what is acknowledged in between is not asked for.
			acked := l.acked.Load()
			crashes <- crash{cut(), acked}
		}
	}))
	if c.change != nil {
		c.change(&o)
	}
	var drive []string
	go func() {
		defer close(crashes)
		drive = c.drive(t, o, l)
	}()
	for cr := range crashes {
		if stopped.Load() {
			continue
		}
		c.points++
		if v := c.check(t, l, cr); v != "" {
			violations = append(violations, v)
			if len(violations) >= max(1, c.enough) {
				stopped.Store(true)
			}
		}
	}
	return append(violations, drive...)
}

// drive proposes the workload through two lives of a node, and now and then an
// old entry again, which the fence must refuse.
func (c *crashRun) drive(t *testing.T, o Options, l *ledger) (violations []string) {
	w, store := effecttest.New(c.seed), effecttest.Store{}
	var last record.Applied
	var old []byte
	digest, _ := effecttest.Digest(store)
	l.digest = append(l.digest, digest)
	for range 2 {
		n := lead(t, o)
		epoch := n.Applied().Epoch + 1
		for i := range c.steps {
			var b effect.Batch
			w.Step(&b)
			h := w.Header()
			h.Epoch, h.Sequence = epoch, uint64(i)
			entry := b.Seal(h)
			next, _, err := effect.Apply(store, last, 0, last.Index+1, 1, entry)
			if err != nil {
				t.Errorf("model: %v", err)
				return nil
			}
			last = next
			digest, _ := effecttest.Digest(store)
			l.mu.Lock()
			l.digest = append(l.digest, digest)
			l.byHash[next.StateHash] = len(l.digest) - 1
			l.mu.Unlock()
			if err := n.propose(entry); err != nil {
				violations = append(violations, fmt.Sprintf("proposal %d: %v", i, err))
				break
			}
			l.acked.Add(1)
			if i%7 == 3 && old != nil {
				if err := n.propose(refreshed(old, h)); !errors.Is(err, ErrFenced) {
					violations = append(violations, fmt.Sprintf("an entry with an old epoch was not fenced: %v", err))
				}
			}
			old = entry
		}
		n.shut()
	}
	return violations
}

// refreshed returns an old entry with the time and counters of h, so that only
// the fence stands between it and the state.
func refreshed(entry []byte, h effect.Header) []byte {
	e, err := effect.Decode(entry)
	if err != nil {
		panic(err)
	}
	h.Epoch, h.Sequence = e.Epoch, e.Sequence
	var b effect.Batch
	b.Set([]byte{0xf1}, entry)
	return b.Seal(h)
}

// check opens what a crash left, inside a bubble, and compares it with the ledger.
func (c *crashRun) check(t *testing.T, l *ledger, cr crash) (violation string) {
	at := fmt.Sprintf("power loss before %s, %d %% of unsynced data kept, %d acknowledged", cr.Op, cr.Percent, cr.acked)
	synctest.Test(t, func(t *testing.T) {
		o := smallOptions(cr.FS)
		o.SnapshotEntries = 1 << 30
		var fatal error
		o.Fatal = func(err error) { fatal = err }
		n, err := Open(o)
		if err != nil {
			violation = fmt.Sprintf("%s: %v", at, err)
			return
		}
		defer n.Close()
		if !<-n.Leadership() {
			violation = at + ": no leadership"
			return
		}
		if err := n.Barrier(); err != nil {
			violation = fmt.Sprintf("%s: %v (%v)", at, err, fatal)
			return
		}
		a := n.Applied()
		l.mu.Lock()
		count, known := l.byHash[a.StateHash]
		var want uint64
		if known {
			want = l.digest[count]
		}
		l.mu.Unlock()
		digest, err := effecttest.Digest(n.State())
		switch {
		case err != nil:
			violation = fmt.Sprintf("%s: %v", at, err)
		case !known:
			violation = fmt.Sprintf("%s: the state at %+v never was", at, a)
		case int64(count) < cr.acked:
			violation = fmt.Sprintf("%s: only %d entries are there", at, count)
		case digest != want:
			violation = fmt.Sprintf("%s: the content differs after %d entries", at, count)
		default:
			if err := persist.Verify(n.State()); err != nil {
				violation = fmt.Sprintf("%s: %v", at, err)
			}
		}
	})
	return violation
}

func seedOf(t *testing.T) uint64 {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with -crash-seed %d", seed)
	return seed
}

// After a power loss at any file-system operation, with none, some or all of the
// unsynced data lost, all acknowledged entries are there, the state is exactly one
// of its earlier states, and it is whole (I2, I7, F1, F2, F3).
func TestCrash(t *testing.T) {
	c := crashRun{seed: seedOf(t), steps: 100, every: *crashEvery, enough: 5}
	for _, v := range c.run(t) {
		t.Error(v)
	}
	t.Logf("%d crash points", c.points)
	if c.points < 20 {
		t.Errorf("only %d crash points", c.points)
	}
}

// Neither do the unsynced writes of the log's warm-up pass for damage.
func TestCrashWhileWarmingUp(t *testing.T) {
	c := crashRun{
		// The warm-up makes many operations, and their crash points are dear.
		seed: seedOf(t), steps: 60, every: 6 * *crashEvery, enough: 5,
		change: func(o *Options) { o.NoWarmUp, o.LogMemTable = false, 512<<10 },
		disk:   func(fs persist.FS) persist.FS { return disktest.Roomy{FS: fs} },
	}
	for _, v := range c.run(t) {
		t.Error(v)
	}
	t.Logf("%d crash points", c.points)
}

// The crash test sees what it must see: each of these faults is found.
func TestCrashSeesFaults(t *testing.T) {
	for _, m := range []struct {
		name   string
		change func(*Options)
		disk   func(persist.FS) persist.FS
	}{
		{"the log is not synced", nil, func(fs persist.FS) persist.FS { return disktest.NoSync(fs, formatName) }},
		{"the fence is gone", func(o *Options) {
			o.apply = func(txn effect.Txn, last record.Applied, shard uint32, index, term uint64, entry []byte) (record.Applied, bool, error) {
				if e, err := effect.Decode(entry); err == nil {
					last.Epoch, last.Sequence = e.Epoch, e.Sequence-1
				}
				return effect.Apply(txn, last, shard, index, term, entry)
			}
		}, nil},
		{"a snapshot is recorded before its flush", func(o *Options) {
			o.flush = func(*persist.State) (<-chan struct{}, error) {
				done := make(chan struct{})
				close(done)
				return done, nil
			}
		}, nil},
	} {
		t.Run(m.name, func(t *testing.T) {
			c := crashRun{seed: seedOf(t), steps: 100, every: 3, change: m.change, disk: m.disk}
			v := c.run(t)
			if len(v) == 0 {
				t.Fatalf("not found at %d crash points", c.points)
			}
			t.Logf("found at crash point %d: %s", c.points, v[0])
		})
	}
}
