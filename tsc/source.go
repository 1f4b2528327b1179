package tsc

import (
	"math"
	"time"
)

// Source tells the time on two lines, and wakes. All methods may be called from
// any goroutine.
type Source interface {
	// Mono returns nanoseconds since an arbitrary origin, not negative. It
	// never steps, never runs backwards, and counts the time for which the
	// machine was suspended (at the latest a second after it wakes up).
	Mono() int64

	// CatchUp makes Mono count the time of a suspension that has just ended, now
	// instead of within a second. It costs microseconds.
	CatchUp()

	// Wall returns Unix nanoseconds on the operating system's real-time
	// clock, which steps whenever someone sets it.
	Wall() int64

	// NewAlarm returns an alarm, not yet set, that calls fire once Mono() has
	// reached the time last set. fire runs on the alarm's own goroutine (for a
	// Fake: in Advance), never twice at once; while it runs the alarm is late.
	NewAlarm(fire func()) Alarm
}

// Alarm calls a function at a time on its source's Mono line, never before it.
type Alarm interface {
	// Set replaces the earlier setting. The alarm fires once for it, at once
	// if at has passed; Never means not at all. It may be called from any
	// goroutine, fire included, and costs next to nothing if at is unchanged.
	Set(at int64)

	// Stop ends the alarm for good: once it returns, fire is not running and
	// will not run. fire itself must not call it.
	Stop()
}

// Never is the time at which no alarm fires.
const Never = math.MaxInt64

// Options configure an OS or TSC source. The zero value is what to use.
type Options struct {
	// Spin lets an alarm that has slept wake up this much early and spend the
	// rest reading the clock: it then fires within a microsecond instead of
	// some 50, for the price of a core. 0 = off; more than 80 µs is cut off;
	// with two cores or fewer it starves whoever is to be woken.
	Spin time.Duration

	// OnEvent, if not nil, is told when a TSC source switches between TSC and
	// OS, and why. It runs on the source's goroutine and must not block.
	OnEvent func(Info)
}

// Info is what a source knows about itself.
type Info struct {
	Source string // "tsc", "os", "go" or "fake": what Mono reads at present

	// Of a TSC source; zero until it has calibrated.
	HzTSC         int64  // counts per second
	ResidualNs    int64  // OS minus TSC line at the last check, what is being slewed away
	UncertaintyNs int64  // of that check: time between the two readings of TSC around OS's
	Checks        int64  // checks made, one a second
	Skipped       int64  // of these without result, for being interrupted
	Fallbacks     int64  // times that TSC was given up
	Reason        string // why it was last given up or is not used, in words; "" = in use or still calibrating

	SuspendedNs int64 // BOOTTIME - MONOTONIC, the time for which the machine was suspended
}
