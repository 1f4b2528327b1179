package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist"
	"dqd/raftfsm/effect"
)

// testNode is a node and what a lone leader knows: the next epoch and sequence.
type testNode struct {
	*Node
	t    testing.TB
	next effect.Header
}

// smallOptions keep a node's stores so small that a test sees flushes, WAL
// rotations, snapshots and truncation.
func smallOptions(fs persist.FS) Options {
	return Options{
		Dir: "node", FS: fs, NodeID: "a", NoWarmUp: true,
		StateMemTable: 128 << 10, LogMemTable: 128 << 10, StateCache: 1 << 20,
		SnapshotEntries: 40, TrailingLogs: 8,
	}
}

// lead opens a node and waits until it leads and has caught up.
func lead(t testing.TB, o Options) *testNode {
	t.Helper()
	if o.Fatal == nil {
		o.Fatal = func(err error) { t.Errorf("fatal: %v", err) }
	}
	n, err := Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	select {
	case leader := <-n.Leadership():
		if !leader {
			t.Fatal("leadership lost")
		}
	case <-time.After(patience):
		t.Fatal("no leadership")
	}
	if err := n.Barrier(); err != nil {
		t.Fatalf("barrier: %v", err)
	}
	a := n.Applied()
	tn := &testNode{Node: n, t: t, next: effect.Header{Shard: o.Shard, Applied: a}}
	tn.next.Epoch, tn.next.Sequence = a.Epoch+1, 0
	return tn
}

// entry seals a batch under the next header.
func (n *testNode) entry(b *effect.Batch) []byte {
	e := b.Seal(n.next)
	n.next.Sequence++
	return e
}

// set proposes one key and waits for the outcome.
func (n *testNode) set(key, value string) error {
	var b effect.Batch
	b.Set([]byte("\xf0"+key), []byte(value))
	return n.propose(n.entry(&b))
}

func (n *testNode) propose(entry []byte) error {
	done := make(chan error, 1)
	n.Propose(entry, func(err error) { done <- err })
	return <-done
}

func (n *testNode) get(key string) string {
	v, ok, err := n.State().Get([]byte("\xf0" + key))
	if err != nil {
		n.t.Fatal(err)
	}
	if !ok {
		return "(none)"
	}
	return string(v)
}

func (n *testNode) shut() {
	n.t.Helper()
	if err := n.Close(); err != nil {
		n.t.Fatalf("close: %v", err)
	}
}

// A node keeps what was acknowledged, over restarts, snapshots and log
// truncation, on the disk as in memory, inside a bubble and outside.
func TestRestart(t *testing.T) {
	run := func(t *testing.T, o Options) {
		for round := range 4 {
			n := lead(t, o)
			for i := range 100 {
				if err := n.set(fmt.Sprintf("k%d", i%10), fmt.Sprintf("%d.%d", round, i)); err != nil {
					t.Fatal(err)
				}
				if v := n.get(fmt.Sprintf("k%d", i%10)); v != fmt.Sprintf("%d.%d", round, i) {
					t.Fatalf("acknowledged but not visible: %s", v)
				}
			}
			n.shut()
		}
		n := lead(t, o)
		for i := range 10 {
			if v, want := n.get(fmt.Sprintf("k%d", i)), fmt.Sprintf("3.%d", 90+i); v != want {
				t.Errorf("k%d = %s, want %s", i, v, want)
			}
		}
		// Snapshots are taken beside what is written, so the latest may not be over.
		truncated := func(s Stats) bool {
			return s.SnapshotIndex > 0 && s.FirstIndex >= 200 && s.LastIndex-s.FirstIndex <= 100
		}
		for deadline := time.Now().Add(patience); !truncated(n.Stats()); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the log was not truncated: %+v", n.Stats())
			}
			if err := n.set("more", ""); err != nil {
				t.Fatal(err)
			}
		}
		n.shut()
	}
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, smallOptions(persist.MemFS())) })
	})
	t.Run("disk", func(t *testing.T) {
		o := smallOptions(nil)
		o.Dir = filepath.Join(t.TempDir(), "data", "node")
		run(t, o)
		filepath.Walk(o.Dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			want := os.FileMode(0o600)
			if info.IsDir() {
				want = 0o700
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
			}
			return nil
		})
	})
}

// The outcomes come in the order of the proposals, one at a time, whether they
// come from the FSM thread or from the watcher.
func TestOrderOfOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lead(t, smallOptions(persist.MemFS()))
		var got []int
		last := make(chan struct{})
		const total = 40
		for i := range total {
			var b effect.Batch
			b.Set([]byte{0xf0, byte(i)}, nil)
			h := n.next
			if i%3 == 2 {
				h.Epoch += 7 // fenced
			} else {
				n.next.Sequence++
			}
			want := i
			n.Propose(b.Seal(h), func(err error) {
				if fenced := want%3 == 2; fenced != errors.Is(err, ErrFenced) || !fenced && err != nil {
					t.Errorf("outcome %d: %v", want, err)
				}
				if got = append(got, want); len(got) == total {
					close(last)
				}
			})
		}
		<-last
		for i, v := range got {
			if i != v {
				t.Fatalf("order %v", got)
			}
		}
		n.shut()
		called := make(chan error, 1)
		n.Propose([]byte{1}, func(err error) { called <- err })
		if err := <-called; !errors.Is(err, ErrNotProposed) {
			t.Errorf("after close: %v", err)
		}
		if err := n.Barrier(); !errors.Is(err, ErrNotProposed) {
			t.Errorf("barrier after close: %v", err)
		}
	})
}

// The fence takes the next of an epoch and the first of the next epoch, nothing
// else; what it refuses has no effect but moves the position on.
func TestFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lead(t, smallOptions(persist.MemFS()))
		try := func(name string, epoch, sequence uint64, want error) {
			t.Helper()
			h := n.next
			h.Epoch, h.Sequence = epoch, sequence
			var b effect.Batch
			b.Set([]byte("\xf0"+name), []byte("x"))
			before := n.Applied()
			if err := n.propose(b.Seal(h)); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			after := n.Applied()
			if visible := n.get(name) == "x"; visible != (want == nil) {
				t.Errorf("%s: visible %v", name, visible)
			}
			if after.Index <= before.Index {
				t.Errorf("%s: the position did not move", name)
			}
			if want != nil && (after.StateHash != before.StateHash || after.Epoch != before.Epoch || after.Sequence != before.Sequence) {
				t.Errorf("%s: a fenced entry changed %+v to %+v", name, before, after)
			}
		}
		try("epoch not begun with 0", 1, 1, ErrFenced)
		try("epoch skipped", 2, 0, ErrFenced)
		try("first", 1, 0, nil)
		try("repeated", 1, 0, ErrFenced)
		try("gap", 1, 2, ErrFenced)
		try("next", 1, 1, nil)
		try("new epoch", 2, 0, nil)
		try("late from the old epoch", 1, 2, ErrFenced)
		try("next again", 2, 1, nil)
		n.shut()
	})
}

// What would stop every node when applied is refused before the log.
func TestRefusedBeforeLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lead(t, smallOptions(persist.MemFS()))
		n.next.Time, n.next.NextSeq = 1000, 7
		if err := n.set("a", "1"); err != nil {
			t.Fatal(err)
		}
		last := n.log.LastIndex()
		for name, change := range map[string]func(h *effect.Header){
			"time":  func(h *effect.Header) { h.Time-- },
			"seq":   func(h *effect.Header) { h.NextSeq-- },
			"shard": func(h *effect.Header) { h.Shard++ },
		} {
			h := n.next
			change(&h)
			var b effect.Batch
			if err := n.propose(b.Seal(h)); !errors.Is(err, ErrNotProposed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := n.propose([]byte{99}); !errors.Is(err, ErrNotProposed) {
			t.Errorf("garbage: %v", err)
		}
		if n.log.LastIndex() != last {
			t.Error("it got into the log")
		}
		n.shut()
	})
}

// A folder can be open once.
func TestLocked(t *testing.T) {
	o := smallOptions(nil)
	o.Dir = t.TempDir()
	n := lead(t, o)
	if _, err := Open(o); !errors.Is(err, persist.ErrLocked) {
		t.Errorf("second open: %v", err)
	}
	n.shut()
	lead(t, o).shut()
}

// From Open to leadership it takes less than 200 ms.
func TestFastStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		n := lead(t, smallOptions(persist.MemFS()))
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("leadership after %v", took)
		}
		n.shut()
	})
}

// Close answers what is in flight: every proposal has one outcome.
func TestCloseUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lead(t, smallOptions(persist.MemFS()))
		enough, result := make(chan struct{}), make(chan [2]int)
		go func() {
			proposed, outcomes := 0, 0
			for err := error(nil); err == nil; proposed++ {
				if proposed == 50 {
					close(enough)
				}
				ok := make(chan error, 1)
				var b effect.Batch
				b.Set([]byte{0xf0}, nil)
				n.Propose(n.entry(&b), func(err error) { outcomes++; ok <- err })
				if err = <-ok; err != nil && !errors.Is(err, ErrNotProposed) {
					t.Errorf("outcome: %v", err)
				}
			}
			result <- [2]int{proposed, outcomes}
		}()
		<-enough
		n.shut()
		if r := <-result; r[0] != r[1] {
			t.Errorf("%d proposals, %d outcomes", r[0], r[1])
		}
	})
}
