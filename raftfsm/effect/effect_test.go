package effect_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"strings"
	"testing"

	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

func header() effect.Header {
	return effect.Header{Shard: 3, Applied: record.Applied{
		Epoch: 1, Sequence: 0, Time: 5000, WallOffset: -7, NextToken: 8, NextSeq: 9, NextQueue: 2,
		Cursors: [2]int64{4000, 6000}, IdemCursor: 10,
	}}
}

func job(state record.State, seq uint64, payload int) *record.Job {
	j := &record.Job{Queue: 1, ID: []byte("id"), Seq: seq, State: state, Created: 100, Pri: 3}
	switch state {
	case record.Delayed:
		j.Due, j.Wake = record.Instant{Ns: 500}, record.Instant{Ns: 500}
	case record.Ready:
		j.Due = record.Instant{Domain: record.Wall, Ns: 400}
	case record.Leased:
		j.Wake = record.Instant{Ns: 900}
	case record.Dead:
		j.Died, j.Wake = 300, record.Instant{Domain: record.Wall, Ns: 1000}
	}
	j.SetBody(&record.Body{Payload: bytes.Repeat([]byte("p"), payload)})
	return j
}

// writes records what Apply asks of a Txn.
type writes struct {
	effecttest.Store
	log []string
}

func (w *writes) Set(k, v []byte) {
	if !bytes.Equal(k, record.AppliedKey()) {
		w.log = append(w.log, fmt.Sprintf("set %x", k))
	}
	w.Store.Set(k, v)
}

func (w *writes) Delete(k []byte) {
	w.log = append(w.log, fmt.Sprintf("delete %x", k))
	w.Store.Delete(k)
}

// expected is the store that holds one job and nothing else.
func expected(j *record.Job) effecttest.Store {
	s := effecttest.Store{}
	if j == nil {
		return s
	}
	s.Set(j.AppendRecordKey(nil), j.AppendValue(nil))
	for k, v := range j.IndexKeys {
		s.Set(k, v)
	}
	if j.Separate {
		s.Set(record.AppendBodyKey(nil, j.Queue, j.Seq), j.Body.Append(nil))
	}
	return s
}

// From any state, order of acceptance and kind of body to any other, the store
// holds what the new job needs and nothing of the old one.
func TestPutJobFromAnyToAny(t *testing.T) {
	var jobs []*record.Job
	for state := record.Delayed; state <= record.Dead; state++ {
		for _, seq := range []uint64{1, 2} {
			for _, payload := range []int{1, 1000} {
				jobs = append(jobs, job(state, seq, payload))
			}
		}
	}
	for _, old := range append(jobs, nil) {
		for _, new := range append(jobs, nil) {
			txn := &writes{Store: expected(old)}
			var b effect.Batch
			switch {
			case new != nil:
				b.PutJob(old, new, true)
			case old != nil:
				b.DeleteJob(old)
			default:
				continue
			}
			if _, fenced, err := effect.Apply(txn, record.Applied{}, 3, 1, 1, b.Seal(header())); fenced || err != nil {
				t.Fatal(fenced, err)
			}
			txn.Store.Delete(record.AppliedKey())
			if want := expected(new); !maps.Equal(txn.Store, want) {
				t.Fatalf("from %+v to %+v:\n%v\ngot  %x\nwant %x", old, new, txn.log, txn.Store, want)
			}
		}
	}
}

// A transition writes no key that stays as it is: the store's inserts are the
// limit of the whole server.
func TestWritesPerTransition(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new *record.Job
		want     int
	}{
		{"add ready", nil, job(record.Ready, 1, 1), 2},
		{"add delayed", nil, job(record.Delayed, 1, 1), 3},
		{"add delayed, large", nil, job(record.Delayed, 1, 1000), 4},
		{"becomes ready", job(record.Delayed, 1, 1), job(record.Ready, 1, 1), 4},
		{"leased", job(record.Ready, 1, 1), job(record.Leased, 1, 1), 3},
		{"extended to the same end", job(record.Leased, 1, 1), job(record.Leased, 1, 1), 1},
		{"dies", job(record.Leased, 1, 1), job(record.Dead, 1, 1), 5},
		{"leased, large body stays", job(record.Ready, 1, 1000), job(record.Leased, 1, 1000), 3},
		{"ack", job(record.Leased, 1, 1), nil, 2},
		{"ack, large", job(record.Leased, 1, 1000), nil, 3},
	} {
		txn := &writes{Store: expected(c.old)}
		var b effect.Batch
		if c.new == nil {
			b.DeleteJob(c.old)
		} else {
			b.PutJob(c.old, c.new, c.old == nil)
		}
		size := b.Size()
		if _, _, err := effect.Apply(txn, record.Applied{}, 3, 1, 1, b.Seal(header())); err != nil {
			t.Fatal(err)
		}
		if len(txn.log) != c.want {
			t.Errorf("%s: %d writes, want %d: %v", c.name, len(txn.log), c.want, txn.log)
		}
		t.Logf("%-26s %d writes, %d bytes of log", c.name, len(txn.log), size)
	}
}

// A body that is not loaded cannot be written under its new key.
func TestBodyNotLoaded(t *testing.T) {
	old, new := job(record.Ready, 1, 1000), job(record.Leased, 2, 1000)
	new.Body = nil
	defer func() {
		if recover() == nil {
			t.Error("accepted")
		}
	}()
	var b effect.Batch
	b.PutJob(old, new, false)
}

func sealed() []byte {
	var b effect.Batch
	b.PutJob(nil, job(record.Delayed, 1, 400), true)
	b.PutJob(job(record.Ready, 1, 1), job(record.Leased, 1, 1), false)
	b.DeleteJob(job(record.Dead, 2, 1))
	b.Set([]byte("key"), []byte("value"))
	b.Set([]byte("empty"), nil)
	b.Delete([]byte("gone"))
	b.DeleteRange([]byte("a"), []byte("b"))
	return b.Seal(header())
}

// An entry comes back as it was written, and the batch is empty and usable again.
func TestEntry(t *testing.T) {
	var b effect.Batch
	if !b.Empty() || b.Size() != 0 {
		t.Error("a new batch is not empty")
	}
	b.Set([]byte("key"), []byte("value"))
	if b.Empty() || b.Size() != 11 {
		t.Errorf("size %d", b.Size())
	}
	first := b.Seal(header())
	kept := bytes.Clone(first)
	if !b.Empty() {
		t.Error("a sealed batch is not empty")
	}
	b.Set([]byte("KEY"), []byte("VALUE"))
	b.Seal(header())
	if !bytes.Equal(first, kept) {
		t.Error("sealed bytes were reused")
	}

	e, err := effect.Decode(sealed())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e.Header, header()) {
		t.Errorf("header %+v", e.Header)
	}
	var got []string
	for f := range e.Effects {
		switch f.Kind.String() {
		case "put-job":
			got = append(got, fmt.Sprintf("%s %d→%d body %d", f.Kind, f.Old.State, f.New.State, len(f.Body)))
		case "delete-job":
			got = append(got, fmt.Sprintf("%s %d seq %d", f.Kind, f.Old.State, f.Old.Seq))
		default:
			got = append(got, fmt.Sprintf("%s %s %s", f.Kind, f.Key, f.Value))
		}
	}
	want := "put-job 0→1 body 401|put-job 2→3 body 0|delete-job 4 seq 2|set key value|set empty |delete gone |delete-range a b"
	if strings.Join(got, "|") != want {
		t.Errorf("effects %q", got)
	}
}

// Damage is an error before anything is written, and so is what this program does not know.
func TestDamagedEntry(t *testing.T) {
	entry := sealed()
	apply := func(b []byte) (effecttest.Store, error) {
		s := effecttest.Store{}
		_, _, err := effect.Apply(s, record.Applied{}, 3, 1, 1, b)
		return s, err
	}
	for bit := range len(entry) * 8 {
		bad := bytes.Clone(entry)
		bad[bit/8] ^= 1 << (bit % 8)
		if s, err := apply(bad); !errors.Is(err, effect.ErrEntry) || len(s) > 0 {
			t.Fatalf("bit %d: %v, %d writes", bit, err, len(s))
		}
	}
	for size := range entry {
		if s, err := apply(entry[:size]); !errors.Is(err, effect.ErrEntry) || len(s) > 0 {
			t.Fatalf("cut to %d: %v", size, err)
		}
	}
	reseal := func(change func(b []byte) []byte) []byte {
		b := change(bytes.Clone(entry[:len(entry)-4]))
		return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	}
	for name, c := range map[string]struct {
		entry []byte
		want  string
	}{
		"unknown version": {reseal(func(b []byte) []byte { b[0] = 2; return b }), "version 2"},
		"unknown kind":    {reseal(func(b []byte) []byte { return append(b, 77) }), "unknown kind-77"},
		"half an effect":  {reseal(func(b []byte) []byte { return append(b, 3, 9, 'x') }), "set"},
	} {
		if s, err := apply(c.entry); err == nil || !strings.Contains(err.Error(), c.want) || len(s) > 0 {
			t.Errorf("%s: %v, %d writes", name, err, len(s))
		}
	}
	s := effecttest.Store{}
	if _, _, err := effect.Apply(s, record.Applied{}, 4, 1, 1, entry); err == nil || len(s) > 0 {
		t.Errorf("another shard's entry: %v", err)
	}
	if _, _, err := effect.Apply(s, record.Applied{Index: 1}, 3, 1, 1, entry); err == nil || len(s) > 0 {
		t.Errorf("the same index twice: %v", err)
	}
	if _, _, err := effect.Apply(s, record.Applied{Time: 5001}, 3, 1, 1, entry); err == nil || len(s) > 0 {
		t.Errorf("time going back: %v", err)
	}
}

// The fence: the table of the design.
func TestFence(t *testing.T) {
	for _, c := range []struct {
		lastEpoch, lastSeq, epoch, seq uint64
		taken                          bool
	}{
		{0, 0, 1, 0, true}, {0, 0, 1, 1, false}, {0, 0, 2, 0, false}, {0, 0, 0, 1, true}, {0, 0, 0, 0, false},
		{5, 9, 5, 10, true}, {5, 9, 5, 9, false}, {5, 9, 5, 11, false}, {5, 9, 6, 0, true}, {5, 9, 6, 10, false},
		{5, 9, 4, 10, false}, {5, 9, 7, 0, false}, {5, 9, 5, 0, false}, {5, 9, 4, 0, false},
	} {
		h := header()
		h.Epoch, h.Sequence = c.epoch, c.seq
		var b effect.Batch
		b.Set([]byte("key"), nil)
		s := effecttest.Store{}
		last := record.Applied{Index: 6, Term: 2, Epoch: c.lastEpoch, Sequence: c.lastSeq, StateHash: 42}
		next, fenced, err := effect.Apply(s, last, 3, 7, 3, b.Seal(h))
		if err != nil || fenced == c.taken {
			t.Errorf("%+v: fenced %v, %v", c, fenced, err)
			continue
		}
		written, err := record.DecodeApplied([]byte(s[string(record.AppliedKey())]))
		if err != nil || written != next || next.Index != 7 || next.Term != 3 {
			t.Errorf("%+v: position %+v, %v", c, written, err)
		}
		if want := (record.Applied{Index: 7, Term: 3, Epoch: c.lastEpoch, Sequence: c.lastSeq, StateHash: 42}); !c.taken && (next != want || len(s) != 1) {
			t.Errorf("%+v: a refused entry had an effect: %+v, %v", c, next, s)
		}
		if c.taken && (next.StateHash == 42 || len(s) != 2) {
			t.Errorf("%+v: %+v, %v", c, next, s)
		}
	}
}

// The state hash stands for all entries so far: what differs in an earlier one, or in this one,
// shows in it (I8).
func TestStateHash(t *testing.T) {
	seen := map[uint64]bool{}
	for _, before := range []uint64{0, 42} {
		for _, key := range []string{"a", "b"} {
			h := header()
			h.Epoch, h.Sequence = 1, 0
			var b effect.Batch
			b.Set([]byte(key), nil)
			next, fenced, err := effect.Apply(effecttest.Store{}, record.Applied{Index: 6, Term: 2, StateHash: before}, 3, 7, 3, b.Seal(h))
			if err != nil || fenced || seen[next.StateHash] {
				t.Errorf("entry %s behind hash %d: %x, fenced %v, %v", key, before, next.StateHash, fenced, err)
			}
			seen[next.StateHash] = true
		}
	}
}

// The bytes are the log format: a change of this test is a change of what is in logs.
func TestGolden(t *testing.T) {
	var b effect.Batch
	b.PutJob(job(record.Delayed, 1, 1), job(record.Ready, 1, 1), false)
	b.DeleteJob(job(record.Leased, 300, 1))
	b.Set([]byte("k"), []byte("v"))
	if got, want := hex.EncodeToString(b.Seal(header())), golden; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

const golden = "0103010000000000000013880d080902cf0fd00ffb4d0101026964140104010203000000000000006401d80400001070009100000000000001f40300000000000001f4020102696413ac02000000000000038403016b017670114c66"

// Hostile entries give an error, and never a write.
func FuzzApply(f *testing.F) {
	f.Add(sealed()[:len(sealed())-4])
	w := effecttest.New(1)
	for range 10 {
		var b effect.Batch
		w.Step(&b)
		h := w.Header()
		h.Shard, h.Epoch = 3, 1
		e := b.Seal(h)
		f.Add(e[:len(e)-4])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		entry := binary.BigEndian.AppendUint32(bytes.Clone(content), crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
		s := effecttest.Store{}
		_, _, err := effect.Apply(s, record.Applied{}, 3, 1, 1, entry)
		if err != nil && len(s) > 0 {
			t.Fatalf("%v, after %d writes", err, len(s))
		}
		e, derr := effect.Decode(entry)
		if err == nil && derr != nil {
			t.Fatal(derr)
		}
		if derr == nil {
			for f := range e.Effects {
				_ = f.Kind.String()
			}
		}
	})
}
