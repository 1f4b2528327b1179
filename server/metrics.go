package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dqd/server/guard"
)

// Observer is how the parts below report times; they know nothing of metrics.
// All values are nanoseconds. The functions may be called from any goroutine and
// take about 100 ns.
type Observer struct {
	// Lateness of a delivery: from due to the moment its reply is handed over.
	Lateness func(ns int64)
	// TimerError: how far from the wanted instant the driver woke.
	TimerError func(ns int64)
	// Fsync of the log.
	Fsync func(ns int64)
	// Apply of one entry to the state.
	Apply func(ns int64)
}

// metrics are what /metrics shows: the server's counters and the shard's gauges,
// read when asked, and histograms.
type metrics struct {
	registry *prometheus.Registry
	observer Observer
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	histogram := func(name, help string, from float64) func(ns int64) {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(from, 2, 24), // up to from × 8 million
		})
		m.registry.MustRegister(h)
		return func(ns int64) { h.Observe(float64(ns) / 1e9) }
	}
	m.observer = Observer{
		Lateness:   s.late.observer(histogram("dqd_delivery_lateness_seconds", "From a job's due time to its delivery.", 1e-6)),
		TimerError: s.latency.observer(latencyTimer, histogram("dqd_timer_error_seconds", "How late the timer woke.", 1e-7)),
		Fsync:      s.latency.observer(latencyFsync, histogram("dqd_log_fsync_seconds", "Duration of an fsync of the log.", 1e-6)),
		Apply:      s.latency.observer(latencyApply, histogram("dqd_entry_apply_seconds", "Duration of applying one log entry to the state.", 1e-6)),
	}
	m.registry.MustRegister(
		&serverCollector{s},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Observer returns the functions that feed the histograms.
func (s *Server) Observer() Observer { return s.metrics.observer }

// serverCollector reads what the server counts anyway.
type serverCollector struct{ s *Server }

// Describe sends nothing: the collector is unchecked, its metrics are those of Collect.
func (serverCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counters and gauges.
func (c serverCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.s
	emit := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		var names, values []string
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	}
	counter := func(name, help string, n int64, labels ...string) {
		emit(prometheus.CounterValue, name, help, float64(n), labels...)
	}
	gauge := func(name, help string, n float64, labels ...string) {
		emit(prometheus.GaugeValue, name, help, n, labels...)
	}

	gauge("dqd_build_info", "The version that runs.", 1, "version", s.opts.Version)
	gauge("dqd_ready", "1 while the server answers job commands.", float64(bit(s.ready())))
	for _, row := range s.sortedRows() {
		if calls, _ := row.totals(); calls == 0 {
			continue
		}
		for i := range row.outcomes {
			counter("dqd_commands_total", "Commands answered, by name and kind of reply.", row.outcomes[i].Load(), "command", row.name, "outcome", outcomeNames[i])
		}
	}

	n := &s.counters
	counter("dqd_connections_received_total", "Connections accepted.", n.connections.Load())
	counter("dqd_accept_errors_total", "Failed accepts.", n.acceptErrors.Load())
	counter("dqd_protocol_errors_total", "Connections that broke the framing.", n.protocolErrors.Load())
	counter("dqd_auth_failures_total", "Wrong passwords.", n.authFailures.Load())
	counter("dqd_internal_errors_total", "Bugs that were contained.", n.panics.Load())
	for i := range n.rejected {
		counter("dqd_connections_rejected_total", "Connections not served, by reason.", n.rejected[i].Load(), "reason", rejectReason(i).String())
	}
	for i := range n.closed {
		counter("dqd_connections_closed_total", "Connections ended, by reason.", n.closed[i].Load(), "reason", closeReason(i).String())
	}
	gauge("dqd_connected_clients", "Open connections.", float64(s.connected()))
	gauge("dqd_blocked_clients", "Connections with a pop that may wait.", float64(s.counters.blocked.Load()))
	gauge("dqd_client_buffers_bytes", "Memory that clients hold.", float64(s.budget.used.Load()))

	disk := s.opts.Guard.Status()
	for _, reason := range []guard.Reason{guard.Disk, guard.Memory} {
		gauge("dqd_adds_refused", "1 while adds are refused, by what runs short.", float64(bit(disk.Short[reason])), "reason", reason.String())
		counter("dqd_adds_refused_total", "Adds refused, by what ran short.", s.opts.Guard.Refused(reason), "reason", reason.String())
	}
	gauge("dqd_disk_free_bytes", "Free space on the disk of the data; 0 without a guard.", float64(disk.DiskFree))
	gauge("dqd_disk_size_bytes", "Size of the disk of the data; 0 without a guard.", float64(disk.DiskTotal))
	gauge("dqd_disk_min_free_bytes", "Free space below which adds are refused.", float64(disk.DiskMinFree))
	gauge("dqd_disk_ballast_bytes", "Space that is held for a full disk; 0 when it was given up.", float64(disk.Ballast))

	g := s.gauges()
	for _, state := range []struct {
		name string
		n    int64
	}{{"delayed", g.Totals.Delayed}, {"ready", g.Totals.Ready}, {"leased", g.Totals.Leased}, {"dead", g.Totals.Dead}} {
		gauge("dqd_jobs", "Jobs, by state.", float64(state.n), "state", state.name)
	}
	gauge("dqd_stored_bytes", "Size of all jobs.", float64(g.Totals.Bytes))
	gauge("dqd_queues", "Queues that exist.", float64(g.Queues))
	gauge("dqd_waiting_pops", "Pops that wait for a job.", float64(g.Waiting))
	gauge("dqd_clock_held", "1 while a step forwards of the system's wall clock is not followed.", float64(bit(g.Clock.State == "held")))
	gauge("dqd_clock_tsc", "1 while the clock reads the processor's counter.", float64(bit(g.Clock.Source == "tsc")))
	gauge("dqd_clock_offset_seconds", "By how much the system's wall clock is ahead of dqd's: a held step, or what is being slewed.", float64(g.Clock.OffsetUs)/1e6)
	gauge("dqd_clock_uncertainty_seconds", "By how much the processor's counter may be off the system's clock; 0 if that is read.", float64(g.Clock.UncertaintyUs)/1e6)
	counter("dqd_clock_steps_total", "Steps of the wall clock that were seen.", g.Clock.Steps)
}
