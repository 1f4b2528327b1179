package dashboards

import (
	"fmt"
	"regexp"
	"strings"
)

// metric is what there is under a name.
type metric struct {
	kind   string              // counter, gauge or histogram
	labels map[string][]string // the values of each; nil = any
}

var (
	rowPattern   = regexp.MustCompile("(?m)^\\| `(dqd_[a-z_]+)` \\| ([a-z]+) \\| [a-z]* \\| (.*?) \\| ")
	labelPattern = regexp.MustCompile("^`([a-z_]+)`(?:: (.*))?$")
	listPattern  = regexp.MustCompile(`^[a-z-]+(, [a-z-]+)+$`)
)

// readMetrics reads the tables of docs/metrics.md, and adds what every scrape has.
func readMetrics(document string) (map[string]metric, error) {
	all := map[string]metric{"up": {kind: "gauge"}}
	for _, name := range []string{"resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"} {
		all["process_"+name] = metric{kind: "gauge"}
	}
	all["process_cpu_seconds_total"] = metric{kind: "counter"}
	for _, row := range rowPattern.FindAllStringSubmatch(document, -1) {
		m := metric{kind: row[2], labels: map[string][]string{}}
		if row[3] != "" {
			for _, text := range strings.Split(row[3], "<br>") {
				l := labelPattern.FindStringSubmatch(text)
				if l == nil {
					return nil, fmt.Errorf("docs/metrics.md: %s: no label in %q", row[1], text)
				}
				m.labels[l[1]] = nil
				if listPattern.MatchString(l[2]) {
					m.labels[l[1]] = strings.Split(l[2], ", ")
				}
			}
		}
		all[row[1]] = m
	}
	for name, m := range all {
		// A scrape adds these two to everything.
		all[name] = metric{m.kind, with(m.labels, "job", "instance")}
	}
	for name, m := range all {
		if m.kind == "histogram" {
			delete(all, name)
			all[name+"_bucket"] = metric{"counter", with(m.labels, "le")}
			all[name+"_sum"] = metric{"counter", m.labels}
			all[name+"_count"] = metric{"counter", m.labels}
		}
	}
	return all, nil
}

func with(labels map[string][]string, more ...string) map[string][]string {
	sum := map[string][]string{}
	for name, values := range labels {
		sum[name] = values
	}
	for _, name := range more {
		sum[name] = nil
	}
	return sum
}
