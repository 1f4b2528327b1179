package server

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard"
)

// patience bounds every wait for what a server does at once, on a machine that is busy.
const patience = 2 * time.Minute

// fakeShard answers calls on one goroutine, as a shard does: adds go into a list,
// pops take from it or wait.
type fakeShard struct {
	mu    sync.Mutex
	wake  sync.Cond
	inbox []func()
	// survey is set before the server is used.
	survey *shard.Survey
	done   bool

	// Owned by the goroutine.
	hold    bool // adds and the like stay unanswered
	jobs    [][]byte
	waiting []*shard.Call
	held    []*shard.Call
	token   uint64

	// Guarded by mu.
	lost      []*shard.Call
	gone      int
	submitted int
	batches   int
}

func newFakeShard(t testing.TB) *fakeShard {
	f := &fakeShard{}
	f.wake.L = &f.mu
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.run()
	}()
	t.Cleanup(func() {
		f.do(func() {})
		f.mu.Lock()
		f.done = true
		f.wake.Signal()
		f.mu.Unlock()
		<-stopped
	})
	return f
}

func (f *fakeShard) do(fn func()) {
	f.mu.Lock()
	f.inbox = append(f.inbox, fn)
	f.wake.Signal()
	f.mu.Unlock()
}

func (f *fakeShard) run() {
	for {
		f.mu.Lock()
		for len(f.inbox) == 0 && !f.done {
			f.wake.Wait()
		}
		batch := f.inbox
		f.inbox = nil
		done := f.done && len(batch) == 0
		f.mu.Unlock()
		if done {
			return
		}
		for _, fn := range batch {
			fn()
		}
	}
}

func (f *fakeShard) Submit(calls []*shard.Call) {
	calls = append([]*shard.Call(nil), calls...)
	f.mu.Lock()
	f.submitted += len(calls)
	f.batches++
	f.mu.Unlock()
	f.do(func() {
		flush := map[shard.Client]bool{}
		for _, c := range calls {
			if f.handle(c) {
				c.Client.Deliver(c)
				flush[c.Client] = true
			}
		}
		for c := range flush {
			c.Flush()
		}
		f.serve()
	})
}

// handle answers c, or leaves it waiting.
func (f *fakeShard) handle(c *shard.Call) bool {
	switch r := c.Request.(type) {
	case *commands.Add:
		f.jobs = append(f.jobs, append([]byte(nil), r.Job.Payload...))
		c.Reply = commands.Bulk(r.Job.ID)
		if string(r.Job.ID) == "panic" {
			c.Reply = badReply{}
		}
		if string(r.Job.ID) == "tryagain" {
			c.Reply = commands.Error("TRYAGAIN no leader")
		}
	case *commands.Pop:
		if len(f.jobs) == 0 && r.Block > 0 {
			f.waiting = append(f.waiting, c)
			return false
		}
		c.Reply = f.pop(r)
	case *commands.Transaction:
		c.Reply = f.transaction(r)
	default:
		c.Reply = commands.Int(0)
	}
	if f.hold {
		f.held = append(f.held, c)
		return false
	}
	return true
}

func (f *fakeShard) pop(r *commands.Pop) commands.Reply {
	if len(f.jobs) == 0 {
		return commands.NullArray{}
	}
	d := &commands.Deliveries{}
	for len(f.jobs) > 0 && len(d.Jobs) < r.Count {
		f.token++
		d.Jobs = append(d.Jobs, commands.Delivery{Queue: r.Queues[0], ID: []byte("id"), Payload: f.jobs[0], Token: f.token, Attempt: 1})
		f.jobs = f.jobs[1:]
	}
	return d
}

// serve gives jobs to those who wait.
func (f *fakeShard) serve() {
	for len(f.jobs) > 0 && len(f.waiting) > 0 {
		c := f.waiting[0]
		f.waiting = f.waiting[1:]
		c.Reply = shard.ErrGone
		if !c.Client.Gone() {
			c.Reply = f.pop(c.Request.(*commands.Pop))
		}
		c.Client.Deliver(c)
		c.Client.Flush()
	}
}

// setHold keeps answers back, or lets go of those that were.
func (f *fakeShard) setHold(on bool) {
	f.do(func() {
		f.hold = on
		for _, c := range f.held {
			c.Client.Deliver(c)
			c.Client.Flush()
		}
		f.held = nil
	})
}

func (f *fakeShard) endWait(c shard.Client, reply commands.Reply) {
	f.do(func() {
		for i, w := range f.waiting {
			if w.Client == c {
				f.waiting = append(f.waiting[:i:i], f.waiting[i+1:]...)
				w.Reply = reply
				c.Deliver(w)
				c.Flush()
				return
			}
		}
	})
}

func (f *fakeShard) Unblock(c shard.Client, reply commands.Reply) { f.endWait(c, reply) }

func (f *fakeShard) ClientGone(c shard.Client) {
	f.mu.Lock()
	f.gone++
	f.mu.Unlock()
	f.endWait(c, shard.ErrGone)
}

func (f *fakeShard) Undelivered(c *shard.Call) {
	f.mu.Lock()
	f.lost = append(f.lost, c)
	f.mu.Unlock()
}

func (f *fakeShard) Gauges() *shard.Gauges {
	return &shard.Gauges{
		Queues: 1, Totals: record.Queue{Ready: 2}, Leading: true,
		Clock: commands.ClockInfo{Source: "os", State: "ok"},
	}
}

func (f *fakeShard) Survey(context.Context) *shard.Survey { return f.survey }

func (f *fakeShard) counts() (submitted, batches, lost, gone int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.submitted, f.batches, len(f.lost), f.gone
}

type badReply struct{}

func (badReply) WriteReply(w commands.Writer) {
	w.Array(2)
	panic("cannot be written")
}

// pipes is a listener inside the process, for synctest bubbles.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// rig is a server with a way to it.
type rig struct {
	*Server
	t    testing.TB
	sh   *fakeShard
	dial func() net.Conn
	logs *lockedBuffer
	addr string
}

// newRig serves over pipes, or over loopback. The shard is attached unless
// opts.Dir is "loading".
func newRig(t testing.TB, opts Options, tcp bool) *rig {
	t.Helper()
	logs := &lockedBuffer{}
	opts.Log = slog.New(slog.NewTextHandler(logs, nil))
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Server: s, t: t, sh: newFakeShard(t), logs: logs}
	var l net.Listener
	if tcp {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		r.addr = l.Addr().String()
		r.dial = func() net.Conn {
			nc, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			return nc
		}
	} else {
		p := newPipes()
		l = p
		r.dial = func() net.Conn {
			a, b := net.Pipe()
			p.conns <- b
			return a
		}
	}
	if opts.Dir != "loading" {
		s.Attach(r.sh)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error("Shutdown:", err)
		}
		if err := <-served; err != ErrClosed {
			t.Error("Serve:", err)
		}
		if n := s.budget.used.Load(); n != 0 {
			t.Error("client buffers after the end:", n)
		}
		if strings.Contains(logs.String(), "internal error") && !strings.Contains(t.Name(), "Panic") {
			t.Error(logs.String())
		}
	})
	return r
}

// client is the other end of a connection.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (r *rig) client() *client {
	nc := r.dial()
	c := &client{nc, r.t, bufio.NewReader(nc)}
	r.t.Cleanup(func() { nc.Close() })
	return c
}

// send writes inline commands or raw RESP.
func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.t.Fatalf("send %.60q: %v", s, err)
	}
}

// sends writes from a goroutine, for what the server may not read to the end.
func (c *client) sends(s string) { go io.WriteString(c.Conn, s) }

// expect reads exactly want.
func (c *client) expect(want string) {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.r, got)
	if string(got[:n]) != want {
		c.t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}

// ask sends one command and expects the reply.
func (c *client) ask(cmd, want string) {
	c.t.Helper()
	c.send(cmd + "\r\n")
	c.expect(want)
}

// line reads up to CRLF.
func (c *client) line() string {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	s, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read a line: %q, %v", s, err)
	}
	return strings.TrimSuffix(s, "\r\n")
}

// bulk reads a bulk string.
func (c *client) bulk() string {
	c.t.Helper()
	var n int
	for _, d := range strings.TrimPrefix(c.line(), "$") {
		n = n*10 + int(d-'0')
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.t.Fatal(err)
	}
	return string(b[:n])
}

// expectClosed waits for the end and returns what came before it.
func (c *client) expectClosed() string {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	rest, err := io.ReadAll(c.r)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatalf("still open; read %.200q", rest)
	}
	return string(rest)
}

// resp writes a command in RESP.
func respCommand(args ...string) string {
	var b strings.Builder
	b.WriteString("*" + itoa(len(args)) + "\r\n")
	for _, a := range args {
		b.WriteString("$" + itoa(len(a)) + "\r\n" + a + "\r\n")
	}
	return b.String()
}

func itoa(n int) string { return string(bulkInt(int64(n))) }

// until waits for a condition, on real time.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("never: ", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// lockedBuffer collects log lines.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
