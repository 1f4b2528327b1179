package clients

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dqd/persist"
	"dqd/raftfsm"
	"dqd/server"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
	"dqd/tests/dqdtest"
)

// go-redis sends a whole pipeline again when its first reply begins with LOADING,
// TRYAGAIN and the like. Of what stood behind that reply nothing may have run.
func TestResentPipelineRunsOnce(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	fatal := func(err error) { t.Error("the server would end:", err) }
	node, err := raftfsm.Open(raftfsm.Options{Dir: "data", FS: persist.MemFS(), NodeID: "one", Fatal: fatal, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	sh := shard.New(shard.Options{
		Log: node, State: node.State(), Clock: shardtest.NewClock(time.Now().UnixNano()), Fatal: fatal, Logger: quiet,
		Limits: evaluate.DefaultLimits(), ClockTrust: int64(24 * time.Hour),
	})
	defer sh.Close()
	err = dqdtest.WaitFor(dqdtest.Deadline, func() error {
		if !sh.Gauges().Leading {
			return context.DeadlineExceeded
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	srv, err := server.New(server.Options{Log: quiet, LoadingWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// The data are loaded in the moment in which the first command is refused.
	refused := false
	go srv.Serve(&writeListener{l, sync.OnceFunc(func() { refused = true; srv.Attach(sh) })})
	defer srv.Shutdown(t.Context())

	rdb := redis.NewClient(&redis.Options{Addr: l.Addr().String()})
	defer rdb.Close()
	const n = 10_000 // more than the server reads at once
	adds, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.Do(t.Context(), "DQADD", "q", "*", i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[any]bool{}
	for _, add := range adds {
		ids[add.(*redis.Cmd).Val()] = true
	}
	there, err := rdb.Do(t.Context(), "DQLEN", "q").Int()
	if err != nil || !refused || there != n || len(ids) != n {
		t.Errorf("of %d adds that were sent twice %d ran, %d of them answered; refused at first: %v; %v", n, there, len(ids), refused, err)
	}
}

// writeListener calls loading before a LOADING error is written to a client.
type writeListener struct {
	net.Listener
	loading func()
}

func (l *writeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &writeConn{c, l.loading}, err
}

type writeConn struct {
	net.Conn
	loading func()
}

func (c *writeConn) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("-LOADING ")) {
		c.loading()
	}
	return c.Conn.Write(b)
}
