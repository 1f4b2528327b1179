package tests

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// With few open files the server takes fewer clients, and says so. However many
// connect to either port, the files that the stores need stay free: jobs are
// added, a restart finds them, and when the strangers leave all is as before (F18).
func TestFewOpenFiles(t *testing.T) {
	const files, clients = 1100, 1100 - 1024
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
	if list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.Pid())); err != nil || len(list) > files-512 {
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
