package tests

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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

// The image is nothing but the program, linked statically, and runs as a user whom it has
// no name for: so it serves from a root folder that has nothing else in it.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("../deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	build := regexp.MustCompile(`(?m)^RUN (go build .*) -o /out/dqd (\./cmd/dqd)$`).FindStringSubmatch(string(text))
	environment := regexp.MustCompile(`(?m)^ENV (.* DQD_DIR=/data)$`).FindStringSubmatch(string(text))
	if build == nil || environment == nil || !strings.Contains(string(text), "\nFROM scratch\n") || !strings.Contains(string(text), "\nUSER 65532:65532\n") || !strings.Contains(string(text), "\nENTRYPOINT [\"/dqd\"]\n") {
		t.Fatal("the Dockerfile is not understood")
	}
	root := filepath.Join(t.TempDir(), "root")
	const user = 65532
	data := filepath.Join(root, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("/bin/sh", "-c", build[1]+` -o "$0" `+build[2], filepath.Join(root, "dqd"))
	compile.Dir = ".."
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("/dqd")
	cmd.Env = append(strings.Fields(environment[1]), "DQD_REQUIREPASS=secret", "DQD_PORT=0", "DQD_HTTP_PORT=0")
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		if err := os.Chown(data, user, user); err != nil {
			t.Fatal(err)
		}
		for path := root; path != "/tmp" && path != "/"; path = filepath.Dir(path) {
			os.Chmod(path, 0o755) // the way to it is open
		}
	} else { // who may not change the root folder sees at least that it is static
		cmd.Path, cmd.Dir = filepath.Join(root, "dqd"), root
		cmd.Env = append(cmd.Env, "DQD_DIR="+data)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dqdtest.StartOnKeptThread(cmd); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	serves := false
	for in := bufio.NewScanner(stdout); !serves && in.Scan(); {
		serves = strings.HasPrefix(in.Text(), "ready resp=")
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || !serves {
		t.Errorf("serves: %v, ends with %v\n%s", serves, err, stderr.String())
	}
	if out, _ := exec.Command("go", "version", "-m", filepath.Join(root, "dqd")).CombinedOutput(); !strings.Contains(string(out), "CGO_ENABLED=1") {
		t.Errorf("built without cgo, the stores' caches are in Go's heap:\n%s", out)
	}
}
