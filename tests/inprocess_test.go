package tests

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/raftfsm"
	"dqd/server"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
	"dqd/tests/script"
)

// inProcess is a whole server in a synctest bubble: real raft, real stores on a
// file system in memory, connections that are pipes, and Go's clock, which in a
// bubble moves only when everything has come to rest.
type inProcess struct {
	password string
	fs       persist.FS
	clock    *shardtest.Clock
	real     bool // not in a bubble: the server's clock is Go's, and time passes

	node   *raftfsm.Node
	shard  *shard.Shard
	server *server.Server
	pipes  *pipes
	served chan error
}

// openInProcess starts a server inside the current bubble.
func openInProcess(t *testing.T, config map[string]string) (script.Target, error) {
	p := &inProcess{fs: persist.MemFS(), clock: shardtest.NewClock(time.Now().UnixNano())}
	for name, value := range config {
		if name != "requirepass" {
			t.Fatalf("@config %s is not known in process", name)
		}
		p.password = value
	}
	return p, p.start()
}

func (p *inProcess) start() (err error) {
	fatal := func(err error) { panic(fmt.Sprint("the server would end: ", err)) }
	quiet := slog.New(slog.DiscardHandler)
	p.node, err = raftfsm.Open(raftfsm.Options{Dir: "data", FS: p.fs, NodeID: "one", Fatal: fatal, Logger: quiet})
	if err != nil {
		return err
	}
	arguments := commands.DefaultLimits()
	p.shard = shard.New(shard.Options{
		Log: p.node, State: p.node.State(), Clock: p.clock, Fatal: fatal, Logger: quiet,
		Limits: evaluate.DefaultLimits(), ClockTrust: int64(24 * time.Hour),
	})
	p.server, err = server.New(server.Options{Password: p.password, Log: quiet, Arguments: arguments})
	if err != nil {
		return err
	}
	p.server.Backups(func() server.Backup { return p.node.Backup(time.Now().UnixNano()) })
	p.server.Attach(p.shard)
	p.pipes = newPipes()
	p.served = make(chan error, 1)
	go func() { p.served <- p.server.Serve(p.pipes) }()
	// Elections take a little time even alone; scripts begin when it leads.
	for !p.shard.Gauges().Leading {
		time.Sleep(time.Millisecond)
		if !p.real {
			synctest.Wait()
		}
	}
	return nil
}

func (p *inProcess) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		return err
	}
	if err := <-p.served; err != server.ErrClosed {
		return err
	}
	p.shard.Close()
	return p.node.Close()
}

func (p *inProcess) Dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.pipes.conns <- theirs
	return ours, nil
}

func (p *inProcess) Virtual() bool    { return true }
func (p *inProcess) Parked(int) error { synctest.Wait(); return nil }
func (p *inProcess) Close() error     { return p.stop() }

func (p *inProcess) Advance(d time.Duration) error {
	time.Sleep(d)
	synctest.Wait()
	return nil
}

func (p *inProcess) StepWall(d time.Duration) { p.clock.Step(d) }

func (p *inProcess) Restart() error { return p.RestartAfter(0) }

// RestartAfter lets time pass without a server, and so without its timers.
func (p *inProcess) RestartAfter(d time.Duration) error {
	if err := p.stop(); err != nil {
		return err
	}
	time.Sleep(d)
	return p.start()
}

// pipes is a listener inside the process.
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

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
