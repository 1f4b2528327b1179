//go:build !linux

package server

import (
	"net"
	"syscall"
	"time"
)

// rawWriter is for Linux; elsewhere every write goes through a writer goroutine.
type rawWriter struct{}

func newRawWriter(syscall.Conn) *rawWriter { return nil }

func (*rawWriter) write([]byte) (int, error) { return 0, nil }

func (*rawWriter) hungUp() bool { return false }

func tuneSocket(nc net.Conn, keepAlive time.Duration) {
	if tc, ok := nc.(*net.TCPConn); ok {
		tc.SetKeepAlivePeriod(keepAlive)
	}
}
