package raftfsm

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
)

// fsm writes committed entries into the state store. Raft calls it from one
// goroutine, its FSM thread.
type fsm struct {
	n       *Node
	fenced  []bool // of the batch being applied; scratch
	applied record.Applied
}

var (
	_ raft.BatchingFSM        = (*fsm)(nil)
	_ raft.ConfigurationStore = (*fsm)(nil)
)

// applyFunc is effect.Apply; tests of the tests break it.
type applyFunc func(txn effect.Txn, last record.Applied, shard uint32, index, term uint64, entry []byte) (record.Applied, bool, error)

// ApplyBatch writes the entries as one batch and answers their proposals, before
// raft gets to it: from here the way to the proposer is shortest.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	responses := make([]any, len(logs))
	start := time.Now()
	if err := f.write(logs); err != nil {
		// The entries are committed but not applied, and must not be skipped.
		err = f.n.fail(fmt.Errorf("applying log entries %d to %d: %w", logs[0].Index, logs[len(logs)-1].Index, err))
		for i := range responses {
			responses[i] = err
		}
		return responses
	}
	f.n.observe(ObserveApply, start)
	for i, l := range logs {
		if l.Type != raft.LogCommand {
			continue
		}
		var err error
		if f.fenced[i] {
			err = ErrFenced
		}
		f.n.proposals.applied(l.Data, err)
	}
	return responses
}

func (f *fsm) write(logs []*raft.Log) error {
	if err := f.n.failure(); err != nil {
		return err
	}
	f.fenced = f.fenced[:0]
	var batch *persist.Batch
	applied := f.applied
	for _, l := range logs {
		fenced := false
		// After a restart raft hands over again what the state has already.
		if l.Type == raft.LogCommand && l.Index > applied.Index {
			if batch == nil {
				batch = f.n.state.Batch()
			}
			var err error
			if applied, fenced, err = f.n.o.apply(batch, applied, f.n.o.Shard, l.Index, l.Term, l.Data); err != nil {
				batch.Discard()
				return err
			}
		}
		f.fenced = append(f.fenced, fenced)
	}
	if batch == nil {
		return nil
	}
	if err := batch.Commit(); err != nil {
		return err
	}
	f.applied = applied
	f.n.applied.Store(&applied)
	return nil
}

// Apply is not used by raft, which calls ApplyBatch.
func (f *fsm) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// StoreConfiguration is not used either; that it exists makes raft count the
// configurations as applied, without which it refuses to take snapshots.
func (f *fsm) StoreConfiguration(uint64, raft.Configuration) {}

// Restore would read a snapshot of another node.
func (f *fsm) Restore(snapshot io.ReadCloser) error {
	snapshot.Close()
	return errNoCopy
}

// Snapshot begins a snapshot: the position is taken on the FSM thread before the
// flush begins, so that all up to it is in what gets flushed.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.n.failure(); err != nil {
		return nil, err
	}
	s := &fsmSnapshot{n: f.n, applied: f.applied, mark: f.n.mark(), start: time.Now()}
	var err error
	s.flushed, err = f.n.o.flush(f.n.state)
	return s, err
}

type fsmSnapshot struct {
	n       *Node
	applied record.Applied
	mark    mark
	start   time.Time
	flushed <-chan struct{}
}

// Persist waits for the flush; the sink's Close then records the snapshot. The
// order is what makes it safe to truncate the log.
func (s *fsmSnapshot) Persist(to raft.SnapshotSink) error {
	select {
	case <-s.flushed:
	case <-s.n.state.Failed():
		return s.n.failure()
	}
	sink := to.(*snapshotSink)
	sink.d.applied, sink.d.stateHash, sink.mark = s.applied.Index, s.applied.StateHash, s.mark
	if err := sink.Close(); err != nil {
		return s.n.fail(fmt.Errorf("recording a snapshot: %w", persist.IfFull(s.n.o.Dir, err)))
	}
	s.n.observe(ObserveSnapshot, s.start)
	return nil
}

// Release has nothing to release.
func (s *fsmSnapshot) Release() {}
