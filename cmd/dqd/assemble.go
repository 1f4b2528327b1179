package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"dqd/persist"
	"dqd/raftfsm"
	"dqd/server"
	"dqd/server/guard"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/tsc"
)

// node is a running dqd: every part of it, in the order in which they were made.
type node struct {
	config    *config
	guard     *guard.Guard
	clock     *tsc.TSC
	server    *server.Server
	listeners []net.Listener
	web       net.Listener // nil = off
	http      *http.Server
	raft      *raftfsm.Node
	shard     *shard.Shard
	failed    chan error    // the first listener that fails
	asked     chan struct{} // closed when a client asks for the end
	serving   chan struct{} // closed when job commands are answered
}

// nodeName is the only member of a group of one. The folder remembers it.
const nodeName = "node-1"

// assemble makes a node from its parts and starts it. The ports come first, so
// that a taken one is known before the data is touched; clients that connect
// while the data is loaded wait.
//
//	clients → server → shard → raft → log and state store
//	          ↑ replies  ↑ clock, alarms
func assemble(c *config, log *slog.Logger) (_ *node, err error) {
	n := &node{config: c, failed: make(chan error, len(c.Bind)+1), asked: make(chan struct{}), serving: make(chan struct{})}
	defer func() {
		if err != nil {
			n.shutdown()
		}
	}()

	n.clock = tsc.NewTSC(tsc.Options{OnEvent: func(i tsc.Info) {
		log.Info("clock", "source", i.Source, "tsc-hz", i.HzTSC, "reason", i.Reason)
	}})

	disk := persist.DiskFS()
	ballast := n.newGuard(disk, log)
	options := c.Options
	options.Guard, options.Wall, options.Version, options.Log = n.guard, n.clock.Wall, buildVersion(), log
	options.Stop = func() { close(n.asked) }
	if n.server, err = server.New(options); err != nil {
		return nil, err
	}
	if n.listeners, err = listen(c.Bind, c.Port); err != nil {
		return nil, err
	}
	for _, l := range n.listeners {
		go func() { n.fail(n.server.Serve(l)) }()
	}
	if c.HTTPPort >= 0 {
		if n.web, err = listenOn(c.HTTPBind, c.HTTPPort); err != nil {
			return nil, err
		}
		n.http = n.server.HTTP()
		go func() { n.fail(n.http.Serve(n.web)) }()
	}

	observe := n.server.Observer()
	sizes := sizesOf(c.Memory)
	tables, _ := filesOf(openFiles())
	if n.raft, err = raftfsm.Open(raftfsm.Options{
		Dir:    c.Dir,
		FS:     ballast.FS(),
		NodeID: nodeName,
		Logger: log,
		Observe: func(kind raftfsm.ObserveKind, ns int64) {
			switch kind {
			case raftfsm.ObserveLogSync:
				observe.Fsync(ns)
			case raftfsm.ObserveApply:
				observe.Apply(ns)
			case raftfsm.ObserveCommit:
				observe.Commit(ns)
			case raftfsm.ObserveSnapshot:
				observe.Snapshot(ns)
			}
		},
		StateCache:    sizes.stateCache,
		StateMemTable: sizes.stateMemTable,
		LogMemTable:   sizes.logMemTable,
		StateFiles:    tables,
		Fatal:         c.fatal,
	}); err != nil {
		return nil, err
	}
	n.guard.Start()

	n.server.ShowNode(n.raft.Stats)
	n.server.Show("raft", n.raftFacts)
	n.server.Show("storage", n.storageFacts)
	n.server.Backups(func() server.Backup { return n.raft.Backup(n.clock.Wall()) })

	decides := evaluate.DefaultLimits()
	decides.Refuse = n.guard.Refuse
	decides.MaxAhead, decides.MaxWaits, decides.Queue.MaxPayload = c.Arguments.MaxAhead, max(c.MaxClients, c.MostClients), int64(c.Arguments.MaxPayload)
	n.shard = shard.New(shard.Options{
		Log:        n.raft,
		State:      n.raft.State(),
		Clock:      n.clock,
		ClockInfo:  n.clock.Info,
		ClockTrust: int64(c.ClockTrust),
		Limits:     decides,
		Fatal:      c.fatal,
		Logger:     log,
		Observe:    shard.Observe{Lateness: observe.Lateness, TimerError: observe.TimerError},
	})
	n.shard.OnServing(func() {
		n.server.Attach(n.shard)
		close(n.serving)
	})
	return n, nil
}

// alive reports, before ctx ends, whether the node makes progress. A survey arrives only
// if the actor evaluates, if the entries in flight get through the log into the state,
// and if that can be read; a process of which any of it stands still serves nobody.
func (n *node) alive(ctx context.Context) bool { return n.shard.Survey(ctx) != nil }

// newGuard makes the guard of disk and memory, and returns the ballast that it keeps.
func (n *node) newGuard(disk persist.FS, log *slog.Logger) *persist.Ballast {
	c := n.config
	b := persist.NewBallast(disk, c.Dir, func() { n.guard.BallastGiven() })
	n.guard = guard.New(guard.Options{
		Disk: func() (free, total int64, err error) {
			u, err := disk.GetDiskUsage(c.Dir)
			return int64(u.AvailBytes), int64(u.TotalBytes), err
		},
		MinFree:   c.MinDiskFree,
		Ballast:   b,
		Store:     guarded{n},
		Memory:    guard.ResidentMemory,
		MaxMemory: c.Memory,
		Release:   debug.FreeOSMemory,
		Log:       log,
	})
	return b
}

// guarded is the node's state as the guard of the disk sees it.
type guarded struct{ *node }

// Sizes returns the bytes of the state's tables, and about what of them is in use:
// payloads, and a little more than ids, indexes and metadata take.
func (n guarded) Sizes() (tables, used int64) {
	const beside = 512
	select {
	case <-n.serving:
	default: // the jobs are not counted yet
		return 0, 0
	}
	t := &n.shard.Gauges().Totals
	return n.raft.State().Metrics().TableBytes, t.Bytes + beside*(t.Delayed+t.Ready+t.Leased+t.Dead)
}

// Reclaim implements guard.Store.
func (n guarded) Reclaim(ctx context.Context, piece int64) error {
	return n.raft.State().Reclaim(ctx, piece)
}

// fail notes that a listener ended without being asked to.
func (n *node) fail(err error) {
	if errors.Is(err, server.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return
	}
	select {
	case n.failed <- err:
	default:
	}
}

// end is shutdown, but not for ever: what waits for a disk that stands still, or has
// gone wrong, is left as it is. That is safe whenever kill -9 is.
func (n *node) end(within time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- n.shutdown() }()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		return fmt.Errorf("log and state were not closed within %v, as a disk stalls: what was acknowledged is safe, and the next start reads it", within)
	}
}

// shutdown ends the parts in an order in which each finds what it needs: first
// the clients are answered, then the shard ends, then the log and the store close.
func (n *node) shutdown() error {
	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if n.server != nil {
		if err := n.server.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("clients: %w", err))
		}
	}
	if n.http != nil {
		n.http.Close()
	}
	closeAll(n.listeners)
	if n.shard != nil {
		n.shard.Close()
	}
	n.guard.Stop()
	if n.raft != nil {
		n.server.ShowNode(nil)
		errs = append(errs, n.raft.Close())
	}
	if n.clock != nil {
		n.clock.Close()
	}
	return errors.Join(errs...)
}
