package server

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
)

// errGone begins what a client is told that has closed its sending side.
const errGone = "ERR the client closed its sending side before this could be done: nothing was done"

// newShardRig serves a real shard over TCP; its log can be held.
func newShardRig(t *testing.T) (*rig, *shardtest.Log) {
	state, err := persist.OpenState("state", persist.StateOptions{FS: persist.MemFS()})
	if err != nil {
		t.Fatal(err)
	}
	log := shardtest.NewLog(state)
	sh := shard.New(shard.Options{
		Log: log, State: state, Clock: shardtest.NewClock(time.Now().UnixNano()), Logger: slog.New(slog.DiscardHandler),
		Limits: evaluate.DefaultLimits(), Fatal: func(err error) { panic(err) },
	})
	t.Cleanup(func() { // behind the server's end
		sh.Close()
		log.Close()
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newRig(t, Options{Dir: "loading"}, true)
	until(t, "leads", func() bool { return sh.Gauges().Leading })
	r.Attach(sh)
	return r, log
}

// closeWrite closes the client's sending side.
func (c *client) closeWrite() {
	c.t.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// A client that closes its sending side before its pop is evaluated gets no job, and is
// told so, as there are jobs; a transaction with such a pop does not take place, and what
// stands before and behind is answered.
func TestHalfClosePop(t *testing.T) {
	for _, test := range []struct{ send, want string }{
		{"DQPOP q\r\n", "-#"},
		{respCommand("DQPOP", "q"), "-#"},
		{"DQPOP q COUNT 5 NOACK\r\n", "-#"},
		{"DQPOP q BLOCK 20s\r\n", "-#"},
		{"DQPOP empty BLOCK 20s\r\n", "-#"},
		{respCommand("DQPOP", "q", "BLOCK", "20s"), "-#"},
		{"DQMPOP 2 empty q\r\n", "-#"},
		{"DQMPOP 2 empty q BLOCK 20s\r\n", "-#"},
		{"DQPURGE q\r\n", "-#"},
		{"DQADD new a x\r\nDQPOP q\r\nDQCANCEL new a\r\n", "$1\r\na\r\n-#:1\r\n"},
		// INFO waits for what is before it, so that the pop is parsed behind the end.
		{"DQADD new a x\r\nINFO nosuch\r\nDQPOP q\r\nDQCANCEL new a\r\n", "$1\r\na\r\n$0\r\n\r\n-#:1\r\n"},
		{"MULTI\r\nDQADD q b x\r\nDQPOP q\r\nDQCANCEL q a\r\nEXEC\r\n",
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT Transaction discarded: command 2 (dqpop): #"},
		{"MULTI\r\nDQADD new a x\r\nPING\r\nDQCANCEL new a\r\nEXEC\r\n",
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$1\r\na\r\n+PONG\r\n:1\r\n"},
	} {
		t.Run(strings.TrimSpace(test.send), func(t *testing.T) {
			r, log := newShardRig(t)
			producer := r.client()
			producer.ask("DQADD q a x", "$1\r\na\r\n")
			// While this is being written the pop waits for its turn, and its client leaves.
			release := log.Hold()
			producer.send("DQADD other a x\r\n")
			until(t, "in flight", func() bool { return log.Waiting() == 1 })
			worker := r.client()
			worker.send(test.send)
			worker.closeWrite()
			until(t, "known", func() bool {
				for _, c := range r.connections() {
					if c.Gone() {
						return true
					}
				}
				return false
			})
			release()
			producer.expect("$1\r\na\r\n")
			got := worker.expectClosed()
			if want := strings.ReplaceAll(test.want, "#", errGone+", keep the connection open until the answer has come\r\n"); got != want {
				t.Errorf("%q:\ngot  %q\nwant %q", test.send, got, want)
			}
			producer.ask("DQGET q a state attempt", "*2\r\n$5\r\nready\r\n:0\r\n")
			producer.ask("DQLEN q", ":1\r\n")
			producer.ask("DQLEN new", ":0\r\n")
		})
	}
}

// A pop that waits ends when its client closes the sending side, and does not say that
// there are no jobs: one may have come meanwhile.
func TestHalfCloseWaitingPop(t *testing.T) {
	for name, pop := range map[string]string{"dqpop": "DQPOP q BLOCK 20s\r\n", "dqmpop": respCommand("DQMPOP", "2", "p", "q", "BLOCK", "20s")} {
		r, _ := newShardRig(t)
		worker := r.client()
		worker.send(pop)
		until(t, "waits", func() bool { return r.counters.blocked.Load() == 1 })
		worker.closeWrite()
		if got := worker.expectClosed(); !strings.HasPrefix(got, "-"+errGone) || strings.Count(got, "\r\n") != 1 {
			t.Errorf("%q", got)
		}
		row := r.rows[commands.Lookup([]byte(name))]
		if _, failed := row.totals(); failed != 0 || row.outcomes[outcomeGone].Load() != 1 {
			t.Errorf("%s: %d failed, %d gone; want it to be gone, which is no failure", name, failed, row.outcomes[outcomeGone].Load())
		}
		r.client().ask("DQADD q a x", "$1\r\na\r\n")
		r.client().ask("DQGET q a state attempt", "*2\r\n$5\r\nready\r\n:0\r\n")
	}
}
