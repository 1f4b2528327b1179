package tsc

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// world is a machine with a counter and an OS clock that a test can break.
type world struct {
	ns          int64 // the OS clock's Mono
	counts      uint64
	countsPerMs uint64
	suspended   int64
	width       int64
	unfit       string
	skew        int64 // what every other reading of the counter is off by: two cores that differ
	reads       int

	t         *TSC
	nextCheck int64
	last      int64 // the latest that Mono showed
	grain     int64 // ns, how far back it may run
	events    []Info
}

func newWorld() *world {
	w := &world{ns: 1e9, counts: 1e12, countsPerMs: 2_445_430, width: 50}
	w.t = &TSC{discipline: newDiscipline(), env: env{
		counter: w.counter,
		mono:    func() int64 { return w.ns },
		onEvent: func(i Info) { w.events = append(w.events, i) },
		sample: func() sample {
			return sample{count: w.counter(), os: w.ns, widthNs: w.width, suspendedNs: w.suspended, unfit: w.unfit}
		},
	}}
	w.nextCheck = w.ns
	return w
}

func (w *world) counter() uint64 {
	w.reads++
	if w.reads%2 == 0 {
		return w.counts + uint64(w.skew)
	}
	return w.counts
}

// run lets time pass, a millisecond a step, with a check every second, and
// verifies on the way that the clock never runs backwards. It returns the
// largest difference from the OS clock.
func (w *world) run(d time.Duration) (worst int64, err error) {
	for range d.Milliseconds() {
		w.ns += 1e6
		w.counts += w.countsPerMs
		if w.ns >= w.nextCheck {
			w.t.check()
			w.nextCheck += second
		}
		now := w.t.Mono()
		if now < w.last-w.grain {
			return worst, fmt.Errorf("backwards by %d ns at %d", w.last-now, w.ns)
		}
		w.last = max(w.last, now)
		worst = max(worst, now-w.ns, w.ns-now)
	}
	return worst, nil
}

// Sessions with a machine, in testdata. Commands:
//
//	new
//	run D              let time pass; prints events, and the largest error of Mono against the OS clock
//	jump COUNTS        the counter jumps
//	rate COUNTS/MS     the counter runs at another rate
//	slew PPM           the OS clock runs at another rate, as under NTP: the same, seen from the other side
//	skew COUNTS        half of the readings come from a core whose counter differs
//	suspend D [stopped]   the OS clock goes on, so does the counter, or not
//	unfit [REASON...]
//	width NS           of samples
//	info
func TestSessions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func() (s string) {
				var all []string
				for _, a := range d.CmdArgs {
					all = append(all, a.Key)
				}
				return strings.Join(all, " ")
			}
			number := func() (n int64) {
				if _, err := fmt.Sscan(arg(), &n); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return n
			}
			switch d.Cmd {
			case "new":
				w = newWorld()
			case "run":
				span, err := time.ParseDuration(arg())
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				start := w.ns
				worst, err := w.run(span)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				var b strings.Builder
				for _, e := range w.events {
					fmt.Fprintf(&b, "now %s %s\n", e.Source, e.Reason)
				}
				w.events = nil
				fmt.Fprintf(&b, "after %v: off by at most %d ns\n", time.Duration(w.ns-start), worst)
				return b.String()
			case "jump":
				w.counts += uint64(number())
			case "rate":
				w.countsPerMs = uint64(number())
			case "slew":
				w.countsPerMs += uint64(int64(w.countsPerMs) * number() / 1_000_000)
			case "skew":
				w.skew = number()
			case "suspend":
				span, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				w.ns += int64(span)
				w.suspended += int64(span)
				if len(d.CmdArgs) == 1 {
					w.counts += w.countsPerMs * uint64(span.Milliseconds())
				}
			case "unfit":
				w.unfit = arg()
			case "width":
				w.width = number()
			case "info":
				i := w.t.Info()
				return fmt.Sprintf("%s %d Hz, residual %d ns, %d checks, %d skipped, %d fallbacks: %q\n",
					i.Source, i.HzTSC, i.ResidualNs, i.Checks, i.Skipped, i.Fallbacks, i.Reason)
			default:
				d.Fatalf(t, "unknown command")
			}
			return ""
		})
	})
}

var seedFlag = flag.Uint64("seed", 0, "seed of the random test; 0 = a new one for each run")

// Whatever happens to counter and OS clock, Mono never runs backwards, but for the
// grain, and is never further ahead than what a line may show before the OS
// clock is asked.
func TestNeverBackwards(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld()
	w.grain = highNs
	for i := range 150 {
		switch r.IntN(8) {
		case 0:
			w.counts += r.Uint64N(1 << r.IntN(50))
		case 1:
			w.counts -= r.Uint64N(1 << r.IntN(39))
		case 2:
			w.countsPerMs = 1 + r.Uint64N(5_000_000)
		case 3:
			w.width = r.Int64N(40_000)
		case 4:
			w.ns, w.suspended = w.ns+r.Int64N(1e12), w.suspended+r.Int64N(1e9)
			w.nextCheck = w.ns
		case 5:
			w.nextCheck = w.ns + r.Int64N(5e9) // the goroutine does not get to run
		}
		if _, err := w.run(time.Duration(r.Int64N(20e9))); err != nil {
			t.Fatalf("-seed %d: fault %d: %v", seed, i, err)
		}
		if ahead := w.last - w.ns; ahead > intervalNs*3/2 {
			t.Fatalf("-seed %d: fault %d: %d ns ahead", seed, i, ahead)
		}
	}
}
