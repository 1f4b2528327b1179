package server

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dqd/raftfsm"
	"dqd/server/guard"
	"dqd/server/shard"
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
	// Commit of one entry: from its proposal to the answer.
	Commit func(ns int64)
	// Snapshot of the state.
	Snapshot func(ns int64)
}

// metrics are what /metrics shows: the rows of metricTable.
type metrics struct {
	registry *prometheus.Registry
	observer Observer
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	c := &collector{s: s, descs: map[string]*prometheus.Desc{}}
	observe := map[string]func(ns int64){}
	for _, group := range metricTable {
		for _, row := range group.rows {
			if row.kind != histogram {
				c.descs[row.name] = prometheus.NewDesc(row.name, row.help, row.labelNames(), nil)
				continue
			}
			h := prometheus.NewHistogram(prometheus.HistogramOpts{
				Name: row.name, Help: row.help,
				Buckets: prometheus.ExponentialBuckets(row.from, 2, histogramBuckets),
			})
			m.registry.MustRegister(h)
			observe[row.name] = func(ns int64) { h.Observe(float64(ns) / 1e9) }
		}
	}
	m.observer = Observer{
		Lateness:   s.late.observer(observe[latenessName]),
		TimerError: s.latency.observer(latencyTimer, observe[timerErrorName]),
		Fsync:      s.latency.observer(latencyFsync, observe[fsyncName]),
		Apply:      s.latency.observer(latencyApply, observe[applyName]),
		Commit:     observe[commitName],
		Snapshot:   observe[snapshotName],
	}
	m.registry.MustRegister(
		c,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Observer returns the functions that feed the histograms.
func (s *Server) Observer() Observer { return s.metrics.observer }

// ShowNode has the metrics read the numbers of the node below. nil: they do not any
// more when ShowNode returns, and the node may be closed.
func (s *Server) ShowNode(stats func() raftfsm.Stats) {
	s.nodeMu.Lock()
	defer s.nodeMu.Unlock()
	s.nodeStats = stats
}

// nodeNow reads the numbers of the node below; nil = there is none yet, or any more.
func (s *Server) nodeNow() *raftfsm.Stats {
	s.nodeMu.RLock()
	defer s.nodeMu.RUnlock()
	if s.nodeStats == nil {
		return nil
	}
	stats := s.nodeStats()
	return &stats
}

// surveyWait is how long a scrape waits for the shard to tell of single queues: when
// the disk stalls, the rest shall be seen all the same.
const surveyWait = time.Second

// shownQueues is how many queues have metrics of their own.
const shownQueues = 100

// reading is all that one scrape reads.
type reading struct {
	s      *Server
	gauges *shard.Gauges
	disk   guard.Status
	node   *raftfsm.Stats        // nil = none
	survey *shard.Survey         // nil = none
	shown  []shard.SurveyedQueue // the first of the survey
	names  []string              // of shown, as labels
}

func (s *Server) read() *reading {
	r := &reading{s: s, gauges: s.gauges(), disk: s.opts.Guard.Status(), node: s.nodeNow()}
	if sh := s.shard.Load(); sh != nil {
		ctx, cancel := context.WithTimeout(s.ctx, surveyWait)
		r.survey = (*sh).Survey(ctx)
		cancel()
	}
	if r.survey == nil {
		return r
	}
	r.shown = r.survey.Queues[:min(len(r.survey.Queues), shownQueues)]
	for i := range r.shown {
		r.names = append(r.names, queueLabel(r.shown[i].Name))
	}
	return r
}

// restLabel is the label of all queues that are not shown.
const restLabel = "other"

// queueLabel returns a queue's name as the value of a label. What is no printable
// text, begins with a quote, or is restLabel, is quoted: no two names share a label,
// or one of them would break the page.
func queueLabel(name []byte) string {
	s := string(name)
	if s == restLabel || strings.HasPrefix(s, `"`) || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// collector is the rows of metricTable that are read when they are asked for.
type collector struct {
	s     *Server
	descs map[string]*prometheus.Desc
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	r := c.s.read()
	for _, group := range metricTable {
		for i := range group.rows {
			row := &group.rows[i]
			if row.kind == histogram {
				continue
			}
			kind, desc := prometheus.GaugeValue, c.descs[row.name]
			if row.kind == counter {
				kind = prometheus.CounterValue
			}
			row.read(r, func(value float64, labels ...string) {
				ch <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
			})
		}
	}
}
