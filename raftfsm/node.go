package raftfsm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
)

// Options configure a node. Dir and NodeID must be given; the zero value of all
// else works.
type Options struct {
	Dir    string
	FS     persist.FS // nil = the disk
	Shard  uint32
	NodeID string
	Logger *slog.Logger // nil = discard
	// Fatal is called once, at the first error after which the node may not go on.
	// It must not return; nil = report it and exit with code 70.
	Fatal func(error)
	// Observe gets durations. It is called from the node's and raft's goroutines,
	// must not block, and may be called concurrently.
	Observe func(kind ObserveKind, ns int64)

	// A snapshot is taken when the log after the last one has so many entries or
	// bytes. 0 = 32,768 and 64 MiB. They bound what a restart reads again.
	SnapshotEntries, SnapshotBytes int64
	// TrailingLogs is how many entries before a snapshot stay in the log, for
	// followers that are a little behind. 0 = 256.
	TrailingLogs uint64

	// Sizes of the stores, in bytes; 0 = the defaults of package persist.
	StateCache, LogRecent      int64
	StateMemTable, LogMemTable uint64
	StateFiles                 int  // tables held open; 0 = the default of package persist
	NoWarmUp                   bool // leave out the log's warm-up, see persist.LogOptions

	// Tests of the tests break these; nil = the real ones.
	apply applyFunc
	flush func(*persist.State) (<-chan struct{}, error)
}

func (o *Options) defaults() {
	if o.FS == nil {
		o.FS = persist.DiskFS()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Fatal == nil {
		o.Fatal = persist.ExitOnFault
	}
	o.SnapshotEntries = cmp.Or(o.SnapshotEntries, 32768)
	o.SnapshotBytes = cmp.Or(o.SnapshotBytes, 64<<20)
	o.TrailingLogs = cmp.Or(o.TrailingLogs, 256)
	if o.apply == nil {
		o.apply = effect.Apply
	}
	if o.flush == nil {
		o.flush = (*persist.State).AsyncFlush
	}
}

func (o *Options) validate() error {
	if o.Dir == "" || o.NodeID == "" {
		return errors.New("a node needs a folder and a node id")
	}
	return nil
}

func (o *Options) logOptions(existing bool) persist.LogOptions {
	return persist.LogOptions{
		FS: o.FS, MemTableSize: o.LogMemTable, Recent: int(o.LogRecent), MustExist: existing,
		WarmUp: existing && !o.NoWarmUp, Fatal: o.Fatal, Logger: o.Logger,
	}
}

func (o *Options) stateOptions(existing bool) persist.StateOptions {
	return persist.StateOptions{
		FS: o.FS, Cache: o.StateCache, MemTableSize: o.StateMemTable, MaxFiles: o.StateFiles, MustExist: existing, Fatal: o.Fatal, Logger: o.Logger,
	}
}

// ObserveKind says what a duration is of. Metrics are made elsewhere.
type ObserveKind uint8

const (
	// ObserveLogSync: entries written to the log and synced.
	ObserveLogSync ObserveKind = iota
	// ObserveApply: a batch of entries written into the state store.
	ObserveApply
	// ObserveCommit: from Propose to the answer, successes only.
	ObserveCommit
	// ObserveSnapshot: from the begin of a snapshot to its durable descriptor.
	ObserveSnapshot
)

const (
	heartbeat     = 50 * time.Millisecond // a lone voter has nobody to hear from: this only delays its election
	closePatience = 10 * time.Second
)

// Node is one shard's member of its Raft group, with its log and its state. It is
// safe for concurrent use.
//
// Goroutines, all of which Close ends and waits for: raft's own; the watcher of
// proposals; the drain of raft's leadership channel; the compactor.
type Node struct {
	o     Options
	fatal func(error)
	lock  io.Closer
	log   *persist.Log
	state *persist.State
	snaps *snapshotStore
	raft  *raft.Raft

	proposals *proposals
	applied   atomic.Pointer[record.Applied]
	err       atomic.Pointer[error] // why the node may not go on
	failed    chan struct{}         // closed when the Fatal hook has returned

	leadership chan bool     // one slot: the latest value wins
	kick       chan struct{} // one slot: the log has grown enough for a snapshot
	stop       chan struct{}
	running    sync.WaitGroup
	closing    sync.Once

	// What was appended to the log, in all and up to the last snapshot.
	logEntries, logBytes   atomic.Int64
	snapEntries, snapBytes atomic.Int64
}

// Open opens the node's folder, or makes it, and starts raft. It waits for
// nothing: see Leadership.
func Open(o Options) (*Node, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.defaults()
	n := &Node{
		o: o, fatal: o.Fatal, leadership: make(chan bool, 1), kick: make(chan struct{}, 1), stop: make(chan struct{}),
		failed: make(chan struct{}),
	}
	n.o.Fatal = func(err error) { n.fail(err) } // a fault of a store is one of the node
	if err := n.open(); err != nil {
		n.closeStores()
		return nil, err
	}
	return n, nil
}

func (n *Node) open() (err error) {
	o := &n.o
	if n.lock, err = persist.LockFolder(o.FS, o.Dir); err != nil {
		return err
	}
	f := folder{fs: o.FS, dir: o.Dir, shard: o.Shard, node: o.NodeID}
	if err = f.prepare(o); err != nil {
		return err
	}
	if n.snaps, err = openSnapshots(o.FS, f.snapDir()); err != nil {
		return err
	}
	if n.log, err = persist.OpenLog(f.logDir(), o.Shard, o.logOptions(true)); err != nil {
		return refused(f.logDir(), lostLog, err)
	}
	if n.state, err = persist.OpenState(f.stateDir(), o.stateOptions(true)); err != nil {
		return refused(f.stateDir(), fromBackup, err)
	}
	has, err := inspect(o.Dir, o.Shard, n.state, n.log, n.snaps)
	if err == nil {
		err = has.check(o.Dir)
	}
	if err != nil {
		return err
	}
	n.applied.Store(&has.applied)
	n.logEntries.Store(has.sinceEntries)
	n.logBytes.Store(has.sinceBytes)
	n.snaps.recorded = func(m mark) {
		n.snapEntries.Store(m.entries)
		n.snapBytes.Store(m.bytes)
	}
	return n.start()
}

// start starts raft and the node's goroutines.
func (n *Node) start() error {
	notify := make(chan bool, 16)
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(n.o.NodeID)
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = heartbeat, heartbeat, heartbeat/2
	conf.CommitTimeout = 10 * time.Millisecond
	conf.MaxAppendEntries = 64
	conf.BatchApplyCh = true
	conf.NoSnapshotRestoreOnStart = true // the state store is where it is: see the fsm
	conf.ShutdownOnRemove = true
	conf.NoLegacyTelemetry = true
	conf.NotifyCh = notify
	conf.Logger = raftLogger(n.o.Logger)
	conf.TrailingLogs = n.o.TrailingLogs
	// The compactor takes the snapshots; raft's own timer counts entries only.
	conf.SnapshotThreshold, conf.SnapshotInterval = math.MaxUint64, 365*24*time.Hour

	n.proposals = newProposals(n.observe)
	n.running.Go(func() { n.drainLeadership(notify) })
	var err error
	n.raft, err = raft.NewRaft(conf, &fsm{n: n, applied: n.Applied()},
		&logStore{log: n.log, synced: n.logged, fail: n.fail}, &stableStore{log: n.log}, n.snaps,
		newTransport(raft.ServerAddress(n.o.NodeID)))
	if err != nil {
		close(n.stop)
		n.running.Wait()
		n.proposals.abandon()
		return fmt.Errorf("starting raft on folder %s: %w", n.o.Dir, err)
	}
	n.running.Go(n.compactor) // after raft is there to be asked for a snapshot
	return nil
}

// drainLeadership passes on raft's leadership changes. Raft blocks when nobody
// reads its channel, so this does nothing else.
func (n *Node) drainLeadership(notify <-chan bool) {
	for {
		select {
		case leader := <-notify:
			select {
			case <-n.leadership:
			default:
			}
			n.leadership <- leader // this is the only sender, and the slot is free
		case <-n.stop:
			return
		}
	}
}

// compactor takes a snapshot whenever the log has grown enough, also right after
// a start on a long log. A refusal (nothing applied since the start) is repeated
// with the next entry.
func (n *Node) compactor() {
	for {
		select {
		case <-n.kick:
			if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
				n.o.Logger.Error("taking a snapshot", "shard", n.o.Shard, "err", err)
			}
		case <-n.stop:
			return
		}
	}
}

// logged is called when entries are on disk, on raft's main thread.
func (n *Node) logged(entries, bytes int, took time.Duration) {
	if n.o.Observe != nil {
		n.o.Observe(ObserveLogSync, int64(took))
	}
	all, size := n.logEntries.Add(int64(entries)), n.logBytes.Add(int64(bytes))
	if all-n.snapEntries.Load() < n.o.SnapshotEntries && size-n.snapBytes.Load() < n.o.SnapshotBytes {
		return
	}
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// mark is a position in what was appended to the log.
type mark struct{ entries, bytes int64 }

func (n *Node) mark() mark { return mark{n.logEntries.Load(), n.logBytes.Load()} }

// State returns the state store: what is committed and applied.
func (n *Node) State() *persist.State { return n.state }

// Applied returns the position and the counters of the state.
func (n *Node) Applied() record.Applied { return *n.applied.Load() }

// Leadership returns a channel with the newest change: true = this node has
// become the leader. Changes that nobody took in time are dropped, so a second
// true means that leadership was lost and regained in between.
func (n *Node) Leadership() <-chan bool { return n.leadership }

// Propose hands an entry to raft, which keeps its bytes. done is called exactly
// once: with nil when the entry is committed, applied and visible in State; with
// an error that is ErrFenced, ErrNotProposed or ErrInDoubt. The done functions are
// called one at a time, in the order of the proposals, never from within Propose;
// they must not block, because raft's FSM thread waits for them.
func (n *Node) Propose(entry []byte, done func(error)) {
	refuse := n.refusal()
	if refuse == nil {
		// What would stop every node when it is applied must not get into the log.
		applied := n.Applied()
		if err := effect.Check(&applied, n.o.Shard, entry); err != nil {
			refuse = fmt.Errorf("%w: %w", ErrNotProposed, err)
		}
	}
	n.proposals.add(entry, refuse, func() raft.Future { return n.raft.Apply(entry, 0) }, done)
}

// Barrier returns when all entries that were committed before it are applied.
func (n *Node) Barrier() error {
	answer := make(chan error, 1)
	n.proposals.add(nil, n.refusal(), func() raft.Future { return n.raft.Barrier(0) }, func(err error) { answer <- err })
	return <-answer
}

func (n *Node) refusal() error {
	if err := n.failure(); err != nil {
		return fmt.Errorf("%w: the node has failed: %v", ErrNotProposed, err)
	}
	return nil
}

// Stats are numbers about a node.
type Stats struct {
	Leader              bool
	Term                uint64
	FirstIndex          uint64 // of the log
	LastIndex           uint64
	CommitIndex         uint64
	AppliedIndex        uint64 // of the state; barriers do not count
	SnapshotIndex       uint64
	EntriesSinceShot    int64 // in the log after the last snapshot
	BytesSinceShot      int64
	InFlight            int // proposals
	LogStore, DataStore persist.StoreMetrics
}

// Stats returns numbers about the node.
func (n *Node) Stats() Stats {
	s := Stats{
		Leader: n.raft.State() == raft.Leader, Term: n.raft.CurrentTerm(),
		FirstIndex: n.log.FirstIndex(), LastIndex: n.log.LastIndex(),
		CommitIndex: n.raft.CommitIndex(), AppliedIndex: n.Applied().Index,
		EntriesSinceShot: n.logEntries.Load() - n.snapEntries.Load(),
		BytesSinceShot:   n.logBytes.Load() - n.snapBytes.Load(),
		InFlight:         n.proposals.inFlight(),
		LogStore:         n.log.Metrics(), DataStore: n.state.Metrics(),
	}
	if newest := n.snaps.newest(); newest != nil {
		s.SnapshotIndex = newest.index
	}
	return s
}

// Close answers the proposals in flight, stops raft and closes the stores. The
// state must not be used any more.
func (n *Node) Close() (err error) {
	n.closing.Do(func() {
		n.proposals.close(closePatience)
		err = n.raft.Shutdown().Error()
		close(n.stop)
		n.running.Wait()
		n.proposals.abandon()
		if cerr := n.closeStores(); err == nil {
			err = cerr
		}
	})
	return err
}

func (n *Node) closeStores() (err error) {
	keep := func(cerr error) {
		if err == nil {
			err = cerr
		}
	}
	if n.state != nil {
		keep(n.state.Close())
	}
	if n.log != nil {
		keep(n.log.Close())
	}
	if n.lock != nil {
		keep(n.lock.Close())
	}
	return err
}

// fail ends the process: the Fatal hook does not return, except in tests, where
// the node refuses everything from then on. It returns the first error, and not
// before the hook has: raft panics where it is told of an error, and nobody shall
// read of that in place of the fault.
func (n *Node) fail(err error) error {
	if n.err.CompareAndSwap(nil, &err) {
		n.fatal(err)
		close(n.failed)
	}
	<-n.failed
	return *n.err.Load()
}

// failure returns why the node may not go on, nil if it may.
func (n *Node) failure() error {
	if err := n.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (n *Node) observe(kind ObserveKind, start time.Time) {
	if n.o.Observe != nil {
		n.o.Observe(kind, int64(time.Since(start)))
	}
}
