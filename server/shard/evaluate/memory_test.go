package evaluate

import (
	"math"
	"strconv"
	"testing"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

// mapStore is committed state in a map.
type mapStore struct{ effecttest.Store }

func (s mapStore) Get(key []byte) ([]byte, bool) {
	v, ok, _ := s.Store.Get(key)
	return v, ok
}

func (s mapStore) GetAll(keys [][]byte) [][]byte {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i], _ = s.Get(key)
	}
	return values
}

func (s mapStore) Scan(lo, hi []byte, fn func(key, value []byte) bool) { s.Store.Scan(lo, hi, fn) }

func parse(t *testing.T, words ...string) commands.Request {
	t.Helper()
	var args [][]byte
	for _, a := range words {
		args = append(args, []byte(a))
	}
	_, request, err := commands.Parse(args, commands.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// Jobs stay in memory when their batch is over, large bodies do not: neither one that
// was added nor one that was read for a pop (I15).
func TestLargeBodiesAreLetGo(t *testing.T) {
	store := mapStore{effecttest.Store{}}
	start := record.Applied{NextToken: 1, NextSeq: 1, NextQueue: 1, Epoch: 1, Sequence: math.MaxUint64}
	m := NewMemory(store, start, &Census{})
	now, index, last := Now{Progress: 1.8e18}, uint64(0), record.Applied{}
	held := func() (n int) {
		for _, j := range m.jobs.young {
			for _, rec := range []*record.Job{j.was, j.is} {
				if rec != nil && rec.Separate && rec.Body != nil {
					n++
				}
			}
			if j.body != nil {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		line []string
		held int // while the batch is on its way
	}{
		{[]string{"DQADD", "q", "a", string(make([]byte, 1<<20))}, 1},
		{[]string{"DQPOP", "q"}, 1},
		{[]string{"DQGET", "q", "a"}, 1},
	} {
		now.Progress++
		b := m.NewBatch(now, DefaultLimits())
		if reply, again := b.Evaluate(parse(t, step.line...)); again || reply == nil {
			t.Fatal(step.line[0], reply, again)
		}
		if n := held(); n != step.held {
			t.Errorf("%s: %d bodies are held, want %d: the test does not see them", step.line[0], n, step.held)
		}
		if !b.Empty() {
			var err error
			index++
			if last, _, err = effect.Apply(store, last, 0, index, 1, b.Seal(0)); err != nil {
				t.Fatal(err)
			}
			m.Committed(b.Number())
		}
		m.NewBatch(now, DefaultLimits())
		if n := held(); n != 0 {
			t.Errorf("after %s %d large bodies stay in memory", step.line[0], n)
		}
	}

	// A second entry takes the job while the first is on its way.
	first := m.NewBatch(now, DefaultLimits())
	first.Evaluate(parse(t, "DQADD", "q", "b", string(make([]byte, 1<<20))))
	first.Seal(0)
	second := m.NewBatch(now, DefaultLimits())
	second.Evaluate(parse(t, "DQPOP", "q", "NOACK"))
	second.Seal(0)
	if held() == 0 {
		t.Error("no body is held on its way: the test does not see them")
	}
	m.Committed(first.Number())
	m.Committed(second.Number())
	m.NewBatch(now, DefaultLimits())
	if n := held(); n != 0 {
		t.Errorf("after two entries in flight %d large bodies stay in memory", n)
	}
}

// What becomes live while a filter of known ids is filled is in it.
func TestKnownWhileFilled(t *testing.T) {
	m := NewMemory(mapStore{effecttest.Store{}}, record.Applied{NextToken: 1, NextSeq: 1, NextQueue: 1}, &Census{})
	now := Now{Progress: 1.8e18}
	filled := m.RenewKnown()
	if filled == nil || m.RenewKnown() != nil {
		t.Fatal("one filter is filled at a time")
	}
	b := m.NewBatch(now, DefaultLimits())
	b.Evaluate(parse(t, "DQADD", "q", "meanwhile", "x"))
	q := b.queueNamed([]byte("q"))
	m.UseKnown(filled)
	if b.find(q, []byte("meanwhile")) == nil {
		t.Error("a job that became live meanwhile is not known")
	}
	for i := range 100 {
		b.Evaluate(parse(t, "DQGET", "q", "nobody"+strconv.Itoa(i)))
	}
	if n := len(m.jobs.young); n > 5 {
		t.Errorf("%d ids were looked up in the store: the filter is not used", n)
	}
}

// While a filter is filled, only so many jobs may become live: they are kept in memory.
func TestKnownIsFilledAgain(t *testing.T) {
	m := NewMemory(mapStore{effecttest.Store{}}, record.Applied{NextToken: 1, NextSeq: 1, NextQueue: 1}, &Census{})
	filled := m.RenewKnown()
	most := m.learnedMax()
	for i := range most + 1000 {
		m.learn(strconv.AppendInt(nil, int64(i), 10))
	}
	if len(m.learned) > most+1 {
		t.Errorf("%d hashes are kept", len(m.learned))
	}
	m.UseKnown(filled)
	if m.unknown([]byte("1")) || m.learned != nil {
		t.Error("a filter is used that lacks a job")
	}
	if m.RenewKnown() == nil {
		t.Error("it is not filled again")
	}
}

// A discarded transaction has ended a queue and made it again: it is the one that it was,
// for what is in memory and for what the next entry writes.
func TestDiscardedEndOfAQueue(t *testing.T) {
	m := NewMemory(mapStore{effecttest.Store{}}, record.Applied{NextToken: 1, NextSeq: 1, NextQueue: 1}, &Census{})
	b := m.NewBatch(Now{Progress: 1.8e18}, DefaultLimits())
	b.Evaluate(parse(t, "DQCONFIG", "SET", "q", "ttl", "1h"))
	was := b.queueNamed([]byte("q"))
	transaction := &commands.Transaction{}
	for _, line := range [][]string{
		{"DQCONFIG", "RESET", "q"}, {"DQPAUSE", "q"}, {"DQRESUME", "q"}, {"DQADD", "q", "a", "x"},
		{"DQCONFIG", "SET", "q", "lease", "2h", "lease-max", "1h"},
	} {
		transaction.Commands = append(transaction.Commands, commands.Queued{Name: line[0], Request: parse(t, line...)})
	}
	reply, _ := b.Transaction(transaction, b.Evaluate)
	if _, ok := reply.(commands.Error); !ok {
		t.Fatalf("the transaction was not discarded: %v", reply)
	}
	if is := b.queueNamed([]byte("q")); is != was || is.own.Given == 0 || b.queueCount != 1 || len(b.gone) != 0 || len(b.byNum) != 1 {
		t.Errorf("the queue is %+v, of %d, %d are gone", is, b.queueCount, len(b.gone))
	}
}
