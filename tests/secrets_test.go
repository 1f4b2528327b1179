package tests

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
)

// No secret is in anything that the program prints or answers: however it is given
// to the server or typed by a client, and also when it is wrong, misspelt, or the
// process dies and prints where it was.
//
// Beside the canaries there are markers, which are no secrets and are given to the
// same places. What shows those must show a marker: so the search sees what is
// there. (Mutants show secrets: see tests/mutants.)
func TestNothingPrintsSecrets(t *testing.T) {
	const canary, marker = "canary-5e1d", "marker-77ab"
	canaries := make([]string, 8)
	for n := range canaries {
		canaries[n] = fmt.Sprintf("%s-%d", canary, n)
	}
	inEnvironment, inFile, inSecretFile, live, wrong, misspelt := canaries[0], canaries[1], canaries[2], canaries[3], canaries[4], canaries[5]
	text := func(name, lines string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hidden := func(what, shown string) {
		t.Helper()
		if shown == "" {
			t.Errorf("%s is empty", what)
		}
		if at := strings.Index(shown, canary); at >= 0 {
			t.Errorf("%s shows a secret:\n%s", what, shown[max(0, at-200):min(len(shown), at+200)])
		}
	}

	search := func(what, shown string) {
		t.Helper()
		if !strings.Contains(shown, marker) {
			t.Errorf("%s does not show the marker, so this proves nothing:\n%s", what, shown)
		}
		hidden(what, shown)
	}

	// Before it serves: what is printed of settings, right and wrong.
	command := func(want int, environment string, args ...string) string {
		t.Helper()
		cmd := exec.Command(dqdtest.Binary(t), args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), environment}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("dqd %q: exit code %d, want %d\n%s", args, code, want, out)
		}
		return string(out)
	}
	file := text("dqd.conf", "requirepass "+inFile+"\n")
	secret := text("secret", inSecretFile+"\n")
	dir := []string{"--dir", marker}
	for _, args := range [][]string{{"--config", file}, {"--requirepass-file", secret}} {
		search("dqd config", command(0, "A=", append(append([]string{"config"}, dir...), args...)...))
	}
	search("dqd config", command(0, "DQD_REQUIREPASS="+inEnvironment, append([]string{"config"}, dir...)...))
	for _, line := range []string{"requirepass=" + wrong, "requirepass = " + wrong, "requirepass " + wrong + " # " + wrong, `requirepass "` + wrong, "requirepas=" + misspelt, "requirepas " + misspelt, "requirepass " + strings.Repeat(wrong, 60)} {
		search("a wrong line", command(2, "A=", "serve", "--config", text(marker, line+"\n")))
	}
	search("a secret file of two lines", command(2, "A=", "serve", "--requirepass-file", text(marker, wrong+"\n"+wrong+"\n")))
	hidden("a secret as a flag", command(2, "A=", "serve", "--requirepass="+wrong))
	hidden("a misspelt variable", command(2, "DQD_REQUIREPAS="+misspelt, "serve"))
	hidden("a secret that is too long", command(2, "DQD_REQUIREPASS="+strings.Repeat(wrong, 60), "serve"))
	hidden("two secrets", command(2, "DQD_REQUIREPASS="+inEnvironment, "serve", "--config", text(marker, "requirepass-file "+secret+"\n")))

	// A server that has all its noise on.
	server := dqdtest.Start(t, dqdtest.Options{
		Dir: filepath.Join(t.TempDir(), marker), Password: inEnvironment,
		Config: map[string]string{"loglevel": "debug", "slowlog-log-slower-than": "0", "slowlog-max-len": "10000", "latency-monitor-threshold": "1", "requirepass": inFile},
	})
	c := server.Dial()
	do := func(args ...string) string {
		t.Helper()
		v, err := c.Do(args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return fmt.Sprint(v)
	}
	do("CLIENT", "SETNAME", marker)
	answers := ""
	for _, args := range [][]string{
		{"AUTH", wrong}, {"AUTH", "default", wrong}, {"AUTH", wrong, wrong}, {"AUTH", wrong, wrong, wrong}, {"AUTH", "default", inEnvironment}, {"AUTH"},
		{"HELLO", "3", "AUTH", "default", wrong}, {"HELLO", "2", "AUTH", wrong, wrong, "SETNAME", marker}, {"HELLO", "9", "AUTH", "default", wrong}, {"HELLO", "2", "AUTH", wrong},
		{"HELLO", "2", "AUTH", "default", inEnvironment, "SETNAME", marker}, {"HELLO", wrong},
		{"CONFIG", "SET", "requirepass", live}, {"CONFIG", "SET", "requirepass", live, "timeout", wrong}, {"CONFIG", "SET", "requirepass", strings.Repeat(wrong, 60)}, {"CONFIG", "SET", "requirepas", wrong},
		{"CONFIG", "SET", "requirepass", live, "requirepass", live}, {"CONFIG", "SET", "requirepass-file", wrong},
		{"CONFIG", "GET", wrong}, {"CONFIG", "REWRITE"}, {"MULTI"}, {"AUTH", wrong}, {"CONFIG", "SET", "requirepass", live}, {"EXEC"}, {"DISCARD"},
		{"DQADD", marker, "a", wrong}, {"DQADD", marker, "b", "x", "META", "token", wrong}, {"DQPOP", marker}, {"AUTHH", wrong}, {"DEBUG", wrong}, {"DQADD", strings.Repeat(marker, 100), "a", wrong}, {"MONITOR", wrong},
	} {
		answer := do(args...)
		switch args[0] {
		case "DQPOP": // the payload that it asks for
		case "AUTHH", "MONITOR": // Redis's text repeats to who typed it a command that there is none of
		default:
			answers += answer
		}
	}
	other, err := dqdtest.Dial(server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, args := range [][]string{{"PING", wrong}, {"AUTH", inEnvironment}, {"HELLO", "3", "AUTH", "default", inEnvironment}, {"AUTH", live}} {
		v, err := other.Do(args...)
		if err != nil {
			t.Fatal(err)
		}
		answers += fmt.Sprint(v)
	}
	search("an answer", answers)
	for _, args := range []string{"CLIENT LIST", "SLOWLOG GET -1", "CONFIG GET *"} {
		search(args, do(strings.Fields(args)...))
	}
	// These show nothing of a client's.
	for _, args := range []string{"INFO everything", "LATENCY DOCTOR", "LATENCY LATEST", "LATENCY HISTOGRAM", "MEMORY STATS", "MEMORY DOCTOR", "ROLE", "COMMAND DOCS"} {
		hidden(args, do(strings.Fields(args)...))
	}
	for _, path := range []string{"/metrics", "/livez", "/readyz"} {
		answer, err := http.Get("http://" + server.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if path == "/metrics" {
			search(path, string(body))
		} else {
			hidden(path, string(body))
		}
	}

	// Last words: where every goroutine was, with its arguments.
	if err := server.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if !server.EndsBySelf() {
		t.Fatal("SIGQUIT did not end the server")
	}
	if log := server.Log(); !strings.Contains(log, "SIGQUIT") || !strings.Contains(log, "goroutine 1 ") {
		t.Errorf("the last words are not there:\n%s", log)
	}
	search("the log with the last words", server.Log())
}
