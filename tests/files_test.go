package tests

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"dqd/tests/dqdtest"
)

// With few open files the server takes fewer clients, and says so. However many
// connect to either port, the files that the stores need stay free: jobs are
// added, a restart finds them, and when the strangers leave all is as before (F18).
func TestFewOpenFiles(t *testing.T) {
	const files, clients = 1100, 550 // the other half is for the stores
	server := dqdtest.Start(t, dqdtest.Options{OpenFiles: files})
	good := server.Dial()
	if v, err := good.Must("CONFIG", "GET", "maxclients"); err != nil || len(v.Items) != 2 || v.Items[1].Text != fmt.Sprint(clients) {
		t.Errorf("CONFIG GET maxclients: %v %v, want %d", v, err, clients)
	}
	if !strings.Contains(server.Log(), "maxclients is lowered to what the limit of open files allows") {
		t.Errorf("the log does not say that maxclients is lowered:\n%s", server.Log())
	}
	rest := use(t, server)
	producer := server.Dial()
	open := crowd(t, server, clients-2, "PING\r\n")
	open.expect(t, "+PONG\r\n")
	var strangers []net.Conn
	for _, addr := range []string{server.Addr, server.HTTP} {
		for range files {
			c, err := dqdtest.Dial(addr)
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, c)
		}
	}
	if list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.Pid())); err != nil || len(list) > files-256 {
		t.Errorf("the process has %d files open, %v", len(list), err)
	}
	payload := strings.Repeat("x", 1<<20)
	for n := range 100 { // more than one file of the log
		if _, err := producer.Must("DQADD", "q", fmt.Sprint(n), payload, "DELAY", "1h"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range strangers {
		c.Close()
	}
	open.leave()
	producer.Close()
	returns(t, server, rest)
	if n := metric(t, server, "dqd_accept_errors_total"); n != 0 {
		t.Errorf("%v accepts failed", n)
	}
	server.Kill()
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if v, err := server.Dial().Must("DQLEN", "q"); err != nil || v.Int() != 100 {
		t.Errorf("DQLEN after a restart: %v %v", v, err)
	}
}

// limitFiles sets how many files a running process may have open.
func limitFiles(t *testing.T, pid int, n uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: n, Max: 1000} // the hard one cannot be raised again
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

func filesOpen(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A server without a file descriptor left takes no new connections and serves the
// ones that it has; with descriptors again it takes new ones. Where the stores need
// one that is not there the process stops, with the reason, and loses nothing.
func TestFileDescriptorsUsedUp(t *testing.T) {
	// A small disk, if there is one, has no room to prepare log files beforehand,
	// which takes descriptors shortly after the start.
	dir := ""
	if disk := smallDisk(t, 512<<20); disk != "" {
		dir = filepath.Join(disk, "data")
	}
	server := dqdtest.Start(t, dqdtest.Options{Dir: dir, Args: []string{"--min-disk-free", "off"}})
	c := server.Dial()
	add := func(id, payload string) error {
		_, err := c.Must("DQADD", "q", id, payload)
		return err
	}
	if err := add("a", "x"); err != nil {
		t.Fatal(err)
	}
	limitFiles(t, server.Pid(), uint64(filesOpen(t, server.Pid())))
	waiting, err := net.DialTimeout("tcp", server.Addr, dqdtest.Deadline) // the system takes it, dqd does not
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		v, err := c.Must("INFO", "stats")
		if err == nil && strings.Contains(v.Text, "accept_errors:0\r") {
			err = fmt.Errorf("no accept has failed")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := add("b", "x"); err != nil {
		t.Fatalf("a client that is connected is not served: %v", err)
	}

	// Descriptors come back: so does the client that waited.
	limitFiles(t, server.Pid(), 1000)
	waiting.SetDeadline(time.Now().Add(dqdtest.Deadline))
	if _, err := waiting.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 7)
	if _, err := waiting.Read(answer); err != nil || string(answer) != "+PONG\r\n" {
		t.Errorf("%q %v", answer, err)
	}

	// Without one the log cannot be switched to a new file.
	limitFiles(t, server.Pid(), uint64(filesOpen(t, server.Pid())))
	payload, acked := strings.Repeat("x", 100_000), 0
	for ; acked < 1000; acked++ {
		if add(fmt.Sprint("job-", acked), payload) != nil {
			break
		}
	}
	if acked < 1000 {
		if !server.EndsBySelf() {
			t.Fatal("it neither answers nor ends")
		}
		if log := server.Log(); !strings.Contains(log, "fatal storage error") || !strings.Contains(log, "too many open files") || strings.Contains(log, "goroutine ") {
			t.Errorf("it does not say why it ended:\n%s", log)
		}
	} else {
		server.Kill()
	}
	t.Logf("%d jobs were acknowledged", acked)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if v, err := server.Dial().Must("DQLEN", "q"); err != nil || int(v.Int()) < acked+2 || int(v.Int()) > acked+3 {
		t.Errorf("%d jobs of %d are there: %v", v.Int(), acked+2, err)
	}
}
