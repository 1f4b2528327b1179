package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything a run found; -json writes it as it is.
type report struct {
	Started     time.Time      `json:"started"`
	Options     map[string]any `json:"options"`
	Environment machine        `json:"environment"`
	Cases       []caseReport   `json:"cases"`
}

type caseReport struct {
	Name     string    `json:"name"`
	Work     string    `json:"work"`
	Load     string    `json:"load_average"` // when the case began
	Error    string    `json:"error,omitempty"`
	Missing  string    `json:"not_measured,omitempty"` // what the server or the machine lacks
	Verdicts []verdict `json:"verdicts,omitempty"`
	Servers  []sample  `json:"servers,omitempty"` // medians over the rounds
	Samples  []sample  `json:"samples,omitempty"` // every round
}

func describeOptions(o options) map[string]any {
	return map[string]any{
		"run": o.run, "rounds": o.rounds, "seconds": o.seconds, "warmup": o.warmup.String(),
		"producers": o.producers, "workers": o.workers, "inflight": o.inflight,
		"consumers": o.consumers, "idlers": o.idlers, "jobs": o.jobs, "loaded": o.loaded, "connections": o.connections,
		"poll": o.poll.String(), "dqd_args": o.dqdArgs,
	}
}

func (r *report) writeJSON(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// print writes two tables: the verdicts, and what each server did.
func (r *report) print(w io.Writer) {
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "case\tfigure\tdqd\tpeer\tratio\tbar\tverdict")
	reached, bars := 0, 0
	for _, c := range r.Cases {
		if c.Error != "" {
			fmt.Fprintf(tw, "%s\t\t\t\t\t\tfailed\n", c.Name)
			continue
		}
		if c.Missing != "" {
			fmt.Fprintf(tw, "%s\t\t\t\t\t\tnot measured\n", c.Name)
			continue
		}
		for _, v := range c.Verdicts {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, v.Figure, v.number(v.Dqd), v.peerText(), v.ratioText(), v.Bar, v.text())
			if !v.Aim && !v.Open {
				bars++
				if v.Reached {
					reached++
				}
			}
		}
	}
	tw.Flush()
	fmt.Fprintf(w, "\n%d of %d bars reached (aims not counted)\n\n", reached, bars)

	fmt.Fprintln(tw, "case\tserver\trate/s\tadds/s\tP50 ms\tP99 ms\tP99.9 ms\tmax ms\tserver CPU s/M\tclient CPU s/M\tCPU %\tRSS MiB\tearly\tlost\tdouble\tunacked\tlate adds")
	for _, c := range r.Cases {
		for _, s := range c.Servers {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", c.Name, s.Server,
				unless0(s.PerSecond, thousands), unless0(s.AddRate, thousands),
				unless0(s.P50, millis), unless0(s.P99, millis), unless0(s.P999, millis), unless0(s.Max, millis),
				unless0(s.ServerCPU, short), unless0(s.ClientCPU, short), unless0(s.BusyCPU, short), unless0(s.RSS, short),
				s.Early, s.Lost, s.Double, s.Unacked, s.LateAdds)
		}
	}
	tw.Flush()
	for _, c := range r.Cases {
		if c.Error != "" {
			fmt.Fprintf(w, "\n%s\n", c.Error)
		}
		if c.Missing != "" {
			fmt.Fprintf(w, "\n%s: not measured: %s\n", c.Name, c.Missing)
		}
	}
}

func (v verdict) text() string {
	switch {
	case v.Open:
		return "-"
	case v.Reached:
		return "reached"
	}
	return "not reached"
}

func (v verdict) peerText() string {
	if v.Peer == "" {
		return "-"
	}
	return v.number(v.PeerHas)
}

func (v verdict) ratioText() string {
	if v.Ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *v.Ratio)
}

// number shows a value in the unit of the verdict.
func (v verdict) number(x float64) string {
	switch v.Unit {
	case "/s":
		return thousands(x) + "/s"
	case "ms":
		return fmt.Sprintf("%.2f ms", x)
	case "":
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f %s", x, v.Unit)
}

func unless0(x float64, show func(float64) string) string {
	if x == 0 {
		return "-"
	}
	return show(x)
}

func short(x float64) string { return fmt.Sprintf("%.1f", x) }

// millis shows µs as ms.
func millis(us float64) string { return fmt.Sprintf("%.2f", us/1000) }

// thousands shows a whole number with commas.
func thousands(x float64) string {
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
