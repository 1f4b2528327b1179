package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

const password = "correct-horse"

// hostile is a packet that no well-behaved client sends.
type hostile struct {
	name string
	send []byte
	// want is the whole answer after AUTH, and wantBefore before; empty = as want.
	want, wantBefore string
	// stays: the connection is not closed, and answers PING with +PONG.
	stays bool
	// asRedis: redis-server answers byte for byte the same, before and after AUTH.
	asRedis bool
}

func corpus() []hostile {
	const (
		bulk      = "-ERR Protocol error: invalid bulk length\r\n"
		multibulk = "-ERR Protocol error: invalid multibulk length\r\n"
		inline    = "-ERR Protocol error: too big inline request\r\n"
		quotes    = "-ERR Protocol error: unbalanced quotes in request\r\n"
	)
	h := func(name, send, want string) hostile {
		return hostile{name: name, send: []byte(send), want: want, asRedis: true}
	}
	list := []hostile{
		// The first two end a bare redcon, and the process with it.
		h("a length that overflows", "*1\r\n$9223372036854775807\r\n", bulk),
		h("a length that nearly overflows", "*1\r\n$9223372036854775800\r\n", bulk),
		h("a length beyond int64", "*1\r\n$92233720368547758070\r\n", bulk),
		h("a count beyond int32", "*4611686018427387904\r\n", multibulk),
		h("a count beyond int64", "*92233720368547758070\r\n", multibulk),
		h("four gigabytes announced", "*1\r\n$4000000000\r\n", bulk),
		h("a negative length", "*1\r\n$-1\r\n", bulk),
		h("a very negative length", "*1\r\n$-9223372036854775808\r\n", bulk),
		h("a length with a plus", "*1\r\n$+4\r\nPING\r\n", bulk),
		h("a length of minus zero", "*1\r\n$-0\r\n\r\n", bulk),
		h("a length with a zero in front", "*1\r\n$04\r\nPING\r\n", bulk),
		h("a length that is none", "*1\r\n$four\r\n", bulk),
		h("an empty length", "*1\r\n$\r\n", bulk),
		h("a count with a plus", "*+1\r\n$4\r\nPING\r\n", multibulk),
		h("a count that is none", "*one\r\n", multibulk),
		h("a count with a blank", "* 1\r\n", multibulk),
		h("a number for a string", "*1\r\n:5\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"),
		h("a list in a list", "*1\r\n*1\r\n$4\r\nPING\r\n", "-ERR Protocol error: expected '$', got '*'\r\n"),
		h("a zero byte for a string", "*1\r\n\x00\r\n", "-ERR Protocol error: expected '$', got '\x00'\r\n"),
		h("unbalanced quotes", "PING \"abc\r\n", quotes),
		h("unbalanced single quotes", "PING 'abc\r\n", quotes),
		h("a quote that ends inside a word", "PING \"a\"b\r\n", quotes),
		h("an endless line", strings.Repeat("x", 70<<10), inline),
		// Redis lets a billion pass and waits for them.
		{name: "a billion arguments", send: []byte("*1000000000\r\n"), want: multibulk},
		{name: "one argument too many", send: []byte("*65537\r\n"), want: multibulk},
		{name: "one byte too many", send: []byte("*1\r\n$16777217\r\n"), want: bulk, wantBefore: "-ERR Protocol error: unauthenticated bulk length\r\n"},
		// Drivers send these; both say nothing.
		{name: "no arguments", send: []byte("*0\r\n*-1\r\n*-10\r\n\r\n \r\n"), stays: true},
		// A browser that was sent here.
		{name: "HTTP POST", send: []byte("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nDQADD q a x\r\n")},
		{name: "HTTP GET", send: []byte("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")},
		{name: "HTTP host", send: []byte("Host: 127.0.0.1\r\nDQADD q a x\r\n")},
	}
	for i := range list {
		if list[i].name == "a zero byte for a string" {
			// Redis shows the byte as it is; how it is shown is free.
			list[i].asRedis, list[i].want = false, ""
		}
	}
	return list
}

// Each hostile packet, before and after AUTH: Redis's own error text, the
// connection is closed, the process lives and serves others.
func TestHostilePackets(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	good := server.Dial()
	for _, h := range corpus() {
		for _, authenticated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, AUTH %v", h.name, authenticated), func(t *testing.T) {
				got, closed := exchange(t, server.Addr, authenticated, h)
				want := h.want
				if !authenticated && h.wantBefore != "" {
					want = h.wantBefore
				}
				switch {
				case h.stays:
					if closed {
						t.Errorf("the connection was closed, after %q", got)
					}
				case !closed:
					t.Errorf("the connection was not closed, after %q", got)
				case want != "" && got != want:
					t.Errorf("answers %q, want %q", got, want)
				case want == "" && strings.Contains(got, "$1\r\na\r\n"):
					t.Errorf("a command behind the packet was run: %q", got)
				}
				if v, err := good.Do("PING"); err != nil || v.Text != "PONG" {
					t.Fatalf("another client's PING: %v %v", v, err)
				}
			})
		}
	}
	if v, err := good.Do("DQLEN", "q"); err != nil || v.Int() != 0 {
		t.Errorf("a command inside a hostile packet was run: %v %v", v, err)
	}
}

// redis-server answers the same to the same packets.
func TestHostilePacketsAreAnsweredAsByRedis(t *testing.T) {
	redis := dqdtest.StartRedis(t, "--requirepass", password)
	for _, h := range corpus() {
		if !h.asRedis {
			continue
		}
		for _, authenticated := range []bool{false, true} {
			got, closed := exchange(t, redis, authenticated, h)
			if got != h.want || !closed {
				t.Errorf("%s, AUTH %v: redis-server answers %q, closed %v; this file says %q", h.name, authenticated, got, closed, h.want)
			}
		}
	}
}

// exchange sends a packet on a connection of its own and returns everything
// that comes back, and whether the server ended the connection.
func exchange(t *testing.T, addr string, authenticated bool, h hostile) (got string, closed bool) {
	t.Helper()
	c, err := dqdtest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if authenticated {
		if v, err := c.Do("AUTH", password); err != nil || v.Text != "OK" {
			t.Fatalf("AUTH: %v %v", v, err)
		}
	}
	c.Raw(h.send) // the server may close before it has read everything
	if h.stays {
		c.Raw([]byte("PING\r\n"))
		v, err := c.Receive(dqdtest.Deadline)
		return v.Text, err != nil
	}
	return readAll(c)
}

// readAll reads until the server ends the connection, or the deadline.
func readAll(c net.Conn) (got string, closed bool) {
	c.SetReadDeadline(time.Now().Add(dqdtest.Deadline))
	var b bytes.Buffer
	_, err := io.Copy(&b, c)
	return b.String(), !errors.Is(err, os.ErrDeadlineExceeded)
}

// A thousand clients before AUTH that announce much and send little, and a
// stranger's noise: memory stays bounded, the process lives.
func TestHostileClientsStayBounded(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password, Env: collected})
	good := server.Dial()
	before := rss(t, server)
	var conns []net.Conn
	for range 1000 {
		c, err := dqdtest.Dial(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Raw([]byte("*10\r\n$16384\r\n" + strings.Repeat("x", 8<<10)))
		conns = append(conns, c)
	}
	if v, err := good.Do("PING"); err != nil || v.Text != "PONG" {
		t.Fatalf("PING beside a thousand clients: %v %v", v, err)
	}
	grownAtMost(t, server, before, 64<<20)
	for _, c := range conns {
		c.Close()
	}

	random := newRandom(t)
	for range 300 {
		c, err := dqdtest.Dial(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Raw(noise(random))
		c.Close()
	}
	if v, err := good.Do("PING"); err != nil || v.Text != "PONG" {
		t.Fatalf("PING after noise: %v %v\n%s", v, err, server.Log())
	}
	grownAtMost(t, server, before, 96<<20)
}

// noise is a packet of pieces that nearly make sense.
func noise(r *rand.Rand) []byte {
	pieces := []string{
		"*1\r\n", "*2\r\n", "*3\r\n", "$4\r\n", "$0\r\n", "$-1\r\n", "PING", "\r\n", "\n", "\r", "*", "$", ":", "+", "-",
		"DQADD", "AUTH", "HELLO", " ", "\x00", "\xff", "9223372036854775807", "\"", "'", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	}
	var b []byte
	for range 1 + r.IntN(60) {
		if r.IntN(10) == 0 {
			for range r.IntN(200) {
				b = append(b, byte(r.Uint32()))
			}
		}
		b = append(b, pieces[r.IntN(len(pieces))]...)
	}
	return b
}

// Seventy kilobytes of commands that ask for 4 GiB of answers, which are never
// read: what one client can make the server hold is bounded, others are served.
func TestUnreadAnswersStayBounded(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Env: collected})
	good := server.Dial()
	if _, err := good.Must("DQADD", "q", "a", strings.Repeat("x", 1<<20), "DELAY", "1h"); err != nil {
		t.Fatal(err)
	}
	before := rss(t, server)
	greedy := server.Dial()
	var packet []byte
	for range 4000 {
		packet = append(packet, "DQGET q a payload\r\n"...)
	}
	if err := greedy.Raw(packet); err != nil {
		t.Fatal(err)
	}
	// It is served as far as its buffers go, then closed: 32 MiB, or 10 s.
	var most int64
	err := dqdtest.WaitFor(2*dqdtest.Deadline, func() error {
		most = max(most, rss(t, server))
		if v, err := good.Do("PING"); err != nil || v.Text != "PONG" {
			return dqdtest.Stop(fmt.Errorf("another client's PING: %v %v", v, err))
		}
		v, err := good.Must("CLIENT", "LIST")
		if err != nil {
			return dqdtest.Stop(err)
		}
		if strings.Contains(v.Text, "addr="+greedy.LocalAddr().String()+" ") {
			return errors.New("the client that does not read is still connected")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// 32 MiB of output, twice for a buffer that grows by copying, the answers of
	// one batch, and what the garbage collector has not looked at yet.
	if grown := most - before; grown > 256<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// A million bytes of pipelined PING, and a pattern made to take for ever.
func TestFloodsAreServed(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Env: collected})
	before := rss(t, server)
	c := server.Dial()
	const n = 100_000
	sent := make(chan error, 1)
	go func() { sent <- c.Raw(bytes.Repeat([]byte("*1\r\n$4\r\nPING\r\n"), n)) }()
	for i := range n {
		if v, err := c.Receive(dqdtest.Deadline); err != nil || v.Text != "PONG" {
			t.Fatalf("answer %d of %d: %v %v", i, n, v, err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, err := c.Must("CONFIG", "GET", strings.Repeat("*a", 50_000)); err != nil {
		var refused *dqdtest.ReplyError
		if !errors.As(err, &refused) {
			t.Errorf("CONFIG GET with a hostile pattern: %v", err)
		}
	}
	if v, err := c.Do("ECHO", "x"); err != nil || v.Text != "x" {
		t.Errorf("ECHO: %v %v", v, err)
	}
	// What a client sends comes back in an error on one line: no forged replies.
	v, err := c.Do("NO\r\n+FORGED\r\nSUCH", "a\r\n+FORGED\r\n")
	if err != nil || !strings.HasPrefix(v.Text, "ERR unknown command") {
		t.Errorf("%v %v", v, err)
	}
	if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
		t.Errorf("PING after a forged line: %v %v", v, err)
	}
	grownAtMost(t, server, before, 64<<20)
}

// The password is never shown.
func TestThePasswordIsNeverShown(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	c := server.Dial()
	for _, command := range [][]string{
		{"AUTH", "wrong-" + password}, {"HELLO", "3", "AUTH", "default", password}, {"CONFIG", "GET", "*"}, {"CONFIG", "GET", "requirepass"},
		{"INFO"}, {"CLIENT", "LIST"}, {"AUTH", "default", password, password},
	} {
		v, err := c.Do(command...)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v", v); strings.Contains(text, password) {
			t.Errorf("%s shows the password: %s", command[0], text)
		}
	}
	if strings.Contains(server.Log(), password) {
		t.Errorf("the log shows the password:\n%s", server.Log())
	}
	if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server.Pid())); err != nil || bytes.Contains(cmdline, []byte(password)) {
		t.Errorf("the command line shows the password: %q %v", cmdline, err)
	}
}

// collected makes a server collect its garbage often, so that its memory is what it holds:
// by itself it waits until that is 256 MiB.
var collected = []string{"GOGC=100"}

func rss(t *testing.T, s *dqdtest.Server) int64 {
	t.Helper()
	n, err := s.RSS()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func grownAtMost(t *testing.T, s *dqdtest.Server, before, limit int64) {
	t.Helper()
	if grown := rss(t, s) - before; grown > limit {
		t.Errorf("memory grew by %d MiB, more than %d", grown>>20, limit>>20)
	}
}
