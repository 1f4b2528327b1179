package server

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// both runs a test over pipes in a bubble and over loopback.
func both(t *testing.T, opts Options, test func(r *rig)) {
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(newRig(t, opts, false)) })
	})
	t.Run("tcp", func(t *testing.T) { test(newRig(t, opts, true)) })
}

// Replies come in the order of the commands, whoever answers them.
func TestRepliesKeepOrder(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		c.send("PING\r\nDQADD q a x\r\nPING b\r\nNOSUCH\r\nDQLEN\r\nHELLO 3\r\nDQADD q d x\r\nGET\r\nCLIENT GETNAME\r\nDQPOP q\r\n")
		c.expect("+PONG\r\n$1\r\na\r\n$1\r\nb\r\n-ERR unknown command 'NOSUCH', with args beginning with: \r\n")
		c.expect("-ERR wrong number of arguments for 'dqlen' command: DQLEN queue [STATE s]\r\n")
		c.expect("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n")
		c.expect("$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n")
		c.expect("$1\r\nd\r\n-ERR unknown command 'GET', with args beginning with: \r\n_\r\n")
		c.expect("*1\r\n*6\r\n$1\r\nq\r\n$2\r\nid\r\n$1\r\nx\r\n:1\r\n:1\r\n:0\r\n")
	})
}

// A pipeline goes to the shard in few calls, and its replies all arrive.
func TestPipeline(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		const n = 20_000
		c.sends(strings.Repeat(respCommand("DQADD", "q", "job", "payload"), n))
		for range n {
			c.expect("$3\r\njob\r\n")
		}
		submitted, batches, _, _ := r.sh.counts()
		if submitted != n || batches > n/10 {
			t.Errorf("%d calls in %d batches", submitted, batches)
		}
	})
}

// A large command arrives whole, in whatever pieces it comes.
func TestLargeCommand(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
		cmd := respCommand("DQADD", "q", "big", big) + respCommand("DQPOP", "q")
		go func() {
			for len(cmd) > 0 {
				n := min(len(cmd), 9973)
				if _, err := c.Write([]byte(cmd[:n])); err != nil {
					return
				}
				cmd = cmd[n:]
			}
		}()
		c.expect("$3\r\nbig\r\n*1\r\n*6\r\n$1\r\nq\r\n$2\r\nid\r\n$1048576\r\n" + big + "\r\n:1\r\n:1\r\n:0\r\n")
		c.ask("PING", "+PONG\r\n")
	})
}

// Behind a pop that waits nothing runs; when it is answered the rest does.
func TestBlockingPopStopsTheConnection(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		worker, producer := r.client(), r.client()
		worker.send("PING\r\nDQPOP q BLOCK 20s\r\nDQADD q late y\r\nPING\r\n")
		worker.expect("+PONG\r\n")
		if submitted, _, _, _ := r.sh.counts(); submitted > 1 {
			t.Error("the add behind the pop ran")
		}
		until(t, "blocked", func() bool { return r.counters.blocked.Load() == 1 })
		producer.ask("DQADD q a job", "$1\r\na\r\n")
		worker.expect("*1\r\n*6\r\n$1\r\nq\r\n$2\r\nid\r\n$3\r\njob\r\n:1\r\n:1\r\n:0\r\n$4\r\nlate\r\n+PONG\r\n")
	})
}

// A worker that leaves while it waits loses its place at once, and gets nothing,
// also with commands behind the pop.
func TestGoneWorkerGetsNothing(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		for _, behind := range []string{"", "PING\r\nDQADD q z z\r\n"} {
			_, _, _, before := r.sh.counts()
			worker := r.client()
			worker.send("DQPOP q BLOCK 20s\r\n" + behind)
			until(t, "blocked", func() bool { return r.counters.blocked.Load() == 1 })
			worker.Close()
			until(t, "gone", func() bool { _, _, _, gone := r.sh.counts(); return gone > before && r.counters.blocked.Load() == 0 })
		}
		c := r.client()
		c.ask("DQADD q a x", "$1\r\na\r\n")
		c.ask("DQPOP q", "*1\r\n*6\r\n$1\r\nq\r\n$2\r\nid\r\n$1\r\nx\r\n:1\r\n:1\r\n:0\r\n")
		if submitted, _, lost, _ := r.sh.counts(); lost != 0 || submitted != 4 {
			t.Error(submitted, "submitted,", lost, "lost")
		}
	})
}

// A client that has left is known before that is read: behind more commands than are
// read while its pop waits, it would not be before the pop ends.
func TestLeftBehindMuch(t *testing.T) {
	r := newRig(t, Options{StalledInput: 64}, true)
	worker := r.client()
	worker.send("DQPOP q BLOCK 20s\r\n" + strings.Repeat("PING\r\n", 100))
	until(t, "blocked", func() bool { return r.counters.blocked.Load() == 1 })
	c := r.connections()[0]
	until(t, "full", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.parked })
	if c.Left() {
		t.Error("it is there")
	}
	worker.Close()
	until(t, "known", c.Left)
	if _, _, _, gone := r.sh.counts(); gone == 0 || !c.Gone() {
		t.Error("the shard is not told:", gone)
	}
}

// What a look at a client costs.
func BenchmarkLeft(b *testing.B) {
	r := newRig(b, Options{}, true)
	worker := r.client()
	worker.send("PING\r\n")
	worker.expect("+PONG\r\n")
	c := r.connections()[0]
	for b.Loop() {
		c.Left()
	}
}

// A client that closes its sending side still reads its answers.
func TestHalfClose(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.send("DQADD q a x\r\nINFO nosuch\r\nDQADD q b x\r\n")
	c.Conn.(interface{ CloseWrite() error }).CloseWrite()
	if got := c.expectClosed(); got != "$1\r\na\r\n$0\r\n\r\n$1\r\nb\r\n" {
		t.Errorf("%q", got)
	}
}

// Jobs in a reply that the socket did not take go back.
func TestUndelivered(t *testing.T) {
	both(t, Options{WriteTimeout: time.Second}, func(r *rig) {
		c := r.client()
		payload := strings.Repeat("x", 1<<20)
		for range 12 { // more than socket buffers hold
			c.send(respCommand("DQADD", "q", "a", payload))
			c.expect("$1\r\na\r\n")
		}
		c.send(strings.Repeat(respCommand("DQPOP", "q"), 12))
		c.expect("*1\r\n") // taken in part
		until(t, "write time-out", func() bool { return r.counters.closed[closedWriteTimeout].Load() == 1 })
		until(t, "lost", func() bool { _, _, lost, _ := r.sh.counts(); return lost > 0 })
		_, _, lost, _ := r.sh.counts()
		t.Log(lost, "lost")
	})
}

// An error on which clients repeat their pipeline is the last reply.
func TestLastReply(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		c.send("DQADD q tryagain x\r\nDQADD q b x\r\nPING\r\n")
		if got := c.expectClosed(); got != "-TRYAGAIN no leader\r\n" {
			t.Errorf("%q", got)
		}
	})
}

// While the shard is loading job commands wait; the others are answered.
func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Dir: "loading"}, false)
		c, slow, gone := r.client(), r.client(), r.client()
		began := time.Now()
		c.send("PING\r\nDQADD q a x\r\nPING\r\n")
		slow.send("DQADD q late x\r\n")
		gone.send("DQADD q gone x\r\n")
		c.expect("+PONG\r\n")
		other := r.client()
		other.send("INFO persistence\r\n")
		if info := other.bulk(); !strings.Contains(info, "loading:1") {
			t.Error(info)
		}
		synctest.Wait()
		gone.Close()
		time.Sleep(3999 * time.Millisecond)
		synctest.Wait()
		if time.Since(began) != 3999*time.Millisecond {
			t.Error(time.Since(began))
		}
		late := r.client()
		late.send("DQADD q b x\r\n")
		if got := c.expectClosed(); got != "-LOADING dqd is loading its data in memory\r\n" || time.Since(began) != 4*time.Second {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		slow.expectClosed()
		r.Attach(r.sh)
		late.expect("$1\r\nb\r\n")
		if submitted, _, _, _ := r.sh.counts(); submitted != 1 {
			t.Error("submitted", submitted)
		}
	})
}

// A shut-down server gives waiting pops their null and answers what it took. Whoever
// asks whether it is ready learns of the end before any client is let go.
func TestShutdown(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		worker, producer := r.client(), r.client()
		worker.send("DQPOP q BLOCK 20s\r\nPING\r\n")
		until(r.t, "blocked", func() bool { return r.counters.blocked.Load() == 1 })
		r.sh.setHold(true)
		producer.send("DQADD other a x\r\n")
		until(r.t, "submitted", func() bool { n, _, _, _ := r.sh.counts(); return n == 2 })
		ready := func() int {
			w := httptest.NewRecorder()
			r.HTTP().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
			return w.Code
		}
		if code := ready(); code != 200 {
			r.t.Error("/readyz before the end:", code)
		}
		done := make(chan error)
		go func() { done <- r.Shutdown(r.ctx) }()
		if got := worker.expectClosed(); !strings.HasPrefix(got, "*") {
			r.t.Errorf("worker: %q", got)
		}
		if code := ready(); code != 503 {
			r.t.Error("/readyz while a command is still to be answered:", code)
		}
		worker.Close()
		r.sh.setHold(false)
		if got := producer.expectClosed(); got != "$1\r\na\r\n" {
			r.t.Errorf("producer: %q", got)
		}
		producer.Close()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

// A bug in one command ends its connection and nothing else.
func TestPanicIsContained(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		c.send("DQADD q panic x\r\nDQADD q b x\r\n")
		if got := c.expectClosed(); got != "-ERR internal error\r\n" {
			r.t.Errorf("%q", got)
		}
		c = r.client()
		r.opts.Wall = func() int64 { panic("no clock") }
		c.send("DQADD q a x\r\nTIME\r\nDQADD q c x\r\n")
		if got := c.expectClosed(); got != "$1\r\na\r\n-ERR internal error\r\n" {
			r.t.Errorf("%q", got)
		}
		r.client().ask("PING", "+PONG\r\n")
		if n := r.counters.panics.Load(); n != 2 || !strings.Contains(r.logs.String(), "no clock") {
			r.t.Error(n, r.logs.String())
		}
	})
}
