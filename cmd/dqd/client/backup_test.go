package client

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The file of a backup that begins takes the place of one that was left, and of nothing
// that somebody writes, or that has another name too.
func TestCreatePart(t *testing.T) {
	dir := t.TempDir()
	older, part := filepath.Join(dir, "older"), filepath.Join(dir, "new.part")
	if err := os.WriteFile(older, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(older, part); err != nil {
		t.Fatal(err)
	}
	f, err := createPart(part)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("half")
	if _, err := createPart(part); err == nil || !strings.Contains(err.Error(), "another dqd backup writes") {
		t.Errorf("a second backup into one file: %v", err)
	}
	for path, want := range map[string]string{older: "whole", part: "half"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s holds %q (%v), want %q", path, b, err, want)
		}
	}
	f.Close() // as a process that is killed
	if f, err = createPart(part); err != nil {
		t.Fatal(err)
	}
	f.Close()

	path := filepath.Join(dir, "new")
	if err := name(part, older); err == nil || !strings.Contains(err.Error(), "has appeared meanwhile") {
		t.Errorf("named over another: %v", err)
	}
	if b, _ := os.ReadFile(older); string(b) != "whole" {
		t.Errorf("overwritten: %q", b)
	}
	if err := name(part, path); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 1 || names[0] != path {
		t.Errorf("left are %v", names)
	}
}

// fake is a server that answers a command with what answer returns, or OK if that is empty.
func fake(t *testing.T, answer func(command string) string) (flags []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for lines := bufio.NewScanner(nc); lines.Scan(); {
					n, _ := strconv.Atoi(strings.TrimPrefix(lines.Text(), "*"))
					for i := range 2 * n {
						if lines.Scan(); i != 1 {
							continue
						}
						command := strings.ToUpper(lines.Text())
						text := cmp.Or(answer(command), "+OK")
						if command == "HELLO" {
							text = "-ERR unknown command"
						}
						io.WriteString(nc, text+"\r\n")
					}
				}
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return []string{"--port", port}
}

// A server that refuses a client says why and closes, without a look at what the client
// sends: before it sends, or after. The client says it too.
func TestRefusedConnection(t *testing.T) {
	const text = "DENIED dqd is running in protected mode"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan bool, 1) // wait for the client's first word?
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			if <-asked {
				nc.Read(make([]byte, 1))
			}
			io.WriteString(nc, "-"+text+"\r\n")
			nc.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	flags := []string{"--port", port}
	for name, run := range map[string]func() (int, string){
		"backup": func() (int, string) {
			var errs strings.Builder
			return Backup(append(flags, filepath.Join(t.TempDir(), "new")), io.Discard, &errs), errs.String()
		},
		"top": func() (int, string) {
			var errs strings.Builder
			return Top(append(flags, "--once"), io.Discard, &errs), errs.String()
		},
		"queue": func() (int, string) {
			var errs strings.Builder
			return Queue(append([]string{"ls"}, flags...), io.Discard, &errs), errs.String()
		},
		"job": func() (int, string) {
			var errs strings.Builder
			return Job(append([]string{"show", "q", "j"}, flags...), io.Discard, &errs), errs.String()
		},
	} {
		for round := range 20 {
			asked <- round%2 == 0
			if code, errs := run(); code != exitFail || !strings.HasSuffix(errs, "the server at 127.0.0.1:"+port+" refuses the connection: "+text+"\n") {
				t.Fatalf("%s, round %d: %d %s", name, round, code, errs)
			}
		}
	}
}

// What a socket says that takes no more is heard.
func TestRefusedWrite(t *testing.T) {
	for said, want := range map[string]string{"-ERR max number of clients reached\r\n": "ERR max number of clients reached", "+OK\r\n": "", "": ""} {
		var last lastError
		s := socket{deaf{said: strings.NewReader(said)}, &last}
		if _, err := s.Write([]byte("PING\r\n")); err != io.ErrClosedPipe || last.text() != want {
			t.Errorf("%q: %v, %q", said, err, last.text())
		}
	}
}

// deaf is a connection that takes nothing.
type deaf struct {
	net.Conn
	said io.Reader
}

func (d deaf) Read(b []byte) (int, error)    { return d.said.Read(b) }
func (deaf) Write([]byte) (int, error)       { return 0, io.ErrClosedPipe }
func (deaf) SetReadDeadline(time.Time) error { return nil }

// A backup that the server refuses touches no file.
func TestRefusedBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(path+partSuffix, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	busy := fake(t, func(command string) string {
		if command == "DQBACKUP" {
			return "-BUSY another connection has a backup at work"
		}
		return ""
	})
	if code := Backup(append(busy, path), io.Discard, &errs); code != exitFail || !strings.Contains(errs.String(), "BUSY another connection") {
		t.Errorf("%d %s", code, errs.String())
	}
	if b, err := os.ReadFile(path + partSuffix); err != nil || string(b) != "another's" {
		t.Errorf("a refused backup leaves %q (%v)", b, err)
	}
}

// A server that stands still does not keep top from ending.
func TestTopEndsWithoutAnAnswer(t *testing.T) {
	asked := make(chan bool, 1)
	flags := fake(t, func(command string) string {
		if command == "INFO" {
			asked <- true
			<-t.Context().Done()
		}
		return ""
	})
	var s server
	if _, err := parse(s.flags(), flags, "top", 0, 0); err != nil {
		t.Fatal(err)
	}
	ctx, quit := context.WithCancel(t.Context())
	c, err := s.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.live(ctx, c, io.Discard) }()
	<-asked
	quit()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the answer")
	}
}

// A Redis is told from a dqd.
func TestNoDqd(t *testing.T) {
	c := &conn{server: &server{host: "127.0.0.1", port: 6379}}
	got := c.explain(t.Context(), redisError("ERR unknown command 'DQBACKUP', with args beginning with: '0' "))
	if want := "the server at 127.0.0.1:6379 does not know DQBACKUP, so it is a Redis, or an older dqd: say where yours is by --host and --port"; got.Error() != want {
		t.Errorf("%v, want %s", got, want)
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
