package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A client is closed, and counted, for one byte of unread output more than the
// bound, not before; a string counts with 32 bytes for its header.
func TestOutputBufferLimit(t *testing.T) {
	const bound = 4000
	for _, over := range []int{-1, 0, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{OutputBuffer: bound}, false)
			c := r.client()
			text := strings.Repeat("x", bound+over-32)
			c.sends(respCommand("ECHO", text))
			synctest.Wait()
			closed := r.counters.closed[closedOutput].Load()
			if over > 0 {
				if got := c.expectClosed(); got != "" || closed != 1 {
					t.Errorf("%d bytes: %d were written, %d clients counted", bound+over, len(got), closed)
				}
				return
			}
			if closed != 0 {
				t.Errorf("%d bytes: closed", bound+over)
			}
			c.expect(fmt.Sprintf("$%d\r\n%s\r\n", len(text), text))
		})
	}
}

// The buffers of all clients together may reach their bound; one byte more closes
// the largest.
func TestClientBuffersLimit(t *testing.T) {
	for _, over := range []int64{-1, 0, 1} {
		b := newBudget()
		b.limit.Store(1 << 20)
		b.add(1 << 19)
		b.add(1<<19 + over)
		if asked := len(b.over) == 1; asked != (over > 0) {
			t.Errorf("%d bytes beyond: a client is closed: %v", over, asked)
		}
	}
}

// One connection for probes more than the bound is closed; when one leaves there
// is room again.
func TestHTTPConnectionsLimit(t *testing.T) {
	r := newRig(t, Options{}, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := r.HTTP()
	defer web.Close()
	go web.Serve(l)
	probe := func() *client {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		c := &client{nc, t, bufio.NewReader(nc)}
		c.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		return c
	}
	answered := func(c *client) bool {
		c.SetReadDeadline(time.Now().Add(patience))
		response, err := http.ReadResponse(c.r, nil)
		return err == nil && response.StatusCode == http.StatusOK
	}
	var kept []*client
	for n := range httpConnections {
		c := probe()
		if !answered(c) {
			t.Fatalf("connection %d of %d was not answered", n+1, httpConnections)
		}
		kept = append(kept, c)
	}
	for range 3 {
		if answered(probe()) {
			t.Errorf("connection %d was answered", httpConnections+1)
		}
	}
	kept[0].Close()
	until(t, "room", func() bool { return answered(probe()) })
}
