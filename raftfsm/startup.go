package raftfsm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
)

// ErrRefused is wrapped by every refusal to start on what the folder holds.
var ErrRefused = errors.New("refusing to start")

// ErrForeign is wrapped by the refusal of a folder that dqd did not make.
var ErrForeign = errors.New("no folder of dqd")

// errHalfRestored is wrapped by the refusal of a folder that a restore did not finish.
var errHalfRestored = errors.New("a restore into it was interrupted")

// refusef explains a refusal in one line: which folder, what is wrong, what to do.
func refusef(dir, what, todo string, args ...any) error {
	what = strings.ReplaceAll(fmt.Sprintf(what, args...), "\n", ", ")
	return fmt.Errorf("%w on folder %s: %s; %s", ErrRefused, dir, what, todo)
}

const (
	fromBackup = "restore the whole folder from a backup; do not start on a part of it"
	// A node that forgot votes or acknowledged entries must not come back as itself.
	lostLog = "restore the whole data folder from a backup"
)

// refused explains why a store was not opened.
func refused(dir, todo string, err error) error {
	if errors.Is(err, persist.ErrMissing) {
		return refusef(dir, "the store is missing", todo)
	}
	if errors.Is(err, persist.ErrDamaged) {
		return refusef(dir, "%v", todo, err)
	}
	return err
}

// found is what the stores of a folder hold.
type found struct {
	applied record.Applied

	snapshot    bool // there is one
	snapIndex   uint64
	snapTerm    uint64
	snapApplied uint64 // the state's position when the snapshot was taken

	first, last uint64 // log; 0 = empty
	lastTerm    uint64
	currentTerm uint64
	known       bool // the log store knows a term

	sinceEntries, sinceBytes int64 // of the log after the snapshot
}

// check refuses stores that do not fit together. Index numbers count all entries
// of the log; the state's position counts only those that it sees, so it may
// trail a snapshot's index, and the descriptor records both.
//
//  1. The log store knows its term, and no term in the folder is newer.
//  2. The state has everything that its newest snapshot says was flushed.
//  3. The state has nothing that the log, or the snapshot, does not have.
//  4. The log begins no later than right after the snapshot.
//  5. The log does not end before the snapshot, unless it is empty.
func (f *found) check(dir string) error {
	a := f.applied.Index
	switch {
	case !f.known:
		return refusef(dir, "the log store has lost its term and vote", lostLog)
	case f.currentTerm < f.lastTerm || f.currentTerm < f.snapTerm || f.currentTerm < f.applied.Term:
		return refusef(dir, "the log store's term %d is behind term %d of the entries: it is stale", lostLog,
			f.currentTerm, max(f.lastTerm, f.snapTerm, f.applied.Term))
	case f.snapshot && a < f.snapApplied:
		return refusef(dir, "the state store is at entry %d, but its snapshot says that entry %d was flushed: it is stale or damaged",
			fromBackup, a, f.snapApplied)
	case a > max(f.last, f.snapIndex):
		return refusef(dir, "the state store is at entry %d, but the log ends at %d: the log is stale or has lost entries",
			lostLog, a, max(f.last, f.snapIndex))
	case f.last == 0 && !f.snapshot:
		return refusef(dir, "the log is empty: it has lost its entries", lostLog)
	case f.last != 0 && f.first > f.snapIndex+1:
		return refusef(dir, "the log begins at entry %d, but the newest snapshot is at %d: a snapshot descriptor is missing",
			fromBackup, f.first, f.snapIndex)
	case f.last != 0 && f.last < f.snapIndex:
		return refusef(dir, "the log ends at entry %d, before the snapshot at %d: it is stale or has lost entries",
			lostLog, f.last, f.snapIndex)
	}
	return nil
}

// inspect reads what the stores hold; it reads the whole log.
func inspect(dir string, shard uint32, state *persist.State, log *persist.Log, snaps *snapshotStore) (f found, err error) {
	if f.applied, err = readApplied(dir, shard, state); err != nil {
		return f, err
	}
	if newest := snaps.newest(); newest != nil {
		f.snapshot, f.snapIndex, f.snapTerm, f.snapApplied = true, newest.index, newest.term, newest.applied
	}
	stable := stableStore{log: log}
	switch f.currentTerm, err = stable.GetUint64([]byte(currentTermKey)); {
	case err == nil:
		f.known = true
	case !errors.Is(err, persist.ErrNotFound):
		return f, refusef(dir, "the log store is unreadable (%v)", lostLog, err)
	}
	f.first, f.last = log.FirstIndex(), log.LastIndex()
	err = log.Check(func(e *persist.Entry) error {
		if e.Term < f.lastTerm {
			return fmt.Errorf("log entry %d has term %d after term %d", e.Index, e.Term, f.lastTerm)
		}
		f.lastTerm = e.Term
		if raft.LogType(e.Type) > raft.LogConfiguration {
			return fmt.Errorf("log entry %d has the unknown type %d", e.Index, e.Type)
		}
		if e.Index > f.snapIndex {
			f.sinceEntries++
			f.sinceBytes += int64(len(e.Data))
		}
		return nil
	})
	if err != nil {
		return f, refusef(dir, "%v", lostLog, err)
	}
	return f, nil
}

func readApplied(dir string, shard uint32, r persist.Reader) (record.Applied, error) {
	var applied record.Applied
	value, ok, err := r.Get(record.FormatKey())
	if err == nil && !ok {
		err = errors.New("no format record")
	}
	var format record.Format
	if err == nil {
		format, err = record.DecodeFormat(value)
	}
	if err != nil {
		return applied, refusef(dir, "the state store is unreadable (%v)", fromBackup, err)
	}
	if format.Version != record.FormatVersion || format.Shard != shard {
		return applied, refusef(dir, "the state store has format %d and belongs to shard %d; expected format %d, shard %d",
			"use the right folder and program", format.Version, format.Shard, record.FormatVersion, shard)
	}
	if value, ok, err = r.Get(record.AppliedKey()); err == nil && !ok {
		err = errors.New("no position")
	}
	if err == nil {
		applied, err = record.DecodeApplied(value)
	}
	if err != nil {
		return applied, refusef(dir, "the state store is unreadable (%v)", fromBackup, err)
	}
	return applied, nil
}
