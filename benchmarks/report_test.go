package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// A bar is reached at its limit, and never by what was not measured.
func TestJudge(t *testing.T) {
	rate := func(x float64) sample { return sample{PerSecond: x} }
	for _, c := range []struct {
		bar       bar
		dqd, peer float64
		reached   bool
	}{
		{atLeast(figRate, "p", 0.9), 90, 100, true},
		{atLeast(figRate, "p", 0.9), 89.9, 100, false},
		{atMost(figRate, "p", 1.2), 120, 100, true},
		{atMost(figRate, "p", 1.2), 120.1, 100, false},
		{atMost(figRate, "p", 0.1), 0, 30, true}, // no CPU at all
		{atLeast(figRate, "p", 0.9), 5, 0, false},
		{atMost(figRate, "p", 0.9), 0, 0, false},
		{below(figRate, 512), 512, 0, true},
		{below(figRate, 512), 512.1, 0, false},
		{noneOf(figRate), 0, 0, true},
		{noneOf(figRate), 1, 0, false},
		{below(figRate, 1), math.NaN(), 0, false},
		{beside(figRate, "p"), 5, 1, false}, // there is no bar
	} {
		if v := c.bar.judge(rate(c.dqd), rate(c.peer)); v.Reached != c.reached {
			t.Errorf("%s: dqd %v, peer %v: reached %v", c.bar, c.dqd, c.peer, v.Reached)
		}
	}
}

func TestReportTables(t *testing.T) {
	samples := []sample{
		{Server: dqdServer, Round: 1, PerSecond: 45000, P50: 400, ServerCPU: 12},
		{Server: redisAlways, Round: 1, PerSecond: 30000, P50: 900, ServerCPU: 15, Lost: 2},
	}
	res := newResult([]string{dqdServer, redisAlways}, samples, []bar{
		atLeast(figRate, redisAlways, 1.5), atMost(figP50, redisAlways, 0.4), atMost(figP50, redisAlways, 0.3).asAim(), noneOf(figFaults),
	})
	res.more = []*result{newResult(nil, samples, []bar{beside(figP50, redisAlways)})}
	res.more[0].part = "part"
	r := report{Cases: append(res.reports(benchCase{name: "x", work: "work"}, "0.1"),
		caseReport{Name: "y", Error: "y: it broke"}, caseReport{Name: "z", Missing: "no such command"})}
	var out strings.Builder
	r.print(&out)
	want := `
case    figure                        dqd       peer      ratio  bar                       verdict
x       rate                          45,000/s  30,000/s  1.50   ≥ 1.5 × redis-always      reached
x       P50                           0.40 ms   0.90 ms   0.44   ≤ 0.4 × redis-always      not reached
x       P50                           0.40 ms   0.90 ms   0.44   aim ≤ 0.3 × redis-always  not reached
x       early, lost, double, unacked  0         -         -      ≤ 0                       reached
x part  P50                           0.00 ms   0.00 ms   -      -                         -
y                                                                                          failed
z                                                                                          not measured

2 of 3 bars reached (aims not counted)

case  server        rate/s  adds/s  P50 ms  P99 ms  P99.9 ms  max ms  server CPU s/M  client CPU s/M  CPU %  RSS MiB  early  lost  double  unacked  late adds
x     dqd           45,000  -       0.40    -       -         -       12.0            -               -      -        0      0     0       0        0
x     redis-always  30,000  -       0.90    -       -         -       15.0            -               -      -        0      2     0       0        0

y: it broke

z: not measured: no such command
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if _, err := json.Marshal(&r); err != nil {
		t.Error(err)
	}
}

func TestThousands(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,568", -1234: "-1,234"} {
		if got := thousands(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// Long cases run only when they are named.
func TestChoose(t *testing.T) {
	all := allCases(options{})
	names := func(pattern string) string {
		chosen, err := choose(all, pattern)
		if err != nil {
			t.Fatal(err)
		}
		var n []string
		for _, c := range chosen {
			n = append(n, c.name)
		}
		return strings.Join(n, " ")
	}
	for pattern, want := range map[string]string{
		"add/4x":       "add/4x32 add/4x128",
		"cycle|idle":   "cycle idle",
		"waiting":      "waiting",
		"idle|waiting": "idle waiting",
		"wait":         "",
		"5k.*1M":       "lateness/5k-1M",
		"bulk":         "bulk/purge bulk/requeue bulk/due",
		"bulk/d|look":  "look bulk/due",
		"due":          "",
	} {
		if got := names(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
	if every := names(""); strings.Contains(every, "waiting") || every != names(".") {
		t.Errorf("all: %q", every)
	}
	if _, err := choose(all, "("); err == nil {
		t.Error("a bad pattern was taken")
	}
}
