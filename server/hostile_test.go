package server

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
)

// Each hostile input gets Redis's text, its connection is closed, and the process
// answers PING afterwards.
func TestHostileCorpus(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		for _, c := range []struct{ in, want string }{
			{"*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1\r\n$9223372036854775800\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1000000000\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
			{"*4611686018427387904\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
			{"*2147483647\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
			{"*65537\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
			{"*1\r\n$4000000000\r\n" + strings.Repeat("x", 1<<20), "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1\r\n$16777217\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1\r\n$+3\r\nabc\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1\r\n$-0\r\n\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
			{"*1\r\nPING\r\n", "-ERR Protocol error: expected '$', got 'P'\r\n"},
			{strings.Repeat("a", 70_000), "-ERR Protocol error: too big inline request\r\n"},
			{"set \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
			{"PING\r\n*1\r\n$x\r\nPING\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n"},
			{"*0\r\n*-1\r\n\r\n\nPING\r\n*x\r\n", "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"},
			{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ""},
			{"POST / HTTP/1.1\r\n\r\nDQADD q a x\r\n", ""},
			{"Host: localhost\r\n", ""},
		} {
			bad := r.client()
			bad.sends(c.in)
			if got := bad.expectClosed(); got != c.want {
				r.t.Errorf("%.40q: %q, want %q", c.in, got, c.want)
			}
			good := r.client()
			good.ask("PING", "+PONG\r\n")
			good.Close()
		}
		if n := r.counters.closed[closedHTTP].Load(); n != 3 {
			r.t.Error("http:", n)
		}
	})
}

// An error text carries what a client sent, but no line of its own.
func TestNoReplyInjection(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		c.send(respCommand("x\r\n+OK", "y\r\n:1"))
		c.expect("-ERR unknown command 'x  +OK', with args beginning with: 'y  :1' \r\n")
	})
}

// Framing limits hold at N and refuse at N+1.
func TestFramingLimits(t *testing.T) {
	opts := Options{}
	opts.Limits.Args, opts.Limits.Bulk, opts.Limits.Inline, opts.Limits.Command = 5, 100, 50, 300
	both(t, opts, func(r *rig) {
		for _, c := range []struct {
			in   string
			good bool
		}{
			{respCommand("ECHO", strings.Repeat("x", 99)), true},
			{respCommand("ECHO", strings.Repeat("x", 100)), true},
			{respCommand("ECHO", strings.Repeat("x", 101)), false},
			{respCommand("COMMAND", "INFO", "a", "b"), true},
			{respCommand("COMMAND", "INFO", "a", "b", "c"), true},
			{respCommand("COMMAND", "INFO", "a", "b", "c", "d"), false},
			{"ECHO " + strings.Repeat("x", 45) + "\r\n", true},  // 50 bytes and a line end
			{"ECHO " + strings.Repeat("x", 46) + "\r\n", false}, // 51
			{strings.Repeat("x", 51), false},
		} {
			cl := r.client()
			cl.sends(c.in)
			if c.good {
				if b := cl.line(); strings.HasPrefix(b, "-ERR Protocol") {
					r.t.Errorf("%.30q: %q", c.in, b)
				}
			} else if got := cl.expectClosed(); !strings.HasPrefix(got, "-ERR Protocol error: ") {
				r.t.Errorf("%.30q: %q", c.in, got)
			}
			cl.Close()
		}
	})
}

// Unanswered commands and unread output are bounded; the rest waits in the socket
// and is answered in time.
func TestPendingBound(t *testing.T) {
	for _, bound := range []int{1, 2, 7, 128, 129} {
		both(t, Options{PendingCalls: bound, StalledInput: 64}, func(r *rig) {
			r.sh.setHold(true)
			c := r.client()
			n := bound + 50
			c.sends(strings.Repeat("DQADD q a x\r\n", n))
			until(r.t, "bound reached", func() bool { got, _, _, _ := r.sh.counts(); return got == bound })
			if got, _, _, _ := r.sh.counts(); got != bound {
				r.t.Error("submitted", got)
			}
			r.sh.setHold(false)
			for range n {
				c.expect("$1\r\na\r\n")
			}
		})
	}
}

// One more client than the limit is told so; when one leaves there is room again.
func TestMaxClients(t *testing.T) {
	both(t, Options{MaxClients: 3}, func(r *rig) {
		var cs []*client
		for range 3 {
			c := r.client()
			c.ask("PING", "+PONG\r\n")
			cs = append(cs, c)
		}
		if got := r.client().expectClosed(); got != "-ERR max number of clients reached\r\n" {
			r.t.Errorf("%q", got)
		}
		cs[0].Close()
		until(r.t, "room", func() bool { return len(r.connections()) == 2 })
		r.client().ask("PING", "+PONG\r\n")
	})
}

// remote is a connection from another machine.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5} }

func TestProtectedMode(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{}, "-DENIED"},
		{Options{Unprotected: true}, "+PONG\r\n"},
		{Options{Password: "secret"}, "-NOAUTH"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, c.opts, false)
			a, b := net.Pipe()
			defer a.Close()
			go func() {
				a.Write([]byte("PING\r\n"))
			}()
			go r.admit(remote{b})
			buf := make([]byte, len(c.want))
			if n, err := a.Read(buf); string(buf[:n]) != c.want {
				t.Errorf("%q, %v", buf[:n], err)
			}
		})
	}
}

// A command that is begun has 30 s to be completed, however its bytes trickle in;
// a connection that sends nothing may stay.
func TestSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		idle := r.client()
		idle.ask("PING", "+PONG\r\n")
		slow := r.client()
		began := time.Now()
		go func() {
			for _, b := range []byte("*1\r\n$4\r\nPINGPINGPING") {
				if _, err := slow.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(10 * time.Second)
			}
		}()
		if got := slow.expectClosed(); got != "" || time.Since(began) != 30*time.Second {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		// Completing commands starts the time anew.
		steady := r.client()
		steady.send("PI")
		for range 10 {
			time.Sleep(20 * time.Second)
			steady.send("NG\r\nPI")
			steady.expect("+PONG\r\n")
		}
		time.Sleep(time.Hour)
		idle.ask("PING", "+PONG\r\n")
		if n := r.counters.closed[closedCommandTimeout].Load(); n != 2 { // slow, and steady's last piece
			t.Error(n)
		}
	})
}

// A client that does not read is closed when a write took 10 s; one that reads
// slowly is served.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		deaf := r.client()
		began := time.Now()
		deaf.send("PING\r\n")
		synctest.Wait()
		until := began.Add(10 * time.Second)
		time.Sleep(time.Until(until) - time.Nanosecond)
		synctest.Wait()
		if n := len(r.connections()); n != 1 {
			t.Error("closed early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n := r.counters.closed[closedWriteTimeout].Load(); n != 1 || len(r.connections()) != 0 {
			t.Error("still open", n)
		}
		slow := r.client()
		big := strings.Repeat("x", 200_000)
		slow.sends(respCommand("ECHO", big))
		if got := slow.line(); got != "$200000" {
			t.Error(got)
		}
		slow.SetReadDeadline(time.Time{})
		for read := 0; read < 200_000; {
			time.Sleep(500 * time.Millisecond)
			n, err := slow.r.Read(make([]byte, 4096))
			if err != nil {
				t.Fatal(read, err)
			}
			read += n
		}
	})
}

// Unread replies stop a client's commands; what piles up nevertheless is capped.
func TestOutputBounds(t *testing.T) {
	both(t, Options{OutputBuffer: 1 << 20, OutputPause: 64 << 10}, func(r *rig) {
		// Large replies that the server could make without end.
		greedy := r.client()
		greedy.sends(strings.Repeat("COMMAND DOCS\r\n", 3000))
		// Small ones are never lost.
		c := r.client()
		payload := strings.Repeat("x", 10_000)
		const n = 2000
		c.sends(strings.Repeat(respCommand("ECHO", payload), n))
		for range n {
			c.expect("$10000\r\n" + payload + "\r\n")
		}
		greedy.line()
		if used := r.budget.used.Load(); used > 4<<20 {
			r.t.Error("clients hold", used)
		}
		greedy.Close()

		// Replies of calls in flight cannot wait: beyond the cap it ends.
		deaf := r.client()
		r.sh.setHold(true)
		for range 150 {
			deaf.send(respCommand("DQADD", "q", "j", payload))
		}
		deaf.send(strings.Repeat("DQPOP q\r\n", 150))
		until(r.t, "submitted", func() bool { got, _, _, _ := r.sh.counts(); return got == 300 })
		if _, ok := deaf.Conn.(*net.TCPConn); !ok { // a socket takes 1.5 MB
			r.sh.setHold(false)
			until(r.t, "closed", func() bool { return r.counters.closed[closedOutput].Load() == 1 })
			until(r.t, "jobs back", func() bool { _, _, lost, _ := r.sh.counts(); return lost == 150 })
		} else {
			r.sh.setHold(false)
			for range 150 {
				deaf.expect("$1\r\nj\r\n")
			}
		}
	})
}

// bigReply is larger than any cap.
type bigReply struct{}

func (bigReply) WriteReply(w commands.Writer) {
	w.Array(1 << 20)
	text := strings.Repeat("x", 1000)
	for range 1 << 20 {
		w.BulkString(text)
	}
}

// One reply cannot outgrow the cap either.
func TestOneReplyBeyondTheCap(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.ask("PING", "+PONG\r\n")
	conn := r.connections()[0]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	conn.mu.Lock()
	conn.pending.push(entry{reply: bigReply{}, done: true})
	conn.encode()
	conn.mu.Unlock()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 200<<20 {
		t.Error("allocated", got)
	}
	c.expectClosed()
	if n := r.counters.closed[closedOutput].Load(); n != 1 {
		t.Error(n)
	}
}

// 290 commands of a few KiB that each ask for 1 MiB, never read: memory stays at
// the cap.
func TestAmplification(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.send(respCommand("DQADD", "q", "a", "x"))
	c.expect("$1\r\na\r\n")
	var most int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 4000 {
			if _, err := fmt.Fprint(c.Conn, "COMMAND DOCS\r\n"); err != nil {
				return
			}
		}
	}()
	until(t, "output pauses it", func() bool {
		most = max(most, r.budget.used.Load())
		cs := r.connections()
		if len(cs) == 0 {
			return true
		}
		cs[0].mu.Lock()
		defer cs[0].mu.Unlock()
		return cs[0].waits == waitRoom
	})
	if most > 40<<20 {
		t.Error("held", most)
	}
	c.Close()
	<-done
}

// Beyond the bound of all clients together the largest is closed.
func TestClientBuffers(t *testing.T) {
	r := newRig(t, Options{ClientBuffers: 4 << 20}, true)
	small := r.client()
	small.ask("PING", "+PONG\r\n")
	var cs []*client
	for i := range 3 {
		c := r.client()
		size := (i + 1) << 20
		c.send("*1\r\n$" + itoa(size+1000) + "\r\n")
		c.send(strings.Repeat("x", size))
		cs = append(cs, c)
	}
	if got := cs[2].expectClosed(); got != "" {
		t.Errorf("%q", got)
	}
	until(t, "closed", func() bool {
		return r.counters.closed[closedMemory].Load() >= 1 && r.budget.used.Load() <= r.budget.limit.Load()
	})
	small.ask("PING", "+PONG\r\n")
}

// A header that announces much buys no memory until the bytes come.
func TestAnnouncedBytesAreNotAllocated(t *testing.T) {
	r := newRig(t, Options{}, true)
	for range 50 {
		r.client().send("*1\r\n$16000000\r\nxyz")
	}
	until(t, "all there", func() bool { return len(r.connections()) == 50 })
	until(t, "read", func() bool { return r.connections()[49].charged.Load() >= 0 })
	if used := r.budget.used.Load(); used > 50*chunkMax {
		t.Error("held", used)
	}
}

// A failing accept is tried again after growing pauses.
func TestAcceptBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		l := &failing{done: make(chan struct{})}
		go r.Serve(l)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := l.n; n < 10 || n > 20 {
			t.Error(n, "accepts in 10 s")
		}
	})
}

type failing struct {
	n    int
	done chan struct{}
}

func (f *failing) Accept() (net.Conn, error) {
	f.n++
	return nil, fmt.Errorf("accept: too many open files")
}
func (f *failing) Close() error   { return nil }
func (f *failing) Addr() net.Addr { return &net.UnixAddr{} }

// A waiting pop does not keep the large chunk that it came in.
func TestWaitingPopPinsLittle(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.sends(strings.Repeat("*1\r\n$4\r\nPING\r\n", 20_000) + respCommand("DQPOP", "q", "BLOCK", "20s"))
	for range 20_000 {
		c.expect("+PONG\r\n")
	}
	until(t, "submitted", func() bool { n, _, _, _ := r.sh.counts(); return n == 1 })
	r.sh.do(func() {
		pop := r.sh.waiting[0].Request.(*commands.Pop)
		if n := cap(pop.Queues[0]); n > 64 {
			t.Error("the queue's name has a capacity of", n)
		}
	})
}
