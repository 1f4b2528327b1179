package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func documented(t *testing.T) map[string]metric {
	t.Helper()
	metrics, err := readMetrics(read(t, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(metrics) < 60 || len(metrics["dqd_jobs"].labels["state"]) != 4 || metrics["dqd_log_fsync_seconds_bucket"].kind != "counter" {
		t.Fatalf("docs/metrics.md is not understood: %v", metrics)
	}
	return metrics
}

// dashboard is what of Grafana's JSON is looked at.
type dashboard struct {
	Panels      []panel
	Annotations struct {
		List []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

type panel struct {
	Type, Title string
	Description string
	Targets     []struct{ Expr, LegendFormat string }
}

// shown must be in the dashboard.
var shown = []string{
	"dqd_queue_jobs", "dqd_wheel_occupied_slots", "dqd_delivery_lateness_seconds_bucket", "dqd_queue_oldest_ready_seconds", "dqd_queue_job_events_total",
	"dqd_clock_held", "dqd_clock_uncertainty_seconds", "dqd_clock_offset_seconds", "dqd_log_fsync_seconds_bucket", "dqd_entry_apply_seconds_bucket",
	"dqd_disk_free_bytes", "process_resident_memory_bytes", "dqd_connected_clients", "dqd_commands_total", "dqd_timer_error_seconds_bucket", "dqd_adds_refused", "dqd_backup_last_success_timestamp_seconds",
}

// The dashboard asks for what there is, with variables that it has.
func TestDashboard(t *testing.T) {
	metrics := documented(t)
	text := read(t, "deploy/grafana/dqd.json")
	var d dashboard
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	for _, name := range []string{"datasource", "instance", "queue"} {
		if !variables[name] {
			t.Error("there is no variable", name)
		}
	}
	for _, m := range regexp.MustCompile(`\$\{?([a-z_]+)\b`).FindAllStringSubmatch(text, -1) {
		if !variables[m[1]] && m[1] != "__all" {
			t.Errorf("there is no variable $%s", m[1])
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %q is no label_values(…)", v.Name, v.Definition)
			continue
		}
		result, wrong := checkExpression(m[1], metrics)
		report(t, v.Name, append(wrong, checkLabels("{{"+m[2]+"}}", legendLabel, result)...))
	}
	for _, a := range d.Annotations.List {
		_, wrong := checkExpression(a.Expr, metrics)
		report(t, "annotation", wrong)
	}
	for _, p := range d.Panels {
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("%s: no query, or no description", p.Title)
		}
		for _, target := range p.Targets {
			result, wrong := checkExpression(target.Expr, metrics)
			report(t, p.Title, append(wrong, checkLabels(target.LegendFormat, legendLabel, result)...))
		}
	}
	for _, name := range shown {
		if !strings.Contains(text, name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func report(t *testing.T, where string, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Errorf("%s: %s", where, w)
	}
}

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// The rules ask for what there is, say how urgent they are, and each has a runbook of its
// own; there is no runbook for anything else.
func TestRules(t *testing.T) {
	metrics := documented(t)
	var file rules
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "deploy/prometheus/dqd-rules.yml")))
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	books := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (Dqd\w+)$`).FindAllStringSubmatch(read(t, "docs/runbooks.md"), -1) {
		books[m[1]] = true
	}
	alerts := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts++
			result, wrong := checkExpression(r.Expr, metrics)
			report(t, r.Alert, append(wrong, checkLabels(r.Annotations["summary"], templateLabel, result)...))
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: the severity is %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["runbook"] != "docs/runbooks.md#"+strings.ToLower(r.Alert) {
				t.Errorf("%s: no summary, or not its runbook: %v", r.Alert, r.Annotations)
			}
			if !books[r.Alert] {
				t.Errorf("%s has no section in docs/runbooks.md", r.Alert)
			}
			delete(books, r.Alert)
		}
	}
	if alerts == 0 || len(books) > 0 {
		t.Errorf("%d alerts; runbooks without one: %v", alerts, slices.Collect(maps.Keys(books)))
	}
	if !strings.Contains(read(t, "deploy/prometheus/prometheus.yml"), "job_name: dqd\n") {
		t.Error("the rules look for the job dqd, which the example does not scrape")
	}
}

// The proof that what is wrong is found.
func TestWrongExpressionsAreFound(t *testing.T) {
	metrics := documented(t)
	for expression, want := range map[string]string{
		`sum by (state) (dqd_jobs{state=~"delayed|ready"})`:                                                  "",
		`histogram_quantile(0.99, sum by (le) (rate(dqd_log_fsync_seconds_bucket[$__rate_interval])))`:       "",
		`dqd_raft_in_flight_entries > 0 and on (instance) increase(dqd_entry_commit_seconds_count[1m]) == 0`: "",
		`topk(3, sum by (command) (rate(dqd_commands_total{command!="ping",queue=~"$q"}[5m])))`:              "dqd_commands_total has no label queue",
		`dqd_job`:                                                        `there is no metric "dqd_job"`,
		`rate(dqd_log_fsync_seconds[5m])`:                                `there is no metric "dqd_log_fsync_seconds"`,
		`rate(dqd_log_fsync_seconds_total[5m])`:                          `there is no metric`,
		`dqd_jobs{status="dead"}`:                                        "dqd_jobs has no label status",
		`dqd_jobs{state="done"}`:                                         `state is never "done", but one of delayed, ready, leased, dead`,
		`dqd_jobs{state=~"delayed|redy"}`:                                `state is never "redy"`,
		`sum by (name) (dqd_queue_jobs)`:                                 "by (name): there is no such label",
		`sum by (queue) (dqd_jobs)`:                                      "by (queue): there is no such label",
		`sum by (queue) (sum by (state) (dqd_queue_jobs))`:               "by (queue): there is no such label",
		`dqd_jobs / on (queue) dqd_queue_jobs`:                           "on, left (queue): there is no such label",
		`dqd_job_events_total > 5`:                                       "dqd_job_events_total is a counter: take its rate or increase",
		`rate(dqd_jobs[5m])`:                                             "dqd_jobs is no counter: rate means nothing",
		`histogram_quantile(0.5, rate(dqd_log_fsync_seconds_count[5m]))`: "histogram_quantile of what has no le",
		`sum(dqd_jobs`:                                                   "unclosed left parenthesis",
	} {
		_, wrong := checkExpression(expression, metrics)
		if text := strings.Join(wrong, "; "); (want == "") != (text == "") || !strings.Contains(text, want) {
			t.Errorf("%s: found %q, want %q", expression, text, want)
		}
	}
	result, _ := checkExpression(`sum by (state) (dqd_jobs)`, metrics)
	if wrong := checkLabels("{{state}} of {{queue}}", legendLabel, result); fmt.Sprint(wrong) != `["{{state}} of {{queue}}": the result has no label queue]` {
		t.Error(wrong)
	}
	if wrong := checkLabels("{{ $labels.instance }}", templateLabel, result); len(wrong) != 1 {
		t.Error(wrong)
	}
}
