package tsc

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	second = int64(time.Second)

	// suspendMinNs is what BOOTTIME - MONOTONIC has to grow by to count as a
	// suspension. Reading the two clocks one after the other is less exact.
	suspendMinNs = int64(time.Millisecond)
)

// OS is the operating system's clock. Mono is CLOCK_BOOTTIME's line, read as
// CLOCK_MONOTONIC (50 ns, where a read of CLOCK_BOOTTIME is a system call of 300)
// plus their difference, which is looked up once a second.
type OS struct {
	options   Options
	start     time.Time    // whose monotonic part is what Mono counts from
	offset    atomic.Int64 // ns, CLOCK_BOOTTIME at start, and suspensions since
	nextCheck atomic.Int64 // ns since start

	mu        sync.Mutex // held by the one who checks
	suspended int64      // ns, BOOTTIME - MONOTONIC as of the last check; guarded by mu
	read      func() int64
}

// NewOS returns the operating system's clock.
func NewOS(options Options) *OS { return newOS(options, readSuspended) }

func newOS(options Options, read func() int64) *OS {
	o := &OS{options: options, start: time.Now(), suspended: read(), read: read}
	o.offset.Store(max(0, clock(unix.CLOCK_MONOTONIC)+o.suspended))
	o.nextCheck.Store(second)
	return o
}

func (o *OS) Mono() int64 {
	m := int64(time.Since(o.start))
	if m >= o.nextCheck.Load() {
		o.check(m)
	}
	return m + o.offset.Load()
}

func (o *OS) Wall() int64 { return time.Now().UnixNano() }

// check moves the offset by the time the machine was suspended. It only grows.
func (o *OS) check(m int64) {
	if !o.mu.TryLock() {
		return // someone else is at it
	}
	defer o.mu.Unlock()
	o.count()
	o.nextCheck.Store(m + second)
}

// count moves the offset; mu is held.
func (o *OS) count() {
	if s := o.read(); s-o.suspended >= suspendMinNs {
		o.offset.Add(s - o.suspended)
		o.suspended = s
	}
}

// CatchUp looks for a suspension now.
func (o *OS) CatchUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count()
}

func (o *OS) NewAlarm(fire func()) Alarm { return newAlarm(o, o.options.Spin, fire) }

// Info tells the time for which the machine was suspended.
func (o *OS) Info() Info {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Info{Source: "os", SuspendedNs: o.suspended}
}

// readSuspended returns BOOTTIME - MONOTONIC, from the closest of a few
// readings.
func readSuspended() int64 {
	best, width := int64(0), int64(Never)
	for range 4 {
		before := clock(unix.CLOCK_MONOTONIC)
		boot := clock(unix.CLOCK_BOOTTIME)
		after := clock(unix.CLOCK_MONOTONIC)
		if after-before < width {
			best, width = boot-(before+after)/2, after-before
		}
	}
	return max(best, 0)
}

// clock reads one of the kernel's clocks, which cannot fail for the ones used.
func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		panic("tsc: clock_gettime: " + err.Error())
	}
	return t.Nano()
}
