package shard

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
	"dqd/server/shard/evaluate"
)

// store reads committed state for the evaluator: an error stops the node.
type store struct {
	reader persist.BackReader
	fatal  func(error)
}

func (s store) Get(key []byte) ([]byte, bool) {
	v, ok, err := s.reader.Get(key)
	if err != nil {
		s.fatal(err)
	}
	return v, ok
}

// getShare is how many reads are worth a goroutine.
const getShare = 16

// GetAll reads on all cores: what is not in memory is checked and unpacked, which the
// actor would have to wait for key by key.
func (s store) GetAll(keys [][]byte) [][]byte {
	values := make([][]byte, len(keys))
	var (
		next    atomic.Int64
		readers sync.WaitGroup
	)
	read := func() {
		for {
			to := int(next.Add(getShare))
			for i := to - getShare; i < min(to, len(keys)); i++ {
				values[i], _ = s.Get(keys[i])
			}
			if to >= len(keys) {
				return
			}
		}
	}
	for range min(runtime.NumCPU(), (len(keys)+getShare-1)/getShare) - 1 {
		readers.Go(read)
	}
	read()
	readers.Wait()
	return values
}

func (s store) Scan(lo, hi []byte, fn func(key, value []byte) bool) {
	if err := s.reader.Scan(lo, hi, fn); err != nil {
		s.fatal(err)
	}
}

// ScanBack is Scan from the last key to the first.
func (s store) ScanBack(lo, hi []byte, fn func(key, value []byte) bool) {
	if err := s.reader.ScanBack(lo, hi, fn); err != nil {
		s.fatal(err)
	}
}

// stoppable is a store whose scans end early when stop says so.
type stoppable struct {
	store
	stop func() bool
}

func (s stoppable) Scan(lo, hi []byte, fn func(key, value []byte) bool) {
	s.store.Scan(lo, hi, s.stopping(fn))
}

func (s stoppable) ScanBack(lo, hi []byte, fn func(key, value []byte) bool) {
	s.store.ScanBack(lo, hi, s.stopping(fn))
}

func (s stoppable) stopping(fn func(key, value []byte) bool) func(key, value []byte) bool {
	n := 0
	return func(key, value []byte) bool {
		if n++; n%1024 == 0 && s.stop() {
			return false
		}
		return fn(key, value)
	}
}

// countQueues reads the records of all queues.
func countQueues(st store) *evaluate.Census {
	c := &evaluate.Census{}
	lo := record.QueueSpace()
	st.Scan(lo, record.PrefixEnd(lo), func(key, value []byte) bool {
		number, ok := record.ParseQueueKey(key)
		q, err := record.DecodeQueue(number, value)
		if !ok || err != nil {
			st.fatal(errors.New("damaged state store: a queue's record does not parse"))
		}
		c.Count(q)
		return true
	})
	return c
}

// scanWakes returns the reader that a window loads from.
func (s *Shard) scanWakes(d record.Domain) func(from int64, yield func(dispatch.Hint) bool) {
	return func(from int64, yield func(dispatch.Hint) bool) {
		lo := record.AppendWakeKey(nil, record.Instant{Domain: d, Ns: from}, 0)
		hi := record.PrefixEnd(record.AppendWakePrefix(nil, d))
		store{s.opt.State, s.opt.Fatal}.Scan(lo, hi, func(key, value []byte) bool {
			wake, seq, ok := record.ParseWakeKey(key)
			v, ok2 := record.ParseWakeValue(value)
			if !ok || !ok2 {
				s.opt.Fatal(errors.New("damaged state store: a key of the wake index does not parse"))
			}
			return yield(dispatch.Hint{Wake: wake, Seq: seq, Queue: v.Queue, Dead: v.Dead, Died: v.Died, ID: string(v.ID)})
		})
	}
}
