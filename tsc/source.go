// Package tsc is where a node's time comes from.
package tsc

// Source is a node's clocks.
type Source interface {
	// Mono returns nanoseconds that never step and count suspended time, from an arbitrary origin.
	Mono() int64
	// Wall returns the OS real-time clock in Unix nanoseconds; it may step.
	Wall() int64
	// NewAlarm returns an alarm that calls fire, on a goroutine of its own, once
	// Mono has reached the time last set. fire must not block long.
	NewAlarm(fire func()) Alarm
}

// Alarm calls its function at a time.
type Alarm interface {
	// Set replaces the time, a Mono reading; math.MaxInt64 is never. It may be called from any goroutine.
	Set(at int64)
	// Stop releases the alarm and waits for its goroutine.
	Stop()
}

// Info describes a clock, for DQCLOCK and metrics.
type Info struct {
	Source        string // tsc, os, go or fake
	HzTSC         int64
	UncertaintyNs int64
	Fallbacks     int64  // how often the TSC was given up
	Reason        string // of the latest time
}
