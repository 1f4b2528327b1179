package server

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rawWriter writes to a socket without ever waiting for it.
type rawWriter struct {
	conn syscall.RawConn
	once func(fd uintptr) bool // made once: a closure per write would be garbage
	buf  []byte
	n    int
	err  error

	// What hungUp needs is apart: it may run beside a write.
	look func(fd uintptr)
	poll [1]unix.PollFd
	hung bool
}

// newRawWriter returns nil if the connection has no descriptor.
func newRawWriter(sc syscall.Conn) *rawWriter {
	conn, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	w := &rawWriter{conn: conn}
	w.once = func(fd uintptr) bool {
		for {
			w.n, w.err = syscall.Write(int(fd), w.buf)
			if w.err != syscall.EINTR {
				return true // never wait for the socket, whatever came out
			}
		}
	}
	w.look = func(fd uintptr) {
		w.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
		n, err := unix.Poll(w.poll[:], 0)
		w.hung = err == nil && n > 0
	}
	return w
}

// hungUp reports that the peer has closed its sending side, or all, or that this side
// is closed, whatever is still to be read. One goroutine at a time may call it; a nil
// writer knows nothing.
func (w *rawWriter) hungUp() bool {
	return w != nil && (w.conn.Control(w.look) != nil || w.hung)
}

// write returns how much the kernel took; a full socket is no error.
func (w *rawWriter) write(b []byte) (int, error) {
	w.buf, w.n, w.err = b, 0, nil
	err := w.conn.Write(w.once)
	w.buf = nil
	switch {
	case err != nil:
		return 0, err
	case w.err == syscall.EAGAIN:
		return 0, nil
	case w.err != nil:
		return 0, w.err
	}
	return w.n, nil
}

// tuneSocket makes a silent or vanished peer known within about twice keepAlive.
func tuneSocket(nc net.Conn, keepAlive time.Duration) {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	tc.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive / 3, Count: 3})
	if conn, err := tc.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(keepAlive.Milliseconds()))
		})
	}
}
