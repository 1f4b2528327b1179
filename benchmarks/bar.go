package main

import (
	"fmt"
	"math"
	"strings"
)

// A figure is one measured number that bars speak about.
type figure struct {
	name string
	unit string
	get  func(sample) float64
}

var (
	figRate    = figure{"rate", "/s", func(s sample) float64 { return s.PerSecond }}
	figAddRate = figure{"adds", "/s", func(s sample) float64 { return s.AddRate }}
	figP50     = figure{"P50", "ms", func(s sample) float64 { return s.P50 / 1000 }}
	figP99     = figure{"P99", "ms", func(s sample) float64 { return s.P99 / 1000 }}
	figIdle    = figure{"CPU", "%", func(s sample) float64 { return s.BusyCPU }}
	figRSS     = figure{"RSS", "MiB", func(s sample) float64 { return s.RSS }}
	figGrowth  = figure{"RSS growth", "B/job", func(s sample) float64 { return s.RSSPerJob }}
	figStart   = figure{"start", "ms", func(s sample) float64 { return s.StartMs }}
	figDisk    = figure{"disk", "B/job", func(s sample) float64 { return s.DiskPerJob }}
	figConn    = figure{"RSS per connection", "B", func(s sample) float64 { return s.RSSPerConn }}
	figFaults  = figure{"early, lost, double, unacked", "", func(s sample) float64 { return float64(s.faults()) }}
)

// A bar is what dqd must reach in one figure: a factor of what a peer did in the
// same run, or, without a peer, an absolute limit.
type bar struct {
	figure  figure
	peer    string  // empty: limit is absolute
	limit   float64 // factor of the peer's figure
	atLeast bool    // else at most
	aim     bool    // shown, and told from the bars that bind
	open    bool    // no bar: the figure is shown beside the peer's
}

func atLeast(f figure, peer string, factor float64) bar {
	return bar{figure: f, peer: peer, limit: factor, atLeast: true}
}

func atMost(f figure, peer string, factor float64) bar {
	return bar{figure: f, peer: peer, limit: factor}
}

func below(f figure, limit float64) bar { return bar{figure: f, limit: limit} }

// beside shows a figure that has no bar.
func beside(f figure, peer string) bar { return bar{figure: f, peer: peer, open: true} }

func noneOf(f figure) bar { return below(f, 0) }

func (b bar) asAim() bar {
	b.aim = true
	return b
}

func (b bar) String() string {
	if b.open {
		return "-"
	}
	sign := "≤"
	if b.atLeast {
		sign = "≥"
	}
	text := fmt.Sprintf("%s %.3g", sign, b.limit)
	if b.peer != "" {
		text += " × " + b.peer
	} else if b.figure.unit != "" {
		text += " " + b.figure.unit
	}
	if b.aim {
		text = "aim " + text
	}
	return text
}

// A verdict is a bar and what was measured against it.
type verdict struct {
	Figure  string   `json:"figure"`
	Unit    string   `json:"unit,omitempty"`
	Dqd     float64  `json:"dqd"`
	Peer    string   `json:"peer,omitempty"`
	PeerHas float64  `json:"peer_value,omitempty"`
	Ratio   *float64 `json:"ratio,omitempty"` // dqd ÷ peer; nil without a peer figure
	Bar     string   `json:"bar"`
	Aim     bool     `json:"aim,omitempty"`
	Open    bool     `json:"open,omitempty"` // there is no bar
	Reached bool     `json:"reached"`
}

// judge holds dqd's sample against the bar. What was not measured is not reached.
func (b bar) judge(dqd, peer sample) verdict {
	v := verdict{Figure: b.figure.name, Unit: b.figure.unit, Dqd: b.figure.get(dqd), Bar: b.String(), Aim: b.aim, Open: b.open}
	value := v.Dqd
	if b.peer != "" {
		v.Peer, v.PeerHas = b.peer, b.figure.get(peer)
		value = math.NaN()
		if v.PeerHas > 0 {
			value = v.Dqd / v.PeerHas
			v.Ratio = &value
		}
	}
	switch {
	case b.open:
	case b.atLeast:
		v.Reached = value >= b.limit
	default:
		v.Reached = value <= b.limit
	}
	return v
}

// A result is the outcome of one case, or of one part of it.
type result struct {
	part     string   // empty: the case is one
	servers  []string // in the order of the table
	samples  []sample
	combined map[string]sample
	verdicts []verdict
	more     []*result // the other parts
}

func newResult(servers []string, samples []sample, bars []bar) *result {
	r := &result{servers: servers, samples: samples, combined: map[string]sample{}}
	for _, name := range servers {
		var own []sample
		for _, s := range samples {
			if s.Server == name {
				own = append(own, s)
			}
		}
		r.combined[name] = combine(own)
	}
	for _, b := range bars {
		r.verdicts = append(r.verdicts, b.judge(r.combined[dqdServer], r.combined[b.peer]))
	}
	return r
}

func (r *result) report(c benchCase, load string) caseReport {
	cr := caseReport{Name: strings.TrimSpace(c.name + " " + r.part), Work: c.work, Load: load, Verdicts: r.verdicts, Samples: r.samples}
	for _, name := range r.servers {
		cr.Servers = append(cr.Servers, r.combined[name])
	}
	return cr
}

// reports is report for each part.
func (r *result) reports(c benchCase, load string) []caseReport {
	all := []caseReport{r.report(c, load)}
	for _, p := range r.more {
		all = append(all, p.report(c, load))
	}
	return all
}
