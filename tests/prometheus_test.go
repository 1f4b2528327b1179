package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// systemd takes the unit without a word.
func TestUnitForSystemd(t *testing.T) {
	needs(t, "systemd-analyze")
	text, err := os.ReadFile("../deploy/systemd/dqd.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := strings.Replace(string(text), "/usr/local/bin/dqd", dqdtest.Binary(t), 1)
	verify := func(unit string) string {
		path := filepath.Join(t.TempDir(), "dqd.service")
		if err := os.WriteFile(path, []byte(unit), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := verify(unit); out != "" {
		t.Error(out)
	}
	// The proof that it has one for what is wrong.
	if out := verify(strings.Replace(unit, "WatchdogSec=60s", "WatchdogSecs=60s", 1)); !strings.Contains(out, "WatchdogSecs") {
		t.Errorf("a key that there is not: %q", out)
	}
}

// promtool takes the rules and the configuration, and each alert fires when it should and
// not sooner: prometheus/ has a case for every one.
func TestAlertRules(t *testing.T) {
	needs(t, "promtool")
	cases := []string{"prometheus/rules-test.yml", "prometheus/rules-test-slow.yml"}
	for _, args := range [][]string{
		{"check", "rules", "../deploy/prometheus/dqd-rules.yml"},
		{"check", "config", "../deploy/prometheus/prometheus.yml"},
		append([]string{"test", "rules"}, cases...),
	} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	names := func(pattern string, paths ...string) (list []string) {
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				list = append(list, string(m[1]))
			}
		}
		return list
	}
	fire := names(`alertname: (\w+)\n +exp_alerts:\n`, cases...)
	stay := names(`alertname: (\w+)\n +exp_alerts: \[\]\n`, cases...)
	rules := names(`alert: (\w+)\n`, "../deploy/prometheus/dqd-rules.yml")
	if len(rules) == 0 {
		t.Error("there are no rules")
	}
	for _, name := range rules {
		if !slices.Contains(fire, name) || !slices.Contains(stay, name) {
			t.Errorf("prometheus/ lacks a case in which %s fires, or one in which it does not", name)
		}
	}
}

// A real Prometheus, with the configuration that is recommended, scrapes a server, evaluates
// each rule and answers each question of the dashboard.
func TestPrometheusAsks(t *testing.T) {
	needs(t, "prometheus")
	server := dqdtest.Start(t, dqdtest.Options{})
	c := server.Dial()
	show(t, c, "DQADD orders a x", "DQADD orders b x DELAY 1h", "DQADD orders c x AT 2099-01-01T00:00:00Z", "DQPOP orders", "DQNACK orders a * DEAD", "DQADD orders d x", "DQPOP orders")
	dir := t.TempDir()
	for _, name := range []string{"prometheus.yml", "dqd-rules.yml"} {
		text, err := os.ReadFile("../deploy/prometheus/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`(scrape|evaluation)_interval: 15s`).ReplaceAll(text, []byte("${1}_interval: 1s"))
		text = bytes.Replace(text, []byte("127.0.0.1:7712"), []byte(server.HTTP), 1)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := "127.0.0.1:" + freePorts(t, 1)[0]
	prometheus := exec.Command("prometheus", "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/tsdb", "--web.listen-address="+address, "--log.level=warn")
	var log bytes.Buffer
	prometheus.Stdout, prometheus.Stderr = &log, &log
	if err := dqdtest.StartOnKeptThread(prometheus); err != nil {
		t.Fatal(err)
	}
	defer func() {
		prometheus.Process.Kill()
		prometheus.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	client := http.Client{Timeout: dqdtest.Deadline}
	ask := func(path string, into any) error {
		resp, err := client.Get("http://" + address + path)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Status, Error string
			Warnings      []string
			Data          json.RawMessage
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		if answer.Status != "success" || len(answer.Warnings) > 0 {
			return fmt.Errorf("%s %s %s", answer.Status, answer.Error, answer.Warnings)
		}
		return json.Unmarshal(answer.Data, into)
	}
	query := func(expr string) (series int, err error) {
		var data struct{ Result []json.RawMessage }
		err = ask("/api/v1/query?query="+url.QueryEscape(expr), &data)
		return len(data.Result), err
	}
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		if err := ask("/api/v1/rules", &data); err != nil {
			return err
		}
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					return fmt.Errorf("%s was not evaluated", r.Name)
				}
			}
		}
		n, err := query(`sum_over_time(up{job="dqd"}[1m]) > 2`)
		if n == 0 && err == nil {
			err = errors.New("not scraped")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Health != "ok" {
				t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if rules == 0 {
		t.Error("there are no rules")
	}

	text, err := os.ReadFile("../deploy/grafana/dqd.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Annotations, Templating struct {
			List []struct{ Expr, Definition string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*", "$queue", ".*")
	questions := 0
	// What has no answer as long as all is well, or nobody made a backup.
	quiet := regexp.MustCompile(` > 0\)?$`)
	check := func(where, expr string) {
		questions++
		err := dqdtest.WaitFor(dqdtest.Deadline, func() error { // until the next scrape, after one that failed
			n, err := query(variables.Replace(expr))
			if n == 0 && err == nil && !quiet.MatchString(expr) {
				err = errors.New("no series")
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %s: %v", where, expr, err)
		}
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
		}
	}
	for _, a := range dashboard.Annotations.List {
		check("an annotation", a.Expr)
	}
	for _, v := range dashboard.Templating.List {
		if inside, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			check("a variable", inside[:strings.LastIndex(inside, ",")])
		}
	}
	if questions < 50 {
		t.Errorf("%d questions", questions)
	}
	if _, err := query("dqd_ready{"); err == nil {
		t.Error("an error of Prometheus is not seen")
	}
}
