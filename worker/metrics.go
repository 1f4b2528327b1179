package worker

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what Run does, for Prometheus: register them once, and give them
// to any number of Runs. docs/workers.md says what each means. A nil *Metrics
// counts nothing.
type Metrics struct {
	taken      *prometheus.CounterVec
	settledBy  *prometheus.CounterVec
	running    *prometheus.GaugeVec
	seconds    *prometheus.HistogramVec
	lateness   *prometheus.HistogramVec
	extensions *prometheus.CounterVec
	losses     *prometheus.CounterVec
	panics     *prometheus.CounterVec
	errors     *prometheus.CounterVec
}

// NewMetrics returns metrics, all at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		taken:      counter("dqd_worker_jobs_taken_total", "Jobs taken.", "queue"),
		settledBy:  counter("dqd_worker_jobs_settled_total", "Jobs by what became of them.", "queue", "result"),
		running:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dqd_worker_jobs_held", Help: "Jobs taken and not settled."}, []string{"queue"}),
		seconds:    histogram("dqd_worker_handler_seconds", "How long handlers ran."),
		lateness:   histogram("dqd_worker_lateness_seconds", "From a job's due time to its receipt, by this machine's clock."),
		extensions: counter("dqd_worker_lease_extensions_total", "Leases extended.", "queue"),
		losses:     counter("dqd_worker_leases_lost_total", "Leases lost while the handler ran.", "queue"),
		panics:     counter("dqd_worker_panics_total", "Panics of handlers.", "queue"),
		errors:     counter("dqd_worker_errors_total", "Commands that failed, tries included.", "command"),
	}
}

func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 12), // 1 ms to over an hour
	}, []string{"queue"})
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.taken, m.settledBy, m.running, m.seconds, m.lateness, m.extensions, m.losses, m.panics, m.errors}
}

// Describe is for Prometheus.
func (m *Metrics) Describe(c chan<- *prometheus.Desc) {
	for _, v := range m.all() {
		v.Describe(c)
	}
}

// Collect is for Prometheus.
func (m *Metrics) Collect(c chan<- prometheus.Metric) {
	for _, v := range m.all() {
		v.Collect(c)
	}
}

// label is a queue's name as a label, which must be UTF-8.
func label(queue string) string { return strings.ToValidUTF8(queue, "\uFFFD") }

func (m *Metrics) took(j *Job) {
	if m != nil {
		m.taken.WithLabelValues(label(j.Queue)).Inc()
		m.running.WithLabelValues(label(j.Queue)).Inc()
		m.lateness.WithLabelValues(label(j.Queue)).Observe(max(0, time.Since(j.Due).Seconds()))
	}
}

func (m *Metrics) settled(queue string, r result) {
	if m != nil {
		m.settledBy.WithLabelValues(label(queue), r.String()).Inc()
		m.running.WithLabelValues(label(queue)).Dec()
	}
}

func (m *Metrics) handled(queue string, d time.Duration) {
	if m != nil {
		m.seconds.WithLabelValues(label(queue)).Observe(d.Seconds())
	}
}

func (m *Metrics) extended(queue string) {
	if m != nil {
		m.extensions.WithLabelValues(label(queue)).Inc()
	}
}

func (m *Metrics) leaseLost(queue string) {
	if m != nil {
		m.losses.WithLabelValues(label(queue)).Inc()
	}
}

func (m *Metrics) panicked(queue string) {
	if m != nil {
		m.panics.WithLabelValues(label(queue)).Inc()
	}
}

// failed counts a failed pop, settle or extend.
func (m *Metrics) failed(command string) {
	if m != nil {
		m.errors.WithLabelValues(command).Inc()
	}
}
