package model_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist/disktest"
)

// life is that of a process in a bubble, which may end by a fault. Then its goroutines stand
// where they are, as the one that found the fault never goes on. A nil life does not end.
type life struct {
	died   chan struct{} // closed when it has ended
	served atomic.Int64  // wall ns; 0 = not yet
}

// never is no bubble's: who waits for it keeps the time of a bubble from going on. What
// belongs to a life that ended so, some 10 MiB, stays until the test binary ends.
var never = make(chan struct{})

// before waits for what do does, unless the process ends.
func (l *life) before(do func()) {
	if l == nil {
		do()
		return
	}
	if l.over() {
		return
	}
	end := make(chan struct{})
	go func() { do(); close(end) }()
	select {
	case <-end:
	case <-l.died:
	}
}

func (l *life) over() bool {
	if l == nil {
		return false
	}
	select {
	case <-l.died:
		return true
	default:
		return false
	}
}

// The k-th operation of a kind fails, once or with all behind it: the node stops or goes on, by
// a failed write of the log it stops, and what is left on a healthy disk is held to the same as
// after a crash: what was answered holds, what was said not to be done is not (I2, I17, F4, F5).
//
//	go test ./tests/model -run TestShardFaults -crash.fault-every 1 -timeout 2h
func TestShardFaults(t *testing.T) {
	seed := crashSeedOf(t)
	for _, f := range []struct {
		name  string
		err   error
		hits  func(disktest.Op) bool
		ever  bool
		stops bool // at once, whatever fails
	}{
		{"EIO once", syscall.EIO, disktest.Filling, false, true},
		{"disk full for ever", syscall.ENOSPC, disktest.Filling, true, false},
		{"EIO once in the log", syscall.EIO, disktest.Logging, false, true},
		{"disk full for ever in the log", syscall.ENOSPC, disktest.Logging, true, true},
		{"EIO once in reading", syscall.EIO, disktest.Reading, false, true},
	} {
		t.Run(f.name, func(t *testing.T) {
			stopped, ops := 0, 1<<30
			first := 1 + int(seed%uint64(min(4, *faultEvery))) // a history may have few
			for k := first; k <= ops; k += *faultEvery {
				c := &crashRun{seed: seed, steps: *crashSteps}
				fault := &disktest.Fault{K: k, Ever: f.ever, Err: f.err, Hits: func(op disktest.Op) bool { return c.until.Load() > 0 && f.hits(op) }}
				left, ended := fail(t, disktest.New(), fault, c.now, func(t *testing.T, disk *disktest.Disk, fatal func(error), l *life) {
					c.life = l
					c.play(t, disk, fatal, l.over)
				})
				failed, n := fault.Failed()
				switch {
				case ended:
					stopped++
				case failed != "" && f.stops:
					t.Fatalf("-crash.seed %d: %v at operation %d, %s: it goes on", seed, f.err, k, failed)
				case failed == "":
					ops = n
				}
				if violation := c.check(t, left); violation != "" {
					t.Fatalf("%v at operation %d: %s", f.err, k, violation)
				}
			}
			t.Logf("the node stopped %d times", stopped)
			if stopped == 0 && first <= ops {
				t.Error("no fault stopped the node")
			}
		})
	}
}

// The k-th operation fails while the node starts after a crash: it stops or serves, and its next
// start on a healthy disk is held to the same (F3, F4).
func TestShardFaultsAtStart(t *testing.T) {
	c := &crashRun{seed: crashSeedOf(t), steps: *crashSteps}
	crashes := c.crashes(t, *crashEvery)
	if len(crashes) == 0 { // a history may have few operations
		crashes = c.crashes(t, 1)
	}
	cr := crashes[len(crashes)/2]
	stopped, failed := 0, "some"
	for k := 1 + int(c.seed%uint64(*faultEvery)); failed != ""; k += *faultEvery {
		fault := &disktest.Fault{K: k, Err: syscall.EIO, Hits: disktest.Anything}
		var l *life
		var begun time.Time
		now := func() crash {
			later := cr
			later.wall += int64(time.Since(begun))
			later.served = l.served.Load()
			return later
		}
		left, ended := fail(t, cr.Disk.Cut(0, 0, "").Disk, fault, now, func(t *testing.T, disk *disktest.Disk, fatal func(error), its *life) {
			l, begun = its, time.Now()
			l.before(func() {
				if p, err := openPiped(disk, cr.wall, fatal, l); err == nil {
					p.Close()
				}
			})
		})
		if ended {
			stopped++
		}
		if violation := c.check(t, left); violation != "" {
			t.Fatalf("EIO at operation %d of the start: %s", k, violation)
		}
		failed, _ = fault.Failed()
	}
	t.Logf("the node stopped %d times", stopped)
	if stopped == 0 {
		t.Error("no fault stopped the node")
	}
}

// fail lets a process live on a disk with a fault. It returns what was left when it ended
// by the fault, or at the end of that life.
func fail(t *testing.T, disk *disktest.Disk, fault *disktest.Fault, now func() crash,
	live func(t *testing.T, disk *disktest.Disk, fatal func(error), l *life)) (left crash, ended bool) {
	over := make(chan struct{})
	go synctest.Test(t, func(t *testing.T) { // which never ends if the process does
		defer close(over)
		l := &life{died: make(chan struct{})}
		leave := func() bool {
			if !fault.Heal() {
				return false
			}
			failed, _ := fault.Failed()
			left = now()
			left.Cut = disk.Cut([]int{0, 50, 100}[fault.K%3], uint64(fault.K), failed)
			return true
		}
		live(t, fault.On(disk), func(error) {
			if leave() {
				close(l.died)
			}
			<-never
		}, l)
		ended = l.over()
		leave()
	})
	<-over
	if t.Failed() {
		t.FailNow() // nothing may be left to look at
	}
	return left, ended
}
