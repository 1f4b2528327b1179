package tsc

import (
	"fmt"
	"math/bits"
)

const (
	windowNs    = 10 * second // over which the rate is measured, and the least baseline
	intervalNs  = second      // between samples
	maxBackoff  = 8           // doublings of the baseline after fallbacks: 43 minutes
	maxSlewPPM  = 500         // what a residual is worked off with
	maxRatePPM  = 1000        // difference of rate between one interval and the window
	maxResidual = 1_000_000   // ns between the line and OS; more is no drift
	maxWidthNs  = 20_000      // of a sample; wider ones were interrupted and say nothing
	maxSkipped  = 30          // wide samples in a row
)

// sample is one simultaneous reading of counter and OS clock, and of what has to
// be known to believe it.
type sample struct {
	count       uint64 // the counter, halfway between its readings around that of os
	os          int64  // ns, on the OS source's Mono line
	line        int64  // ns, what the line shows at count; 0 if the counter is not in use
	widthNs     int64  // time between the two readings of the counter
	suspendedNs int64  // BOOTTIME - MONOTONIC
	unfit       string // why the counter must not be used at all, "" if it may
}

// verdict is what a sample leads to.
type verdict struct {
	use  bool   // the counter is fit
	mult uint64 // ns per count, in units of 2^-48, slewing included; 0 = no news, go on as before
}

// discipline decides whether the counter is fit to be the clock, and at what
// rate. It reads no clock: samples go in, one a second, verdicts come out.
//
// The rate is that between the samples at the two ends of the window; on it comes
// what works the residual off by the next sample, at most maxSlewPPM. Anything
// else than a small residual is not slewed but ends the use of the counter, which
// then has to prove itself over a new baseline, twice as long each time.
type discipline struct {
	window []sample // good ones, oldest first, over windowNs or just more
	inUse  bool
	since  int64 // ns, os of the first sample of the baseline
	skips  int   // wide samples in a row
	info   Info
}

func newDiscipline() *discipline {
	return &discipline{info: Info{Source: "os"}}
}

func (d *discipline) feed(s sample) verdict {
	d.info.Checks++
	d.info.SuspendedNs = s.suspendedNs
	if s.unfit != "" {
		return d.reject(s, s.unfit)
	}
	if s.widthNs > maxWidthNs {
		d.info.Skipped++
		if d.skips++; d.skips > maxSkipped {
			return d.reject(s, fmt.Sprintf("no undisturbed reading in %d", d.skips))
		}
		if off := d.off(s, s.widthNs); off != "" { // it steers nothing, but shows this
			return d.reject(s, off)
		}
		return verdict{use: d.inUse}
	}
	d.skips = 0
	if reason := d.doubt(s); reason != "" {
		return d.reject(s, reason)
	}
	d.add(s)
	if !d.inUse && s.os-d.since < d.baseline() {
		return verdict{}
	}

	first := d.window[0]
	mult, ok := rate(s.os-first.os, s.count-first.count)
	if !ok {
		return d.reject(s, "counter slower than 1 kHz")
	}
	residual := int64(0)
	if d.inUse {
		residual = s.os - s.line
	}
	const mostNs = intervalNs / 1_000_000 * maxSlewPPM
	slew := min(max(residual, -mostNs), mostNs)
	d.inUse = true
	d.info.Source, d.info.Reason = "tsc", ""
	d.info.HzTSC = int64(mulDiv(s.count-first.count, uint64(second), uint64(s.os-first.os)))
	d.info.ResidualNs, d.info.UncertaintyNs = residual, s.widthNs
	return verdict{use: true, mult: mult + uint64(int64(mult/uint64(intervalNs))*slew)}
}

// doubt returns what is wrong with s in the light of the samples before it.
func (d *discipline) doubt(s sample) string {
	if len(d.window) == 0 {
		return ""
	}
	last := d.window[len(d.window)-1]
	osNs := s.os - last.os
	switch {
	case s.suspendedNs-last.suspendedNs >= suspendMinNs:
		return fmt.Sprintf("machine was suspended for %d ms", (s.suspendedNs-last.suspendedNs)/1_000_000)
	case int64(s.count-last.count) <= 0:
		return fmt.Sprintf("counter did not advance: %d after %d", s.count, last.count)
	case osNs <= 0:
		return fmt.Sprintf("OS clock did not advance: %d ns", osNs)
	}
	if off := d.off(s, 0); off != "" {
		return off
	}
	if len(d.window) < 2 {
		return ""
	}
	first := d.window[0]
	mult, ok := rate(last.os-first.os, last.count-first.count)
	if !ok {
		return "counter slower than 1 kHz"
	}
	expected := line{mult: mult}.value(s.count - last.count)
	allowed := osNs/1_000_000*maxRatePPM + s.widthNs + last.widthNs
	if off := expected - osNs; off > allowed || off < -allowed {
		return fmt.Sprintf("counter advanced by %d ns in %d ns", expected, osNs)
	}
	return ""
}

// off says that the line is too far from the OS clock, if it is in use. s is good to so
// many ns.
func (d *discipline) off(s sample, errorNs int64) string {
	ahead := s.line - s.os
	if d.inUse && max(ahead, -ahead)-maxResidual > errorNs { // which may be Never
		return fmt.Sprintf("counter is %d ns off the OS clock", ahead)
	}
	return ""
}

// reject ends the use of the counter and begins anew with s.
func (d *discipline) reject(s sample, reason string) verdict {
	if d.inUse {
		d.info.Fallbacks++
	}
	d.inUse = false
	d.info.Source, d.info.Reason = "os", reason
	d.info.ResidualNs, d.info.UncertaintyNs = 0, 0
	d.window, d.skips = d.window[:0], 0
	if s.unfit == "" && s.widthNs <= maxWidthNs {
		d.add(s)
	}
	return verdict{}
}

// add appends s to the window, and drops what is older than it needs to be.
func (d *discipline) add(s sample) {
	if len(d.window) == 0 {
		d.since = s.os
	}
	d.window = append(d.window, s)
	old := 0
	for old+1 < len(d.window) && s.os-d.window[old+1].os >= windowNs {
		old++ // what follows spans the window without it
	}
	d.window = append(d.window[:0], d.window[old:]...)
}

// baseline returns for how long the counter has to be watched before it is used.
func (d *discipline) baseline() int64 {
	return windowNs << min(d.info.Fallbacks, maxBackoff)
}

// rate returns ns per count in units of 2^-48, or false if it is absurd.
func rate(ns int64, counts uint64) (uint64, bool) {
	if ns <= 0 || counts < uint64(ns)/1_000_000 || counts == 0 {
		return 0, false
	}
	hi, lo := uint64(ns)>>(64-multBits), uint64(ns)<<multBits
	if hi >= counts {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, counts)
	return q, true
}

// mulDiv returns a * b / c, or 0 if that does not fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 0
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}
