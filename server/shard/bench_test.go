package shard_test

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/server/shard/dispatch"
	"dqd/server/shard/evaluate"
)

type mustStore struct{ r persist.Reader }

func (s mustStore) Get(k []byte) ([]byte, bool) {
	v, ok, err := s.r.Get(k)
	if err != nil {
		panic(err)
	}
	return v, ok
}

func (s mustStore) GetAll(keys [][]byte) [][]byte {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i], _ = s.Get(key)
	}
	return values
}

func (s mustStore) Scan(lo, hi []byte, fn func(k, v []byte) bool) {
	if err := s.r.Scan(lo, hi, fn); err != nil {
		panic(err)
	}
}

// BenchmarkAdd is the cost of one DQADD in a batch of 32, without network and
// log: parse, evaluate, seal, apply.
func BenchmarkAdd(b *testing.B) {
	_ = slog.Default
	st, err := persist.OpenState("state", persist.StateOptions{FS: persist.MemFS()})
	if err != nil {
		b.Fatal(err)
	}
	applied := record.Applied{NextToken: 1, NextSeq: 1, NextQueue: 1, Epoch: 1, Sequence: math.MaxUint64}
	m := evaluate.NewMemory(mustStore{st}, applied, &evaluate.Census{})
	lim := evaluate.DefaultLimits()
	cl := commands.DefaultLimits()
	payload := make([]byte, 100)
	var parse, eval, seal, apply time.Duration
	now := int64(1.8e18)
	index := uint64(0)
	last := record.Applied{}
	b.ReportAllocs()
	for i := 0; i < b.N; i += 32 {
		now += 1e6
		t0 := time.Now()
		var reqs []commands.Request
		for k := range 32 {
			_, r, err := commands.Parse([][]byte{[]byte("DQADD"), []byte("q"), []byte(fmt.Sprintf("job-%012d", i+k)), payload, []byte("DELAY"), []byte("1h")}, cl)
			if err != nil {
				b.Fatal(err)
			}
			reqs = append(reqs, r)
		}
		t1 := time.Now()
		for d, w := range m.Windows {
			w.Load(now, func(from int64, yield func(h dispatch.Hint) bool) {})
			_ = d
		}
		batch := m.NewBatch(evaluate.Now{Progress: now}, lim)
		for _, r := range reqs {
			batch.Evaluate(r)
		}
		t2 := time.Now()
		e := batch.Seal(0)
		t3 := time.Now()
		pb := st.Batch()
		index++
		last, _, err = effect.Apply(pb, last, 0, index, 1, e)
		if err != nil {
			b.Fatal(err)
		}
		if err := pb.Commit(); err != nil {
			b.Fatal(err)
		}
		t4 := time.Now()
		parse += t1.Sub(t0)
		eval += t2.Sub(t1)
		seal += t3.Sub(t2)
		apply += t4.Sub(t3)
	}
	n := float64(b.N)
	b.ReportMetric(float64(parse)/n, "parse-ns")
	b.ReportMetric(float64(eval)/n, "eval-ns")
	b.ReportMetric(float64(seal)/n, "seal-ns")
	b.ReportMetric(float64(apply)/n, "apply-ns")
}
