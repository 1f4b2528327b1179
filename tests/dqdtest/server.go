// Package dqdtest starts the real dqd program for black-box tests, and speaks to it.
//
// The program is built once per test binary; DQD_BINARY names one to use
// instead. Its processes end with the test, and also when the test binary dies.
package dqdtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Deadline bounds every wait for something that a healthy server does at once, on a
// machine that is busy.
const Deadline = time.Minute

// Options say how to start a server.
type Options struct {
	// Dir is the data folder; empty = a new one that is removed after the test.
	Dir string
	// Password is given by DQD_REQUIREPASS; empty = none.
	Password string
	// Config are the lines of a configuration file, by name.
	Config map[string]string
	// Args are further arguments of "dqd serve".
	Args []string
	// Env are further NAME=value settings.
	Env []string
	// OpenFiles is the limit of open files that the process gets; 0 = this one's.
	OpenFiles int
}

// Server is a running dqd process.
type Server struct {
	Addr string // host:port that speaks the Redis protocol
	HTTP string // host:port of /livez, /readyz, /metrics
	Dir  string

	t       testing.TB
	options Options
	cmd     *exec.Cmd
	log     *logBuffer
	ended   chan struct{} // closed when the process has ended
	state   *os.ProcessState
}

// Start starts a server and waits until it answers PING. It ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "data")
	}
	s := &Server{t: t, options: o, Dir: o.Dir}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() && s.log != nil {
			t.Logf("log of the server:\n%s", s.log.tail(60))
		}
	})
	if err := s.start(); err != nil {
		t.Fatalf("start dqd: %v", err)
	}
	return s
}

// TryStart starts a server that may refuse to start: then the error says how it
// ended. A server that neither serves nor ends fails the test.
func TryStart(t testing.TB, o Options) (*Server, error) {
	t.Helper()
	s := &Server{t: t, options: o, Dir: o.Dir}
	t.Cleanup(s.Kill)
	err := s.start()
	if err == nil {
		return s, nil
	}
	if s.ended == nil || s.Alive() {
		t.Fatalf("dqd neither serves nor ends: %v", err)
	}
	return nil, err
}

// Restart starts the process again on the same data, after Kill or Stop. The
// ports are new ones.
func (s *Server) Restart() error {
	return s.start()
}

var (
	buildOnce  sync.Once
	binaryPath string
	buildError error
)

// Binary returns the path of the program, built if need be.
func Binary(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if binaryPath = os.Getenv("DQD_BINARY"); binaryPath != "" {
			return
		}
		dir, err := os.MkdirTemp("", "dqd-test-")
		if err != nil {
			buildError = err
			return
		}
		binaryPath = filepath.Join(dir, "dqd")
		out, err := exec.Command("go", "build", "-o", binaryPath, "dqd/cmd/dqd").CombinedOutput()
		if err != nil {
			buildError = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if buildError != nil {
		t.Fatalf("build dqd: %v", buildError)
	}
	return binaryPath
}

// RemoveBinary removes what Binary built; for TestMain.
func RemoveBinary() {
	if binaryPath != "" && os.Getenv("DQD_BINARY") == "" {
		os.RemoveAll(filepath.Dir(binaryPath))
	}
}

func (s *Server) start() error {
	args := append([]string{"serve", "--port", "0", "--http-port", "0", "--dir", s.Dir}, s.options.Args...)
	if len(s.options.Config) > 0 {
		path := filepath.Join(s.t.TempDir(), "dqd.conf")
		var text strings.Builder
		for name, value := range s.options.Config {
			fmt.Fprintf(&text, "%s %s\n", name, value)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			return err
		}
		args = append(args, "--config", path)
	}
	s.cmd = exec.Command(Binary(s.t), args...)
	if n := s.options.OpenFiles; n > 0 {
		s.cmd = exec.Command("/bin/sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(n), Binary(s.t)}, args...)...)
	}
	// The settings of whoever runs the tests are not the server's.
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DQD_") })
	s.cmd.Env = append(environment, s.options.Env...)
	if s.options.Password != "" {
		s.cmd.Env = append(s.cmd.Env, "DQD_REQUIREPASS="+s.options.Password)
	}
	s.log = &logBuffer{changed: make(chan struct{}, 1)}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := StartOnKeptThread(s.cmd); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		s.state = cmd.ProcessState
		close(ended)
	}(s.cmd, s.ended)
	if err := s.findAddresses(); err != nil {
		return fmt.Errorf("%w; its output:\n%s", err, s.log.tail(40))
	}
	return s.waitReady()
}

// findAddresses reads the addresses from what the server prints at its start.
func (s *Server) findAddresses() error {
	s.Addr, s.HTTP = "", ""
	deadline := time.After(Deadline)
	for {
		s.Addr, s.HTTP = addresses(s.log.String())
		if s.Addr != "" && s.HTTP != "" {
			return nil
		}
		select {
		case <-s.log.changed:
		case <-s.ended:
			return fmt.Errorf("the server ended: %v", s.state)
		case <-deadline:
			return fmt.Errorf("the server did not print its addresses within %v", Deadline)
		}
	}
}

// readyPattern is the line that tells programs where the server listens.
var readyPattern = regexp.MustCompile(`(?m)^ready resp=(\S+) http=http://(\S+) pid=\d+$`)

func addresses(log string) (resp, http string) {
	if m := readyPattern.FindStringSubmatch(log); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

func (s *Server) waitReady() error {
	return WaitFor(Deadline, func() error {
		select {
		case <-s.ended:
			return Stop(fmt.Errorf("the server ended: %v\n%s", s.state, s.log.tail(40)))
		default:
		}
		c, err := Dial(s.Addr)
		if err != nil {
			return err
		}
		defer c.Close()
		v, err := c.Do("PING")
		if err != nil {
			return err
		}
		if v.Text != "PONG" && !strings.HasPrefix(v.Text, "NOAUTH") {
			return fmt.Errorf("PING answers %q", v.Text)
		}
		return nil
	})
}

// Kill ends the process with SIGKILL and waits for its end. A second call does nothing.
func (s *Server) Kill() {
	s.end(syscall.SIGKILL)
}

// Stop ends the process with SIGTERM, waits for it, and returns how it ended.
func (s *Server) Stop() error {
	if err := s.end(syscall.SIGTERM); err != nil {
		return err
	}
	if s.state.ExitCode() != 0 {
		return fmt.Errorf("dqd ended with %v after SIGTERM:\n%s", s.state, s.log.tail(40))
	}
	return nil
}

func (s *Server) end(sig syscall.Signal) error {
	if s.ended == nil {
		return nil
	}
	s.cmd.Process.Signal(sig)
	select {
	case <-s.ended:
		return nil
	case <-time.After(Deadline):
		s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("dqd did not end within %v of %v", Deadline, sig)
	}
}

// Signal sends the process a signal.
func (s *Server) Signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Pid returns the process's number.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Alive reports whether the process still runs.
func (s *Server) Alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// EndsBySelf reports whether the process ends, within the deadline, without
// being asked to.
func (s *Server) EndsBySelf() bool {
	select {
	case <-s.ended:
		return true
	case <-time.After(Deadline):
		return false
	}
}

// Log returns what the server has printed since its last start.
func (s *Server) Log() string { return s.log.String() }

// RSS returns the resident memory of the process in bytes.
func (s *Server) RSS() (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.Pid()))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(in.Text(), "VmRSS: %d kB", &kb); n == 1 {
			return kb << 10, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// Dial opens a connection that is closed after the test, and authenticates it
// if the server has a password.
func (s *Server) Dial() *Client {
	s.t.Helper()
	c, err := Dial(s.Addr)
	if err != nil {
		s.t.Fatalf("connect to dqd: %v", err)
	}
	s.t.Cleanup(func() { c.Close() })
	if s.options.Password != "" {
		if v, err := c.Do("AUTH", s.options.Password); err != nil || v.Text != "OK" {
			s.t.Fatalf("AUTH: %v %v", v, err)
		}
	}
	return c
}

// logBuffer keeps what a process prints.
type logBuffer struct {
	mu      sync.Mutex // guards b
	b       bytes.Buffer
	changed chan struct{}
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) tail(n int) string {
	lines := strings.Split(strings.TrimRight(l.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// StartOnKeptThread starts a process that ends with the test binary. It does so on a
// thread that lives as long: Pdeathsig fires when the starting thread ends, not the process.
func StartOnKeptThread(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	starterOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for r := range starter {
				r.done <- r.cmd.Start()
			}
		}()
	})
	r := startRequest{cmd, make(chan error)}
	starter <- r
	return <-r.done
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

var (
	starterOnce sync.Once
	starter     = make(chan startRequest)
)
