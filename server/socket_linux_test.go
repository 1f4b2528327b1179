package server

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A peer that falls silent is noticed (F12): by probes when nothing is under way, by the
// time that what was sent may stay unacknowledged when something is.
func TestSilentPeersAreNoticed(t *testing.T) {
	r := newRig(t, Options{KeepAlive: 12 * time.Second}, true)
	r.client().ask("PING", "+PONG\r\n")
	raw, err := r.connections()[0].nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		for _, o := range []struct{ level, option, want int }{
			{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 12},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 4},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
			{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 12000},
		} {
			if got, err := unix.GetsockoptInt(int(fd), o.level, o.option); err != nil || got != o.want {
				t.Errorf("option %d is %d (%v), want %d", o.option, got, err, o.want)
			}
		}
	})
}
