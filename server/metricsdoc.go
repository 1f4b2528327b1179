package server

import (
	"fmt"
	"strings"
)

const metricsIntro = "# Metrics\n" + `
<!-- Made of the table in server/metrictable.go by "go run ./server/gendoc": change that, not this. -->

` + "`GET /metrics` on the port of `--http-port` answers in Prometheus's text format. Nothing in it costs more with more jobs or more queues." + `
Counters begin anew with the process, and with ` + "`CONFIG RESETSTAT`" + ` as far as INFO shows them too; those of job events are kept with the jobs.
Histograms have %d buckets, each twice as wide as the one before.

While the server loads, and while the disk stalls so that no change gets through for a second, what needs the shard is missing: the metrics of
single queues, ` + "`dqd_oldest_ready_seconds`, `dqd_queues_held`" + ` and those of the wheel.

Besides dqd's own there are the usual ` + "`go_…` and `process_…`" + ` of Prometheus's Go client: memory, garbage collector, goroutines, CPU time, open files.

What to watch first: ` + "`dqd_ready`, `dqd_adds_refused`, `dqd_oldest_ready_seconds`, `dqd_jobs{state=\"dead\"}`, `dqd_clock_held`, `rate(dqd_job_events_total{event=\"lease-timeout\"}[5m])`" + `,
and the 99th percentiles of ` + "`dqd_delivery_lateness_seconds` and `dqd_log_fsync_seconds`" + `.
`

// MetricsReference returns docs/metrics.md.
func MetricsReference() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, metricsIntro, histogramBuckets)
	for _, group := range metricTable {
		b.WriteString("\n## " + group.title + "\n\n")
		if group.intro != "" {
			b.WriteString(group.intro + "\n\n")
		}
		b.WriteString("| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n")
		for i := range group.rows {
			row := &group.rows[i]
			var labels []string
			for _, l := range row.labels {
				text := "`" + l.name + "`"
				if l.values != "" {
					text += ": " + l.values
				}
				labels = append(labels, text)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", row.name, row.kind, row.unit(), strings.Join(labels, "<br>"), row.help)
		}
	}
	return []byte(b.String())
}

// unit is what a name says of the unit, as Prometheus wants it to; "" = a number of things.
func (m *metric) unit() string {
	name := strings.TrimSuffix(m.name, "_total")
	for _, unit := range []string{"seconds", "bytes"} {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return ""
}
