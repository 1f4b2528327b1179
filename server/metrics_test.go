package server

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"dqd/persist/record"
	"dqd/raftfsm"
	"dqd/server/shard"
)

// Protects docs/metrics.md from being stale: "go run ./server/gendoc" writes it.
func TestMetricsReferenceIsFresh(t *testing.T) {
	file, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, MetricsReference()) {
		t.Error("docs/metrics.md is stale: run go run ./server/gendoc")
	}
}

// gather scrapes a server that knows so many queues.
func gather(t *testing.T, queues ...shard.SurveyedQueue) map[string]*dto.MetricFamily {
	t.Helper()
	r := newRig(t, Options{Dir: "loading"}, false)
	survey := &shard.Survey{Queues: queues}
	for i := range queues {
		survey.Totals.Sum(&queues[i].Queue)
	}
	survey.Totals.Ready += 7 // of queues that are in no survey
	r.sh.survey = survey
	r.Attach(r.sh)
	r.ShowNode(func() raftfsm.Stats { return raftfsm.Stats{Leader: true, Term: 3} })
	r.client().ask("PING", "+PONG\r\n")
	families, err := r.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "dqd_") {
			t.Error(p.Metric, p.Text)
		}
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	r.ShowNode(nil)
	if r.read().node != nil {
		t.Error("the node is read after it was taken away")
	}
	return byName
}

// The page has every row of the table, and nothing of dqd's own besides.
func TestMetricsAreThoseOfTheTable(t *testing.T) {
	families := gather(t, shard.SurveyedQueue{Queue: record.Queue{Name: []byte("q"), Ready: 1}})
	for _, group := range metricTable {
		for _, row := range group.rows {
			f := families[row.name]
			if f == nil {
				t.Errorf("%s is not on the page", row.name)
				continue
			}
			if got := strings.ToLower(f.GetType().String()); got != string(row.kind) {
				t.Errorf("%s is a %s, the table says %s", row.name, got, row.kind)
			}
			delete(families, row.name)
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "dqd_") {
			t.Errorf("%s is on the page and not in the table", name)
		}
	}
}

// values are the values of a metric by those of its labels but the name of the label.
func values(f *dto.MetricFamily) map[string]float64 {
	out := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		out[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return out
}

// The number of labels is bounded; what is not shown is in "other".
func TestManyQueuesInMetrics(t *testing.T) {
	var queues []shard.SurveyedQueue
	for i := range 150 {
		queues = append(queues, shard.SurveyedQueue{Queue: record.Queue{Name: fmt.Appendf(nil, "q%03d", i), Ready: 10, Bytes: 3}, OldestReady: int64(i) * 1e9})
	}
	families := gather(t, queues...)
	jobs := values(families["dqd_queue_jobs"])
	if n, other := len(jobs), jobs["other ready"]; n != 4*101 || other != 507 || jobs["q099 ready"] != 10 {
		t.Errorf("%d series of jobs, other %v, want 404 and 507", n, other)
	}
	if n := len(values(families["dqd_queue_job_events_total"])); n != 100*10 {
		t.Errorf("%d series of events, want 1000", n)
	}
	if oldest := values(families["dqd_oldest_ready_seconds"])[""]; oldest != 149 {
		t.Errorf("the oldest ready job is %v s old, want 149: queues that are not shown count too", oldest)
	}
}

// Whatever clients call their queues, no two share a label, and the page is whole.
func TestQueueNamesInMetrics(t *testing.T) {
	names := []string{"orders", "other", `"other"`, `"\"other\""`, "\xff", `"\xff"`, `\xff`, "a\nb", "a b", "ü", `say "hi"`, strings.Repeat("\x00", 255)}
	var queues []shard.SurveyedQueue
	for _, name := range names {
		queues = append(queues, shard.SurveyedQueue{Queue: record.Queue{Name: []byte(name)}, Holds: shard.Holds{Rate: name == "orders"}})
	}
	families := gather(t, queues...)
	var got []string
	for name := range values(families["dqd_queue_stored_bytes"]) {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{
		`"\"\\\"other\\\"\""`, `"\"\\xff\""`, `"\"other\""`, `"` + strings.Repeat(`\x00`, 255) + `"`, `"\xff"`, `"a\nb"`, `"other"`, `\xff`, "a b", "orders", "other", `say "hi"`, "ü",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("labels\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if held := values(families["dqd_queue_held"]); held["rate orders"] != 1 || held["pause-in orders"] != 0 {
		t.Errorf("held: %v", held)
	}
	if held := values(families["dqd_queues_held"]); held["rate"] != 1 || held["max-len"] != 0 {
		t.Errorf("held: %v", held)
	}
}
