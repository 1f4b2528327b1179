package clients

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
)

const password = "a password for these tests"

// client is a program and how to start it; its words are paths below this folder
// or programs in PATH.
type client struct {
	name    string
	command []string
}

var matrix = []client{
	{"go-redis", []string{built("goredis")}},
	{"rueidis", []string{built("rueidis")}},
	{"redigo", []string{built("redigo")}},
	{"ioredis-5", []string{"node/node_modules/.bin/node", "node/ioredis.js", "ioredis5"}},
	{"ioredis-6", []string{"node/node_modules/.bin/node", "node/ioredis.js", "ioredis6"}},
	{"node-redis-4", []string{"node/node_modules/.bin/node", "node/redis.js", "redis4"}},
	{"node-redis-5", []string{"node/node_modules/.bin/node", "node/redis.js", "redis5"}},
	{"node-redis-6", []string{"node/node_modules/.bin/node", "node/redis.js", "redis6"}},
	// Debian's interpreter, which sees Debian's packages; another may stand before it in PATH.
	{"redis-py", []string{"/usr/bin/python3", "python/scenario.py"}},
	{"redis-rb", []string{"/usr/bin/ruby", "ruby/scenario.rb"}},
	{"phpredis", []string{"/usr/bin/php", "php/scenario.php"}},
	{"perl-redis", []string{"/usr/bin/perl", "perl/scenario.pl"}},
	{"hiredis", []string{built("hiredis")}},
	{"redis-cli", []string{"shell/scenario.sh"}},
	{"redis-cli-3", []string{"shell/scenario.sh", "-3"}},
}

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "6") // these tests wait more than they compute
	// The go command runs the tests again if a file changed that they looked at.
	filepath.Glob("*/*/*")
	code := m.Run()
	dqdtest.RemoveBinary()
	os.RemoveAll(builtDir)
	os.Exit(code)
}

// TestScenario runs the scenario with every client.
func TestScenario(t *testing.T) {
	t.Parallel()
	build(t)
	other := dqdtest.Start(t, dqdtest.Options{Password: password})
	t.Run("clients", func(t *testing.T) {
		for _, c := range matrix {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				runScenario(t, c, other)
			})
		}
	})
	for _, warning := range warnings(other.Log()) {
		t.Errorf("the server with a password logs %s", warning)
	}
}

func runScenario(t *testing.T, c client, other *dqdtest.Server) {
	server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--port", strconv.Itoa(freePort(t))}})
	p := start(t, c.command, server.Addr, other.Addr)
	var printed []string
	for text := range p.lines {
		switch {
		case text == "restart?":
			noWarnings(t, server)
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := server.Restart(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(p.stdin, "restarted")
		case strings.HasPrefix(text, "version: "):
			t.Log(strings.TrimPrefix(text, "version: "))
		default:
			printed = append(printed, text)
		}
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ends with %v: ./test.sh installs what it needs\n%s", err, p.stderr)
	}
	for _, wrong := range compare(scenario(), printed) {
		t.Error(wrong)
	}
	if p.stderr.Len() > 0 {
		t.Errorf("the client complains:\n%s", p.stderr)
	}
	noWarnings(t, server)
}

func noWarnings(t *testing.T, server *dqdtest.Server) {
	t.Helper()
	for _, warning := range warnings(server.Log()) {
		t.Errorf("the server logs %s", warning)
	}
}

// process is a client's program that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	lines  <-chan string // of its standard output; closed at its end
	stderr *bytes.Buffer // not before lines is closed and cmd.Wait has returned
}

// start starts a program; it ends with the test.
func start(t *testing.T, command []string, addr, authAddr string) *process {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Fatalf("%v: ./test.sh installs what the tests need", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*dqdtest.Deadline)
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), stderr: &bytes.Buffer{}}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "REDISCLI_AUTH=") })
	p.cmd.Env = append(p.cmd.Env, "DQD_PORT="+port(addr), "DQD_AUTH_PORT="+port(authAddr), "DQD_PASSWORD="+password)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) } // with what it started
	p.cmd.Stderr = p.stderr
	stdin, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdin, p.stdin = stdin, ours
	t.Cleanup(func() { ours.Close() })
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%v: ./test.sh installs what the tests need", err)
	}
	stdin.Close()
	lines := make(chan string)
	p.lines = lines
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return p
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return p
}

// freePort returns a port that a server can come back to: below those that the
// system gives to outgoing connections.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port from 20000 to 29999")
	return 0
}

// Programs that are compiled.

var builtDir = filepath.Join(os.TempDir(), fmt.Sprintf("dqd-clients-%d", os.Getpid()))

func built(name string) string { return filepath.Join(builtDir, name) }

// build compiles the programs in C and Go.
func build(t *testing.T) {
	t.Helper()
	if err := buildOnce(); err != nil {
		t.Fatalf("%v\n./test.sh installs what the tests need", err)
	}
}

var buildOnce = sync.OnceValue(func() error {
	if err := os.MkdirAll(builtDir, 0o700); err != nil {
		return err
	}
	for _, c := range []struct {
		dir     string
		command []string
	}{
		{"go", []string{"go", "build", "-o", builtDir + "/", "./..."}},
		{"c", []string{"cc", "-Wall", "-Wextra", "-Werror", "-o", built("hiredis"), "scenario.c", "-lhiredis"}},
	} {
		cmd := exec.Command(c.command[0], c.command[1:]...)
		cmd.Dir = c.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c.command, " "), err, out)
		}
	}
	return nil
})
