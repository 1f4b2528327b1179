package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

// The command of the unit, with its file of settings, is one that the program understands,
// and the unit leaves it the time to end that it says it needs.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile("../deploy/systemd/dqd.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			unit[name] = value
		}
	}
	if unit["Type"] != "notify" {
		t.Errorf("Type=%s: the program says when it is ready", unit["Type"])
	}
	const ends = 20 * time.Second // by itself: docs/operations.md
	if stop, err := time.ParseDuration(unit["TimeoutStopSec"]); err != nil || stop <= ends {
		t.Errorf("TimeoutStopSec=%s: it ends by itself within %v", unit["TimeoutStopSec"], ends)
	}
	if alive, err := time.ParseDuration(unit["WatchdogSec"]); err != nil || alive <= ends {
		t.Errorf("WatchdogSec=%s", unit["WatchdogSec"])
	}
	args := strings.Fields(unit["ExecStart"])
	if len(args) != 6 || args[0] != "/usr/local/bin/dqd" || args[1] != "serve" || args[2] != "--config" || args[3] != "/etc/dqd/dqd.conf" || args[4] != "--dir" || args[5] != "/var/lib/"+unit["StateDirectory"] {
		t.Fatalf("ExecStart=%q", args)
	}
	// With the settings as they are, and with those that are commented out.
	conf, err := os.ReadFile("../deploy/systemd/dqd.conf")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAllString(string(conf), "$1")
	if all == string(conf) {
		t.Error("dqd.conf shows no settings")
	}
	for _, text := range []string{string(conf), all} {
		path := filepath.Join(t.TempDir(), "dqd.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		dqdtest.Start(t, dqdtest.Options{Args: []string{"--config", path}})
	}
}
