package tsc

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// sliceNs bounds one sleep. Sleeps are on CLOCK_MONOTONIC, which does not
	// count suspensions, while Mono does.
	sliceNs = 100 * int64(time.Millisecond)

	maxSpin = 80 * time.Microsecond

	futexWake       = 1 | futexPrivate // <linux/futex.h>
	futexWaitBitset = 9 | futexPrivate // with an absolute CLOCK_MONOTONIC deadline
	futexPrivate    = 128
)

// alarm is a goroutine on a thread of its own, asleep in a futex with an absolute
// deadline. Go's own timers end in epoll_wait, which counts in milliseconds: they
// are 0.6 ms late in the middle where this is 0.05. The sleep is an ordinary
// system call, so it holds up neither a garbage collection nor another goroutine.
//
// The goroutine is owned by the alarm, started by newAlarm, and ended by Stop.
type alarm struct {
	source Source
	fire   func()
	spin   int64 // ns

	at    atomic.Int64  // when to fire; Never = not set
	until atomic.Int64  // the at which the goroutine sleeps for; awake = MinInt64
	word  atomic.Uint32 // what the futex watches: changes to wake the goroutine
	stop  atomic.Bool
	done  chan struct{} // closed when the goroutine has ended
}

const awake = math.MinInt64

func newAlarm(source Source, spin time.Duration, fire func()) *alarm {
	a := &alarm{source: source, fire: fire, spin: int64(min(spin, maxSpin)), done: make(chan struct{})}
	a.at.Store(Never)
	a.until.Store(awake)
	go a.run()
	return a
}

func (a *alarm) Set(at int64) {
	if a.at.Load() == at || a.at.Swap(at) == at {
		return
	}
	// A later time needs no waking: the goroutine looks again when it wakes.
	if at < a.until.Load() {
		a.wake()
	}
}

func (a *alarm) Stop() {
	a.stop.Store(true)
	a.wake()
	<-a.done
}

func (a *alarm) wake() {
	a.word.Add(1)
	futex(&a.word, futexWake, 1, nil)
}

func (a *alarm) run() {
	defer close(a.done)
	// The thread is not given back, as its timer slack is changed: a goroutine
	// that ends while locked takes its thread along.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; without it 50 µs late

	for slept := false; ; {
		word := a.word.Load()
		if a.stop.Load() {
			return
		}
		at := a.at.Load()
		left := int64(math.MaxInt64)
		if at != Never {
			left = at - a.source.Mono()
		}
		switch {
		case left <= 0:
			slept = false
			if a.at.CompareAndSwap(at, Never) { // else it was set anew
				a.fire()
			}
		case left <= a.spin && slept:
			// Read the clock again.
		default:
			a.sleep(word, at, left)
			slept = true
		}
	}
}

// sleep returns some time, at the latest a little after at, or when word changes.
func (a *alarm) sleep(word uint32, at, left int64) {
	a.until.Store(at)
	// Set stores at and then loads until, this stores until and then loads at:
	// whoever comes second sees the other.
	if a.at.Load() == at {
		var deadline *unix.Timespec
		if at != Never {
			t := unix.NsecToTimespec(clock(unix.CLOCK_MONOTONIC) + min(max(left-a.spin, 1), sliceNs))
			deadline = &t
		}
		futex(&a.word, futexWaitBitset, word, deadline)
	}
	a.until.Store(awake)
}

// futex makes the system call. That it returns means nothing (signals end it
// early), so its result means nothing either.
func futex(word *atomic.Uint32, op int, value uint32, deadline *unix.Timespec) {
	const anyBit = 0xffffffff
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(value),
		uintptr(unsafe.Pointer(deadline)), 0, anyBit)
}
