package main

import (
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median %v = %v, want %v", c.values, got, c.want)
		}
	}
}

// Figures are medians over the rounds, faults are never averaged away.
func TestCombine(t *testing.T) {
	got := combine([]sample{
		{Server: "x", PerSecond: 10, P50: 5, Lost: 1},
		{Server: "x", PerSecond: 30, P50: 1, Double: 2},
		{Server: "x", PerSecond: 20, P50: 3, Lost: 1},
	})
	if got != (sample{Server: "x", PerSecond: 20, P50: 3, Lost: 2, Double: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestPercentiles(t *testing.T) {
	h := newHist()
	for i := 1; i <= 1000; i++ {
		record(h, time.Duration(i)*time.Millisecond)
	}
	var s sample
	s.percentiles(h)
	for _, c := range []struct{ got, want float64 }{{s.P50, 500e3}, {s.P99, 990e3}, {s.P999, 999e3}, {s.Max, 1000e3}} {
		if math.Abs(c.got-c.want) > c.want/1000 { // three digits
			t.Errorf("got %v µs, want %v", c.got, c.want)
		}
	}
	record(h, -time.Second) // an early job is counted elsewhere
	record(h, time.Hour)
	if h.TotalCount() != 1002 {
		t.Error("values out of range are dropped")
	}
	var none sample
	none.percentiles(newHist())
	if none != (sample{}) {
		t.Errorf("of nothing: %+v", none)
	}
}

// A window holds its beginning and not its end.
func TestWindow(t *testing.T) {
	w := newWindow(time.Second, 2*time.Second)
	for _, c := range []struct {
		at   time.Time
		want bool
	}{{w.from.Add(-1), false}, {w.from, true}, {w.to.Add(-1), true}, {w.to, false}} {
		if w.holds(c.at) != c.want {
			t.Errorf("%v in %v: want %v", c.at, w, c.want)
		}
	}
	if w.seconds() != 2 {
		t.Errorf("%v s", w.seconds())
	}
}

// The schedule has the exact rate, on whole ms, and starts at once.
func TestSchedule(t *testing.T) {
	for _, rate := range []int{1, 999, 1000, 5000, 20_000} {
		offsets := latenessLoad{rate: rate, warmup: time.Second, length: 3 * time.Second}.schedule()
		if len(offsets) != 4*rate || offsets[0] != 0 || offsets[2*rate] != 2000 {
			t.Errorf("rate %d: %d jobs, first %d", rate, len(offsets), offsets[0])
		}
		for i := 1; i < len(offsets); i++ {
			if offsets[i] < offsets[i-1] {
				t.Fatalf("rate %d: job %d is due before job %d", rate, i, i-1)
			}
		}
	}
}

func TestCycleDelays(t *testing.T) {
	delays := cycleDelays()
	var sum time.Duration
	for _, d := range delays {
		sum += d
	}
	average := sum / time.Duration(len(delays))
	if delays[0] != cycleDueMin || (delays[len(delays)-1]-cycleDueMax).Abs() > time.Microsecond {
		t.Errorf("from %v to %v", delays[0], delays[len(delays)-1])
	}
	if average < 185*time.Millisecond || average > 191*time.Millisecond { // the comment and README.md say 188 ms
		t.Errorf("average %v", average)
	}
}

func TestLedger(t *testing.T) {
	const due = 1_800_000_000_000
	on, before := time.UnixMilli(due), time.UnixMilli(due).Add(-1)
	l := newLedger(2, 64)
	job := func(n uint64) delivery { return delivery{seq: firstSeq(2) + n, dueMs: due} }
	if !l.take(job(0), on) || !l.take(job(63), on) || !l.take(job(63), on) || !l.take(job(5), before) {
		t.Error("a job of the round was refused")
	}
	if l.take(job(64), on) || l.take(delivery{seq: firstSeq(1), dueMs: due}, on) || l.take(delivery{seq: firstSeq(farRound), dueMs: due}, before) {
		t.Error("a job of another round was taken")
	}
	l.settle(4, 3)
	var s sample
	l.close(&s, 10)
	if s != (sample{Early: 2, Lost: 7, Double: 4, Unacked: 1}) {
		t.Errorf("%+v", s)
	}
}

func TestParseProc(t *testing.T) {
	cpu, err := parseStat([]byte("42 (a (b) c) S 1 42 42 0 -1 4194560 900 0 0 0 150 25 0 0 20 0 9 0 100 1 2"))
	if cpu != 1750*time.Millisecond || err != nil {
		t.Errorf("%v, %v", cpu, err)
	}
	now, high, err := parseStatus([]byte("Name:\tdqd\nVmHWM:\t  4096 kB\nVmRSS:\t  2048 kB\nThreads:\t3\n"))
	if now != 2 || high != 4 || err != nil {
		t.Errorf("%v, %v, %v", now, high, err)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
