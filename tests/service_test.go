package tests

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

// What a service manager hears: READY=1 once the server serves, signs of life while it
// does, STOPPING=1 at its end; and nothing of a server that does not start.
func TestServiceManager(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	hear := func() string {
		t.Helper()
		manager.SetReadDeadline(time.Now().Add(dqdtest.Deadline))
		b := make([]byte, 1000)
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	env := []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=300000"}
	server := dqdtest.Start(t, dqdtest.Options{Env: env})
	if got, want := hear(), "READY=1\nSTATUS=serves clients on "+server.Addr; got != want {
		t.Errorf("hears %q, want %q", got, want)
	}
	if status, _ := get(t, "http://"+server.HTTP+"/readyz"); status != http.StatusOK {
		t.Errorf("said to be ready, and /readyz answers %d", status)
	}
	for range 3 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Errorf("hears %q, want a sign of life", got)
		}
	}

	second := exec.Command(dqdtest.Binary(t), "serve", "--port", "0", "--http-port", "0", "--dir", server.Dir)
	second.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
	if err := second.Run(); err == nil {
		t.Error("a second process served the same folder")
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	for got := hear(); got != "STOPPING=1"; got = hear() {
		if got != "WATCHDOG=1" {
			t.Errorf("hears %q before the end", got)
		}
	}
	manager.SetReadDeadline(time.Now())
	if n, err := manager.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("hears %d more bytes after the end, %v", n, err)
	}
}

// Who opens an address to other machines and sets no password is told at the start, in
// one line of the log, that these are refused, and what to do.
func TestOpenWithoutAPassword(t *testing.T) {
	const warning = "there is no password: protected mode refuses every client that does not come over loopback; set DQD_REQUIREPASS, or --protected-mode no where the network is trusted"
	for _, bind := range []string{"*", "0.0.0.0", "127.0.0.1"} {
		text := dqdtest.Start(t, dqdtest.Options{Args: []string{"--bind", bind}}).Log()
		want := 1
		if bind == "127.0.0.1" {
			want = 0
		}
		if strings.Count(text, `level=WARN msg="`+warning+`"`) != want || strings.Count(text, warning) != want {
			t.Errorf("--bind %s: %q is not there %d times:\n%s", bind, warning, want, text)
		}
	}
}

// nobody is a user who owns nothing.
const nobody = 65534

// What keeps the server from starting is said in the last line, with what to do, and
// the exit code tells whose fault it is.
func TestStartIsRefusedWithARemedy(t *testing.T) {
	running := dqdtest.Start(t, dqdtest.Options{})
	_, port, _ := strings.Cut(running.Addr, ":")
	_, httpPort, _ := strings.Cut(running.HTTP, ":")
	folder := func(content ...string) string {
		dir := filepath.Join(t.TempDir(), "data")
		for _, name := range content {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	damaged := func(remove string) string {
		old := dqdtest.Start(t, dqdtest.Options{})
		if err := errors.Join(old.Stop(), os.RemoveAll(filepath.Join(old.Dir, remove))); err != nil {
			t.Fatal(err)
		}
		return old.Dir
	}
	tests := []struct {
		name  string
		args  []string
		files int // limit of open files; 0 = this process's
		code  int
		want  []string
	}{
		{"port in use", []string{"--port", port, "--dir", folder()}, 0, 1,
			[]string{"127.0.0.1:" + port + " is in use by another program: stop it, or choose another port with --port"}},
		{"port for probes in use", []string{"--http-port", httpPort, "--dir", folder()}, 0, 1,
			[]string{"127.0.0.1:" + httpPort + " is in use by another program", "--http-port"}},
		{"no such address", []string{"--bind", "192.0.2.1", "--protected-mode", "no", "--dir", folder()}, 0, 1,
			[]string{"192.0.2.1:0 is no address of this machine: choose another with --bind"}},
		{"folder in use", []string{"--dir", running.Dir}, 0, 1,
			[]string{"the folder " + running.Dir + " is in use by another dqd: stop it, or choose another folder with --dir"}},
		{"folder is a file", []string{"--dir", filepath.Join(folder("file"), "file")}, 0, 1,
			[]string{"not a directory: choose a folder with --dir"}},
		{"folder of something else", []string{"--dir", folder("photo.jpg")}, 0, 1,
			[]string{"it is no folder of dqd and not empty; use an empty folder, or one of dqd"}},
		{"log lost", []string{"--dir", damaged("log")}, 0, 1,
			[]string{"/log: the store is missing; restore the whole data folder from a backup"}},
		{"state lost", []string{"--dir", damaged("shard-0/state")}, 0, 1,
			[]string{"/shard-0/state: the store is missing; restore the whole folder from a backup"}},
		{"few open files", []string{"--dir", folder()}, 255, 1,
			[]string{"the limit of open files is 255: 256 are needed at least; raise it with ulimit -n, or LimitNOFILE in a unit of systemd"}},
		{"wrong setting", []string{"--prot", "1"}, 0, 2,
			[]string{`unknown flag --prot, did you mean --port?`}},
		{"nobody is served", []string{"--bind", "192.0.2.1", "--dir", folder()}, 0, 2,
			[]string{"--bind 192.0.2.1: nobody would be served"}},
		{"wrong value", []string{"--port", "66000"}, 0, 2,
			[]string{"--port 66000: write a number from 0 to 65535"}},
	}
	if disk := smallDisk(t, 4096); disk != "" {
		tests = append(tests, tests[0])
		row := &tests[len(tests)-1]
		row.name, row.args, row.code, row.want = "disk full", []string{"--dir", filepath.Join(disk, "data")}, 70, []string{"is full: make room, then start again"}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			refuses(t, test.args, test.files, 0, test.code, test.want...)
		})
	}
	// Root may do what others may not, so another user is who starts the server, on a
	// folder that is not his, and on one that is nobody's to write.
	if os.Getuid() == 0 {
		for name, dir := range map[string]string{"folder of another user": damaged("LOCK"), "folder that cannot be made": "/dqd-of-nobody"} {
			t.Run(name, func(t *testing.T) {
				for path := dir; path != "/tmp" && path != "/"; path = filepath.Dir(path) {
					os.Chmod(path, 0o755) // the way to it is open
				}
				refuses(t, []string{"--dir", dir}, 0, nobody, 1, dir, "the folder and what is in it must belong to this user; choose another with --dir")
			})
		}
	}
}

// refuses starts the server, with a limit of open files and as a user, if they are not
// 0, and wants it to end with the code and to say in its last line why.
func refuses(t *testing.T, args []string, files, user, code int, want ...string) {
	t.Helper()
	binary := dqdtest.Binary(t)
	args = append([]string{"serve", "--port", "0", "--http-port", "0"}, args...)
	cmd := exec.Command(binary, args...)
	if files > 0 {
		cmd = exec.Command("/bin/sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, fmt.Sprint(files), binary}, args...)...)
	}
	if user > 0 {
		if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("ends with %v, want code %d", err, code)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := lines[len(lines)-1]
	for _, w := range append(want, "dqd: ") {
		if !strings.Contains(last, w) {
			t.Errorf("the last line is %q, want %q", last, w)
		}
	}
	if strings.Contains(stderr.String(), "goroutine ") || strings.Contains(stdout.String(), "ready ") {
		t.Errorf("it says\n%s%s", stdout.String(), stderr.String())
	}
}
