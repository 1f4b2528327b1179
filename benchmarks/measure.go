package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A sample is what one server did in one round. Floats are combined as medians,
// counts as sums.
type sample struct {
	Server string `json:"server"`
	Round  int    `json:"round,omitempty"`

	PerSecond float64 `json:"per_second,omitempty"` // adds, or whole cycles, or deliveries
	P50       float64 `json:"p50_us,omitempty"`
	P99       float64 `json:"p99_us,omitempty"`
	P999      float64 `json:"p999_us,omitempty"`
	Max       float64 `json:"max_us,omitempty"`
	ServerCPU float64 `json:"server_cpu_s_per_million,omitempty"`
	ClientCPU float64 `json:"client_cpu_s_per_million,omitempty"`
	BusyCPU   float64 `json:"server_cpu_percent,omitempty"` // of one core

	RSS       float64 `json:"rss_mib,omitempty"`
	HighRSS   float64 `json:"rss_high_mib,omitempty"`
	RSSPerJob float64 `json:"rss_growth_bytes_per_job,omitempty"`
	AddRate   float64 `json:"adds_per_second,omitempty"` // waiting: beside PerSecond

	StartMs    float64 `json:"start_ms,omitempty"` // from the start of the process until it serves
	DiskPerJob float64 `json:"disk_bytes_per_job,omitempty"`
	RSSPerConn float64 `json:"rss_bytes_per_connection,omitempty"`

	Early    int64 `json:"early,omitempty"`
	Lost     int64 `json:"lost,omitempty"`
	Double   int64 `json:"double,omitempty"`
	Unacked  int64 `json:"unacked,omitempty"`
	LateAdds int64 `json:"late_adds,omitempty"` // accepted after their due
}

func (s *sample) floats() []*float64 {
	return []*float64{&s.PerSecond, &s.P50, &s.P99, &s.P999, &s.Max, &s.ServerCPU, &s.ClientCPU,
		&s.BusyCPU, &s.RSS, &s.HighRSS, &s.RSSPerJob, &s.AddRate,
		&s.StartMs, &s.DiskPerJob, &s.RSSPerConn}
}

func (s *sample) counts() []*int64 {
	return []*int64{&s.Early, &s.Lost, &s.Double, &s.Unacked, &s.LateAdds}
}

func (s *sample) faults() int64 { return s.Early + s.Lost + s.Double + s.Unacked }

// combine takes the samples of one server over all rounds.
func combine(samples []sample) sample {
	var all sample
	if len(samples) == 0 {
		return all
	}
	all.Server = samples[0].Server
	for i, p := range all.floats() {
		var values []float64
		for _, s := range samples {
			values = append(values, *s.floats()[i])
		}
		*p = median(values)
	}
	for i, p := range all.counts() {
		for _, s := range samples {
			*p += *s.counts()[i]
		}
	}
	return all
}

// median of an even number of values is the mean of the middle two.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// brief is the line shown while a case runs.
func (s sample) brief() string {
	var parts []string
	add := func(shown bool, format string, args ...any) {
		if shown {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.PerSecond > 0, "%s/s", thousands(s.PerSecond))
	add(s.AddRate > 0, "%s adds/s", thousands(s.AddRate))
	add(s.P50 > 0, "P50 %s P99 %s P99.9 %s ms", millis(s.P50), millis(s.P99), millis(s.P999))
	add(s.ServerCPU > 0, "CPU %.1f s/M (client %.1f)", s.ServerCPU, s.ClientCPU)
	add(s.BusyCPU > 0, "CPU %.1f %%", s.BusyCPU)
	add(s.StartMs > 0, "serving after %.1f ms", s.StartMs)
	add(s.DiskPerJob > 0, "%.0f B/job on disk", s.DiskPerJob)
	add(s.RSSPerConn > 0, "RSS %.0f MiB, %.0f B per connection", s.RSS, s.RSSPerConn)
	add(s.faults() > 0, "early %d lost %d double %d unacked %d", s.Early, s.Lost, s.Double, s.Unacked)
	add(s.LateAdds > 0, "%d adds came late", s.LateAdds)
	return strings.Join(parts, "  ")
}

// newHist holds µs up to a minute with three digits.
func newHist() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// record notes d, cut to what the histogram holds.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	h.RecordValue(min(max(d.Microseconds(), 0), 60_000_000)) // cannot fail in this range
}

func merged(hists []*hdrhistogram.Histogram) *hdrhistogram.Histogram {
	all := newHist()
	for _, h := range hists {
		all.Merge(h)
	}
	return all
}

// percentiles fills P50 to Max.
func (s *sample) percentiles(h *hdrhistogram.Histogram) {
	if h.TotalCount() == 0 {
		return
	}
	s.P50 = float64(h.ValueAtQuantile(50))
	s.P99 = float64(h.ValueAtQuantile(99))
	s.P999 = float64(h.ValueAtQuantile(99.9))
	s.Max = float64(h.Max())
}

// A window is the measured part of a load: what ends inside it counts.
type window struct{ from, to time.Time }

func newWindow(warmup, length time.Duration) window {
	from := time.Now().Add(warmup)
	return window{from, from.Add(length)}
}

func (w window) holds(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

func (w window) seconds() float64 { return w.to.Sub(w.from).Seconds() }

// cpu returns the CPU seconds of a server and of this process in the window.
func (w window) cpu(ctx context.Context, pid int) (server, client float64, err error) {
	var at [2]struct{ server, client time.Duration }
	for i, t := range []time.Time{w.from, w.to} {
		if err := sleepUntil(ctx, t); err != nil {
			return 0, 0, err
		}
		if at[i].server, err = cpuTime(pid); err != nil {
			return 0, 0, err
		}
		at[i].client = ownCPU()
	}
	return (at[1].server - at[0].server).Seconds(), (at[1].client - at[0].client).Seconds(), nil
}

// perMillion fills the CPU figures for so many operations.
func (s *sample) perMillion(server, client float64, ops int64) {
	if ops > 0 {
		s.ServerCPU, s.ClientCPU = server/float64(ops)*1e6, client/float64(ops)*1e6
	}
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
