package raftfsm

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"dqd/persist"
)

// Names of raft's stable values.
const (
	currentTermKey  = "CurrentTerm"
	lastVoteTermKey = "LastVoteTerm"
	lastVoteCandKey = "LastVoteCand"
)

// logStore is raft's LogStore on the log.
type logStore struct {
	log    *persist.Log
	synced func(entries, bytes int, took time.Duration)
	// fail ends the process: after a failed write raft's idea of the log's end is
	// not what is on disk, and it would go on with it.
	fail func(error) error
}

var _ raft.MonotonicLogStore = (*logStore)(nil)

// IsMonotonic tells raft that the log has no gaps: after the installation of a
// snapshot it deletes all entries instead of leaving one.
func (s *logStore) IsMonotonic() bool { return true }

func (s *logStore) FirstIndex() (uint64, error) { return s.log.FirstIndex(), nil }
func (s *logStore) LastIndex() (uint64, error)  { return s.log.LastIndex(), nil }

func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	e, err := s.log.Get(index)
	if errors.Is(err, persist.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	if err != nil {
		return err
	}
	*l = fromEntry(&e)
	return nil
}

func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *logStore) StoreLogs(logs []*raft.Log) error {
	start := time.Now()
	entries, bytes := make([]persist.Entry, len(logs)), 0
	for i, l := range logs {
		entries[i] = toEntry(l)
		bytes += len(l.Data)
	}
	if err := s.log.Append(entries); err != nil {
		return s.fail(err)
	}
	s.synced(len(logs), bytes, time.Since(start))
	return nil
}

func (s *logStore) DeleteRange(min, max uint64) error {
	if err := s.log.DeleteRange(min, max); err != nil {
		return s.fail(err)
	}
	return nil
}

func toEntry(l *raft.Log) persist.Entry {
	e := persist.Entry{Index: l.Index, Term: l.Term, Type: uint8(l.Type), Data: l.Data, Extensions: l.Extensions}
	if !l.AppendedAt.IsZero() {
		e.AppendedAt = l.AppendedAt.UnixNano()
	}
	return e
}

func fromEntry(e *persist.Entry) raft.Log {
	l := raft.Log{Index: e.Index, Term: e.Term, Type: raft.LogType(e.Type), Data: e.Data, Extensions: e.Extensions}
	if e.AppendedAt != 0 {
		l.AppendedAt = time.Unix(0, e.AppendedAt)
	}
	return l
}

// stableStore is raft's StableStore on the log. Raft writes a vote as two values;
// the first waits in memory for the second, so that a vote is one synced write
// and is never seen by half.
type stableStore struct {
	log *persist.Log

	mu       sync.Mutex // guards voteTerm
	voteTerm []byte     // not yet written; nil = none
}

func (s *stableStore) Set(key, value []byte) error {
	pairs := []persist.Pair{{Name: key, Value: value}}
	if string(key) == lastVoteCandKey {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.voteTerm != nil {
			pairs = append(pairs, persist.Pair{Name: []byte(lastVoteTermKey), Value: s.voteTerm})
		}
	}
	err := s.log.SetStable(pairs...)
	if err == nil && len(pairs) > 1 {
		s.voteTerm = nil
	}
	return err
}

func (s *stableStore) Get(key []byte) ([]byte, error) { return s.log.GetStable(key) }

func (s *stableStore) SetUint64(key []byte, v uint64) error {
	value := binary.BigEndian.AppendUint64(nil, v)
	if string(key) == lastVoteTermKey {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.voteTerm = value
		return nil
	}
	return s.log.SetStable(persist.Pair{Name: key, Value: value})
}

func (s *stableStore) GetUint64(key []byte) (uint64, error) {
	if string(key) == lastVoteTermKey {
		s.mu.Lock()
		staged := s.voteTerm
		s.mu.Unlock()
		if staged != nil {
			return binary.BigEndian.Uint64(staged), nil
		}
	}
	v, err := s.log.GetStable(key)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, errors.New("stable value " + string(key) + " is damaged")
	}
	return binary.BigEndian.Uint64(v), nil
}
