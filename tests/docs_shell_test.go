package tests

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
)

// TestDocumentedShellCommandsWork runs the blocks marked "sh" in README.md and docs/*.md:
// all of a document in one bash, in a new folder, with dqd in PATH. Each command must
// succeed; one of redis-cli does not if the reply is an error. Ports 7711 and 7712 stand
// for two free ones, which dqd has from the environment.
func TestDocumentedShellCommandsWork(t *testing.T) {
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range append([]string{"../README.md"}, paths...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if script := documentedShell(string(text)); script != "" {
			found++
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				if out, err := runShell(t, script); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	if found == 0 {
		t.Error("no document has shell commands")
	}
}

// documentedShell returns the lines of a document's blocks marked "sh".
func documentedShell(document string) string {
	return strings.Join(dqdtest.Blocks(document, "sh"), "")
}

// runShell runs a script as TestDocumentedShellCommandsWork says.
func runShell(t *testing.T, script string) (output string, err error) {
	t.Helper()
	dir := t.TempDir()
	ports := freePorts(t, 2)
	script = strings.NewReplacer("7711", ports[0], "7712", ports[1]).Replace(script)
	ctx, cancel := context.WithTimeout(t.Context(), 3*dqdtest.Deadline)
	defer cancel()
	// What runs when a command fails, or at the end, ends with the shell.
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", "set -euo pipefail -x\nredis-cli() { command redis-cli -e \"$@\"; }\ntrap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\n"+script)
	cmd.Dir = dir
	// The settings of whoever runs the tests are not the server's.
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DQD_") })
	cmd.Env = append(environment, "PATH="+filepath.Dir(dqdtest.Binary(t))+":"+os.Getenv("PATH"), "DQD_PORT="+ports[0], "DQD_HTTP_PORT="+ports[1])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = dqdtest.StartOnKeptThread(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		for _, name := range []string{"dqd.out", "dqd.log"} {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			out.Write(b)
		}
	}
	return out.String(), err
}

// freePorts returns so many ports that nobody listens on now.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

// The proof that a command that fails is noticed, wherever it stands.
func TestDocumentedShellCommandsAreRun(t *testing.T) {
	document := strings.ReplaceAll(`
~~~sh
dqd version | grep ^dqd
~~~
~~~console
$ false
~~~
~~~
false
~~~
~~~sh machine
false
~~~
~~~sh
echo "ends here"
~~~
`, "~~~", "```")
	script := documentedShell(document)
	if out, err := runShell(t, script); err != nil || !strings.Contains(out, "ends here") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, wrong := range []string{"dqd serv", "dqd version | grep nonsense", "redis-cli -p 7711 PING",
		"dqd serve --dir d & curl -fsS --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:7712/readyz; redis-cli -p 7711 DQADD"} {
		if out, err := runShell(t, wrong+"\n"+script); err == nil {
			t.Errorf("%s is taken for right:\n%s", wrong, out)
		}
	}
}
