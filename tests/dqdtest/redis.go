package dqdtest

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
)

// StartRedis starts a real redis-server that keeps nothing, and returns its
// address. It ends with the test.
func StartRedis(t testing.TB, args ...string) (addr string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed: ./test.sh installs it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	log := &logBuffer{changed: make(chan struct{}, 1)}
	cmd := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := StartOnKeptThread(cmd); err != nil {
		t.Fatalf("start redis-server: %v", err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	err = WaitFor(Deadline, func() error {
		c, err := Dial(addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if v, err := c.Do("PING"); err != nil || v.Text == "" {
			return fmt.Errorf("PING: %v %v", v, err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("start redis-server: %v\n%s", err, log.tail(20))
	}
	return addr
}
