package raftfsm

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dqd/persist/disktest"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

var faultEvery = flag.Int("fault-every", 12, "let one in so many file-system operations fail")

// patience is what a node has for what it does at once, on a machine that is busy.
const patience = 2 * time.Minute

// faultRun drives a node through two lives, in which the k-th file-system
// operation fails, or all from it on, until the process would have ended.
type faultRun struct {
	disktest.Fault
	seed  uint64
	steps int

	ledger *ledger
	disk   *disktest.Disk
	died   chan struct{} // closed when the process has ended
	left   crash         // what it left
}

// ends notes that the process has ended, and what the disk has then: all that was
// synced, and some of the rest, as after a power loss.
func (f *faultRun) ends(why string) {
	if !f.Heal() {
		return
	}
	percent := []int{0, 50, 100}[(f.seed+uint64(f.K))%3]
	failed, _ := f.Failed()
	acked := f.ledger.acked.Load()
	f.left = crash{f.disk.Cut(percent, f.seed+uint64(f.K), fmt.Sprintf("%s (%s)", failed, why)), acked}
	close(f.died)
}

// run returns how the fault was not survived, "" if it was.
func (f *faultRun) run(t *testing.T) (violation string) {
	f.disk = disktest.New()
	f.ledger = &ledger{byHash: map[uint64]int{0: 0}}
	f.died = make(chan struct{})
	// Not in a bubble: a store that cannot be opened leaves a goroutine behind.
	if violation = f.drive(t); violation == "" {
		f.ends("the end")
		<-f.died
		violation = (&crashRun{}).check(t, f.ledger, f.left)
	}
	if violation != "" {
		mode := "once"
		failed, _ := f.Failed()
		if f.Ever {
			mode = "from then on"
		}
		violation = fmt.Sprintf("%v %s at operation %d, %s: %s", f.Err, mode, f.K, failed, violation)
	}
	return violation
}

func (f *faultRun) drive(t *testing.T) string {
	l := f.ledger
	w, store := effecttest.New(f.seed), effecttest.Store{}
	var last record.Applied
	digest, _ := effecttest.Digest(store)
	l.digest = append(l.digest, digest)
	o := smallOptions(f.On(f.disk))
	o.Fatal = func(err error) {
		f.ends(err.Error())
		select {} // as in a process that ends, the caller does not go on
	}
	for range 2 {
		var n *Node
		if err := f.before(func() (err error) { n, err = Open(o); return err }); err != nil {
			f.ends(err.Error())
			return ""
		}
		var err error
		select {
		case <-n.Leadership():
		case <-f.died:
		case <-time.After(patience):
			return "no leadership"
		}
		err = f.before(n.Barrier)
		epoch := n.Applied().Epoch + 1
		for i := 0; i < f.steps && err == nil; i++ {
			var b effect.Batch
			w.Step(&b)
			h := w.Header()
			h.Epoch, h.Sequence = epoch, uint64(i)
			entry := b.Seal(h)
			next, _, merr := effect.Apply(store, last, 0, last.Index+1, 1, entry)
			if merr != nil {
				t.Fatalf("model: %v", merr)
			}
			last = next
			digest, _ := effecttest.Digest(store)
			l.mu.Lock()
			l.digest = append(l.digest, digest)
			l.byHash[next.StateHash] = len(l.digest) - 1
			l.mu.Unlock()
			err = f.before(func() error {
				err := (&testNode{Node: n}).propose(entry)
				if err == nil && !f.Healed() {
					l.acked.Add(1)
				}
				return err
			})
		}
		if err != nil {
			select {
			case <-f.died:
			case <-time.After(patience):
				return fmt.Sprintf("it neither stops nor goes on: %v", err)
			}
		}
		if err := f.before(n.Close); err != nil {
			f.ends(err.Error())
		}
		if f.Healed() {
			return ""
		}
	}
	return ""
}

// before returns what do returns, unless the process ends before.
func (f *faultRun) before(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-f.died:
		return errors.New("the process has ended")
	case <-time.After(patience):
		return errors.New("it hangs")
	}
}

// Every file-system operation fails, once and from then on: with EIO whatever it
// is, and with a full disk if it writes. The node stops with a reason or goes on;
// and on a healthy disk everything acknowledged is there, the state is one that
// was, and whole (I2, I7, F3, F4, F5).
//
//	go test ./raftfsm -run TestFaultAtEveryOperation -fault-every 1 -timeout 2h
func TestFaultAtEveryOperation(t *testing.T) {
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 6))
	for _, c := range []struct {
		name string
		err  error
		hits func(op disktest.Op) bool
		ever bool
	}{
		{"EIO once", syscall.EIO, disktest.Anything, false},
		{"EIO for ever", syscall.EIO, disktest.Anything, true},
		{"disk full once", syscall.ENOSPC, disktest.Needing, false},
		{"disk full for ever", syscall.ENOSPC, disktest.Needing, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := func(k int) *faultRun {
				return &faultRun{Fault: disktest.Fault{K: k, Ever: c.ever, Err: c.err, Hits: c.hits}, seed: seed, steps: 60}
			}
			whole := one(0)
			if v := whole.run(t); v != "" {
				t.Fatalf("without a fault: %s", v)
			}
			_, ops := whole.Failed()
			var ks []int
			for k := 1 + rng.IntN(*faultEvery); k <= ops; k += *faultEvery {
				ks = append(ks, k)
			}
			var stopped atomic.Int32
			t.Run("k", func(t *testing.T) {
				for _, k := range ks {
					t.Run(fmt.Sprint(k), func(t *testing.T) {
						t.Parallel() // most of it is waiting for elections
						f := one(k)
						if v := f.run(t); v != "" {
							t.Error(v)
						}
						if failed, _ := f.Failed(); failed != "" && f.left.Op != failed+" (the end)" {
							stopped.Add(1)
						}
					})
				}
			})
			t.Logf("%d of %d operations failed; the node stopped %d times", len(ks), ops, stopped.Load())
			if len(ks) < 10 || stopped.Load() == 0 {
				t.Error("too little was tried")
			}
		})
	}
}
