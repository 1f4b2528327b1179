package dashboards

import (
	"strings"
	"testing"
)

// Grafana's own types take the dashboard.
func TestDashboardFitsItsSchema(t *testing.T) {
	report(t, "deploy/grafana/dqd.json", checkSchema(read(t, "deploy/grafana/dqd.json")))
}

// The proof that what is wrong is found: the dashboard with one fault each, in the
// first place where it can be.
func TestWrongDashboardsAreFound(t *testing.T) {
	text := read(t, "deploy/grafana/dqd.json")
	for _, m := range []struct{ old, new, want string }{
		// Fields and types.
		{`"schemaVersion": 41,`, ``, "schemaVersion: required field is missing"},
		{`"schemaVersion": 41`, `"schemaVersion": 4100`, "4100 is not within"},
		{`"schemaVersion": 41`, `"schemaVersion": 16`, "16 is not within"},
		{`"schemaVersion": 41`, `"schemaVersion": "41"`, "cannot unmarshal string"},
		{`"editable": true`, `"editabel": true`, "unexpected field 'editabel'"},
		{`"iconColor": "red",`, ``, "iconColor: required field is missing"},
		{`"enable": true`, `"enable": "yes"`, "cannot unmarshal string"},
		{`"allValue": ".*"`, `"allValues": ".*"`, "unexpected field 'allValues'"},
		{`"gridPos": {`, `"gridpos": {`, "unexpected field 'gridpos'"},
		{`"w": 24`, `"w": "24"`, "cannot unmarshal string"},
		{`"w": 24`, `"w": 0`, "must be > 0"},
		{`"expr": "min(dqd_ready`, `"query": "min(dqd_ready`, "unexpected field 'query'"},
		{`"instant": true`, `"instant": "true"`, "cannot unmarshal string"},
		{`"decimals": 0`, `"decimals": "none"`, "cannot unmarshal string"},
		{`"overrides": []`, `"override": []`, "unexpected field 'override'"},
		{`"mappings": [`, `"mapping": [`, "unexpected field 'mapping'"},
		{`"mode": "absolute",`, ``, "thresholds.mode: required field is missing"},
		{`"colorMode": "background"`, `"colourMode": "background"`, "unexpected field 'colourMode'"},
		{`"lineWidth": 1`, `"linewidth": 1`, "unexpected field 'linewidth'"},
		{`"lineWidth": 1`, `"lineWidth": "thin"`, "cannot unmarshal string"},
		{`"showLegend": true`, `"show": true`, "unexpected field 'show'"},
		{`"exponent": 0.5`, `"exponents": 0.5`, "unexpected field 'exponents'"},
		{`"axisPlacement": "left"`, `"placement": "left"`, "unexpected field 'placement'"},
		{`"type": "value"`, `"type": "values"`, "could not unmarshal resource with `type = values`"},

		// Values outside their enumeration.
		{`"graphTooltip": 1`, `"graphTooltip": 3`, `"3" is none of dashboard.DashboardCursorSync`},
		{`"type": "query"`, `"type": "queries"`, "is none of dashboard.VariableType"},
		{`"refresh": 2`, `"refresh": 7`, "is none of dashboard.VariableRefresh"},
		{`"format": "time_series"`, `"format": "series"`, "is none of prometheus.PromQueryFormat"},
		{`"mode": "absolute"`, `"mode": "exact"`, "is none of dashboard.ThresholdsMode"},
		{`"colorMode": "background"`, `"colorMode": "back"`, "is none of common.BigValueColorMode"},
		{`"drawStyle": "line"`, `"drawStyle": "lines"`, "is none of common.GraphDrawStyle"},
		{`"placement": "bottom"`, `"placement": "below"`, "is none of common.LegendPlacement"},
		{`"scale": "exponential"`, `"scale": "log"`, "is none of heatmap.HeatmapColorScale"},
		{`"layout": "auto"`, `"layout": "none"`, "is none of common.HeatmapCellLayout"},
		{`"type": "log"`, `"type": "logarithmic"`, "is none of common.ScaleDistribution"},
		{`"unit": "s"`, `"unit": "seconds"`, "is none of units"},
		{`"unit": "string"`, `"unit": "level"`, "is none of units"},
		{`"type": "stat"`, `"type": "stats"`, `no check knows the type "stats"`},

		// What Grafana draws wrongly.
		{`"id": 3,`, `"id": 2,`, "panel Jobs waiting: its id 2 is that of Ready"},
		{`"x": 3,`, `"x": 2,`, "panel Jobs waiting: lies on Ready"},
		{`"x": 21,`, `"x": 22,`, "panel Clock held: reaches beyond column 24"},
		{`"title": "Leased",`, ``, `panel "": no title`},
		{`"collapsed": false`, `"collapsed": true`, "row Now: what is inside"},
		{`"refId": "B"`, `"refId": "A"`, `panel Held back, waiting pops: the refId "A"`},
		{`"refId": "A",`, ``, `panel Ready: the refId ""`},
		{`"value": 60`, `"value": 6`, "panel Oldest overdue: the steps of its thresholds"},
		{`"value": null`, `"value": -1`, "panel Ready: the steps of its thresholds"},
		{`"overrides": []`, `"overrides": [{"matcher": {"id": "byName"}, "properties": []}]`, "no check reads overrides"},
		{`"name": "queue"`, `"name": "job"`, "variable job: there are two"},

		// Data sources.
		{`"uid": "${datasource}"`, `"uid": "${source}"`, `there is no data source "${source}"`},
		{`"uid": "${datasource}"`, `"uid": "PBFA97CFB590B2093"`, "there is no data source"},
		{`"type": "prometheus",`, `"type": "loki",`, `of the type "loki"`},
		{`"query": "prometheus"`, `"query": "loki"`, `of the type "prometheus"`},
		{`"name": "datasource"`, `"name": "source"`, `there is no data source "${datasource}"`},
		{"\"red\",\n        \"datasource\"", "\"red\",\n        \"source\"", "annotation Restarts: no datasource"},
		{"\"query\",\n        \"datasource\"", "\"query\",\n        \"source\"", "variable job: no datasource"},
		{"commands.\",\n      \"datasource\"", "commands.\",\n      \"source\"", "panel Ready: no datasource"},
		{"\"A\",\n          \"datasource\"", "\"A\",\n          \"source\"", "panel Ready, query: no datasource"},
	} {
		mutant := strings.Replace(text, m.old, m.new, 1)
		if mutant == text {
			t.Errorf("the dashboard has no %s", m.old)
		} else if wrong := strings.Join(checkSchema(mutant), "\n"); !strings.Contains(wrong, m.want) {
			t.Errorf("%s for %s: found %q, want %q", m.new, m.old, wrong, m.want)
		}
	}
	if wrong := checkSchema("{"); len(wrong) == 0 {
		t.Error("no JSON is not found")
	}
}
