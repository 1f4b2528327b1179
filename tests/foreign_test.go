package tests

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// Without a password a client from another address is refused, in whatever way
// the server listens; loopback is served. With a password, or where the
// protection is switched off, all are served.
func TestProtectedModeFromAForeignAddress(t *testing.T) {
	foreign := foreignAddress(t)
	for _, bind := range []string{"127.0.0.1 " + foreign, "0.0.0.0"} {
		t.Run(bind, func(t *testing.T) {
			server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--bind", bind}})
			if err := refusedFrom(foreign, server.Addr); err != nil {
				t.Error(err)
			}
			if n, err := server.Metric(`dqd_connections_rejected_total{reason="protected-mode"}`); n != 1 || err != nil {
				t.Errorf("the metrics count %v refusals, %v", n, err)
			}
			local := server.Dial()
			if v, err := local.Do("DQLEN", "q"); err != nil || v.Text != "0" {
				t.Errorf("DQLEN from loopback: %v %v; a command of a refused client must not run", v, err)
			}
		})
	}
	t.Run("requirepass", func(t *testing.T) {
		server := dqdtest.Start(t, dqdtest.Options{Password: password, Args: []string{"--bind", "127.0.0.1 " + foreign}})
		c := dialFrom(t, foreign, server.Addr)
		for _, step := range []struct{ command, want string }{{"DQLEN q", "NOAUTH Authentication required."}, {"AUTH " + password, "OK"}, {"DQLEN q", "0"}} {
			if v, err := c.Do(strings.Fields(step.command)...); err != nil || v.Text != step.want {
				t.Errorf("%s from %s: %v %v, want %s", step.command, foreign, v, err, step.want)
			}
		}
	})
	t.Run("protected-mode no", func(t *testing.T) {
		server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--bind", "127.0.0.1 " + foreign, "--protected-mode", "no"}})
		if v, err := dialFrom(t, foreign, server.Addr).Do("PING"); err != nil || v.Text != "PONG" {
			t.Errorf("PING from %s: %v %v", foreign, v, err)
		}
		if err := refusedFrom(foreign, server.Addr); err == nil { // the proof that the check above can fail
			t.Error("a server without protection passes for one with it")
		}
	})
}

// redis-server refuses in the same way.
func TestProtectedModeIsThatOfRedis(t *testing.T) {
	foreign := foreignAddress(t)
	redis := dqdtest.StartRedis(t, "--bind", "127.0.0.1", foreign)
	if err := refusedFrom(foreign, redis); err != nil {
		t.Error(err)
	}
}

// refusedFrom connects to the port of addr from a foreign address and returns an
// error unless it is told why it is not served, and nothing else.
func refusedFrom(foreign, addr string) error {
	_, port, _ := net.SplitHostPort(addr)
	c, err := dqdtest.Dial(net.JoinHostPort(foreign, port))
	if err != nil {
		return err
	}
	defer c.Close()
	// Who is refused is not read. A server that serves answers both, and closes.
	c.Send("DQADD", "q", "a", "x")
	c.Send("QUIT")
	got, closed := readAll(c)
	switch {
	case !closed:
		return fmt.Errorf("the connection from %s stays open, after %q", foreign, got)
	case !strings.HasPrefix(got, "-DENIED ") || !strings.Contains(got, " is running in protected mode because "),
		!strings.Contains(got, "In this mode connections are only accepted from the loopback interface."):
		return fmt.Errorf("a client from %s is told %q", foreign, got)
	case strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\r\n"):
		return fmt.Errorf("a client from %s gets more than one line: %q", foreign, got)
	}
	return nil
}

// dialFrom connects to the port of addr at a foreign address, and so from it.
func dialFrom(t *testing.T, foreign, addr string) *dqdtest.Client {
	t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	c, err := dqdtest.Dial(net.JoinHostPort(foreign, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.LocalAddr().(*net.TCPAddr).IP.IsLoopback() {
		t.Fatalf("connected from %v, which is loopback: this proves nothing", c.LocalAddr())
	}
	return c
}

// foreignAddress returns an IPv4 address of this machine that is not loopback. A
// machine without one gets one until the test ends.
func foreignAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	const made = "10.123.0.1"
	run := func(verb string) error {
		out, err := exec.Command("ip", "address", verb, made+"/32", "dev", "lo").CombinedOutput()
		return errors.Join(err, errorText(out))
	}
	if err := run("add"); err != nil {
		t.Fatalf("this machine has no IPv4 address but loopback, and none could be added; run \"ip address add %s/32 dev lo\" as root: %v", made, err)
	}
	t.Cleanup(func() {
		if err := run("del"); err != nil {
			t.Errorf("remove %s: %v", made, err)
		}
	})
	return made
}

func errorText(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return errors.New(strings.TrimSpace(string(b)))
}
