package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The servers that cases name.
const (
	dqdServer     = "dqd"
	redisAlways   = "redis-always"
	redisEverysec = "redis-everysec"
	noopServer    = "noop"
)

// launcher starts servers and knows those that live, so that none outlives the
// run: stopAll after every case, close at the end, and on Linux the kernel
// kills them should this process die without either.
type launcher struct {
	options options
	log     io.Writer
	base    string // parent of all directories it makes
	self    string // this binary, for noop
	redis   string
	dqd     string

	mu   sync.Mutex // guards live
	live map[*server]bool
}

func newLauncher(ctx context.Context, o options, log io.Writer) (l *launcher, err error) {
	l = &launcher{options: o, log: log, live: map[*server]bool{}}
	if l.redis, err = exec.LookPath("redis-server"); err != nil {
		return nil, fmt.Errorf("the peer is missing: %w", err)
	}
	if l.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if l.base, err = os.MkdirTemp(o.dir, "dqd-bench-"); err != nil {
		return nil, err
	}
	if l.dqd, err = l.dqdBinary(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *launcher) dqdBinary(ctx context.Context) (string, error) {
	if l.options.dqd != "" {
		return exec.LookPath(l.options.dqd)
	}
	path := filepath.Join(l.base, "dqd")
	fmt.Fprintln(l.log, "building dqd/cmd/dqd")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "dqd/cmd/dqd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build dqd/cmd/dqd: %w\n%s", err, out)
	}
	return path, nil
}

// close stops what lives and removes the directories.
func (l *launcher) close() {
	l.stopAll()
	if l.options.keep {
		fmt.Fprintln(l.log, "kept", l.base)
		return
	}
	os.RemoveAll(l.base)
}

func (l *launcher) stopAll() {
	l.mu.Lock()
	var live []*server
	for s := range l.live {
		live = append(live, s)
	}
	l.mu.Unlock()
	for _, s := range live {
		s.stop()
	}
}

// A server is one child process in its own directory.
type server struct {
	launcher *launcher
	name     string
	addr     string
	dir      string
	dialect  func() dialect
	argv     []string
	started  time.Time
	cmd      *exec.Cmd
	exited   chan struct{} // closed once the process was waited for
}

// start runs the named server, with more arguments if need be, on a free port
// and waits until it answers PING.
func (l *launcher) start(ctx context.Context, name string, more ...string) (*server, error) {
	dir, err := os.MkdirTemp(l.base, name+"-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{launcher: l, name: name, addr: "127.0.0.1:" + port, dir: dir, started: time.Now()}
	s.argv = append(s.command(port), more...)
	if err := s.launch(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.live[s] = true
	l.mu.Unlock()

	if err := s.ready(ctx); err != nil {
		err = fmt.Errorf("start %s: %w%s", name, err, s.logTail())
		s.stop()
		return nil, err
	}
	return s, nil
}

// launch begins the process. Its data is what the one before it left.
func (s *server) launch() error {
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = childAttributes()
	logFile, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	go func() { // ends with the process; kill waits for it
		cmd.Wait()
		close(exited)
	}()
	return nil
}

func (s *server) isRedis() bool { return s.name == redisAlways || s.name == redisEverysec }

// words chooses between the words of dqd and of Redis, split on spaces.
func (s *server) words(dqd, redis string) []string {
	if s.isRedis() {
		return strings.Fields(redis)
	}
	return strings.Fields(dqd)
}

func (s *server) command(port string) []string {
	s.dialect = func() dialect { return dqdDialect{} }
	switch s.name {
	case redisAlways, redisEverysec:
		s.dialect = func() dialect { return &redisDialect{} }
		policy := strings.TrimPrefix(s.name, "redis-")
		return []string{s.launcher.redis, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir,
			"--save", "", "--appendonly", "yes", "--appendfsync", policy}
	case noopServer:
		return []string{s.launcher.self, "noop", "-port", port}
	}
	argv := []string{s.launcher.dqd, "serve", "--port", port, "--http-port", "0", "--dir", filepath.Join(s.dir, "data")}
	return append(argv, strings.Fields(s.launcher.options.dqdArgs)...)
}

const startTimeout = 30 * time.Second

// ready waits until PING is answered with PONG.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no PONG: %w", err)
		case <-s.exited:
			return errors.New("it exited")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *server) ping(ctx context.Context) error {
	c, err := dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer c.close()
	reply, err := c.do("PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("PING answered %q", reply)
	}
	return err
}

// kill is kill -9 of the server and its children.
func (s *server) kill() {
	killGroup(s.cmd.Process)
	<-s.exited
}

// stop kills the server (its data is not wanted) and removes its directory. It
// may be called twice.
func (s *server) stop() {
	s.kill()
	s.launcher.mu.Lock()
	delete(s.launcher.live, s)
	s.launcher.mu.Unlock()
	if !s.launcher.options.keep {
		os.RemoveAll(s.dir)
	}
}

// logTail is the end of what the server printed, for error messages.
func (s *server) logTail() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
	b = bytes.TrimSpace(b)
	if len(b) > 2000 {
		b = b[len(b)-2000:]
	}
	if len(b) == 0 {
		return ""
	}
	return "\n" + string(b)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// settle waits until the server is at rest: less than 3 % of a core over a
// second, and no AOF rewrite under way. It gives up quietly after two minutes.
func (s *server) settle(ctx context.Context) error {
	c, err := dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer c.close()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		before, err := cpuTime(s.pid())
		if err != nil {
			return err
		}
		if err := sleepUntil(ctx, time.Now().Add(time.Second)); err != nil {
			return err
		}
		after, err := cpuTime(s.pid())
		if err != nil {
			return err
		}
		info, err := c.do("INFO", "persistence")
		if err != nil {
			return fmt.Errorf("INFO persistence: %w", err)
		}
		if after-before < 30*time.Millisecond && !strings.Contains(info, "aof_rewrite_in_progress:1") {
			return nil
		}
	}
	fmt.Fprintf(s.launcher.log, "  %s did not come to rest\n", s.name)
	return nil
}

func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}
