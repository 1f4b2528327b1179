package persist_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

// build applies steps of a workload to a store and returns it.
func build(t *testing.T, seed uint64, steps int) effecttest.Store {
	t.Helper()
	store, w := effecttest.Store{}, effecttest.New(seed)
	var last record.Applied
	var b effect.Batch
	for i := range steps {
		w.Step(&b)
		h := w.Header()
		h.Epoch, h.Sequence = 1, uint64(i)
		next, fenced, err := effect.Apply(store, last, 0, uint64(i+1), 1, b.Seal(h))
		if err != nil || fenced {
			t.Fatalf("step %d: fenced %v, %v", i, fenced, err)
		}
		last = next
	}
	return store
}

// Whatever a leader does, the store stays whole.
func TestVerifyClean(t *testing.T) {
	for seed := range uint64(20) {
		store := effecttest.Store{}
		w := effecttest.New(seed)
		var last record.Applied
		var b effect.Batch
		for i := range 150 {
			w.Step(&b)
			h := w.Header()
			h.Epoch, h.Sequence = 1, uint64(i)
			var err error
			if last, _, err = effect.Apply(store, last, 0, uint64(i+1), 1, b.Seal(h)); err != nil {
				t.Fatal(err)
			}
			if err := persist.Verify(store); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
	}
}

// first returns the first key with a prefix whose value fits.
func first(t *testing.T, s effecttest.Store, prefix []byte, fits func(k, v []byte) bool) (k, v []byte) {
	t.Helper()
	s.Scan(prefix, record.PrefixEnd(prefix), func(key, val []byte) bool {
		if fits != nil && !fits(key, val) {
			return true
		}
		k, v = bytes.Clone(key), bytes.Clone(val)
		return false
	})
	if k == nil {
		t.Fatalf("the workload made no key with prefix %x", prefix)
	}
	return k, v
}

// Each kind of damage is found, and named.
func TestVerifyFinds(t *testing.T) {
	clean := build(t, 7, 300)
	inState := func(want record.State) func(k, v []byte) bool {
		return func(k, v []byte) bool {
			q, id, _ := record.ParseJobKey(k)
			j, err := record.DecodeJob(q, id, v)
			return err == nil && j.State == want
		}
	}
	rewrite := func(s effecttest.Store, want record.State, change func(j *record.Job)) {
		k, v := first(t, s, record.JobSpace(), inState(want))
		q, id, _ := record.ParseJobKey(k)
		j, _ := record.DecodeJob(q, id, v)
		change(j)
		s.Set(k, j.AppendValue(nil))
	}
	queue := func(s effecttest.Store, change func(q *record.Queue)) {
		k, v := first(t, s, record.QueueSpace(), nil)
		number, _ := record.ParseQueueKey(k)
		q, _ := record.DecodeQueue(number, v)
		change(q)
		s.Set(k, q.AppendValue(nil))
	}
	applied := func(s effecttest.Store, change func(a *record.Applied)) {
		a, _ := record.DecodeApplied([]byte(s[string(record.AppliedKey())]))
		change(&a)
		s.Set(record.AppliedKey(), a.AppendValue(nil))
	}
	drop := func(prefix []byte) func(s effecttest.Store) {
		return func(s effecttest.Store) {
			k, _ := first(t, s, prefix, nil)
			s.Delete(k)
		}
	}
	for _, c := range []struct {
		name, want string
		damage     func(s effecttest.Store)
	}{
		{"wake key missing", "lacks index key 03", drop(record.WakeSpace())},
		{"delayed key missing", "lacks index key 04", drop(record.DelayedSpace())},
		{"ready key missing", "lacks index key 05", drop(record.ReadySpace())},
		{"death order missing", "lacks index key 0601", drop(record.DeadOrderSpace())},
		{"body missing", "lacks its body", drop(record.BodySpace())},
		{"live record missing", "no job has it", func(s effecttest.Store) {
			k, _ := first(t, s, record.JobSpace(), inState(record.Delayed))
			s.Delete(k)
		}},
		{"dead record missing", "no job has it", drop(record.DeadJobSpace())},
		{"second wake key", "no job has it", func(s effecttest.Store) {
			k, v := first(t, s, record.WakeSpace(), nil)
			k[9]++
			s.Set(k, v)
		}},
		{"wake value wrong", "instead of", func(s effecttest.Store) {
			k, v := first(t, s, record.WakeSpace(), nil)
			s.Set(k, append(v, 'x'))
		}},
		{"index key malformed", "malformed", func(s effecttest.Store) { s.Set(append(record.ReadySpace(), 1), nil) }},
		{"orphan ready key", "no job has it", func(s effecttest.Store) { s.Set(record.AppendReadyKey(nil, 1, 0, 5, 1), []byte("nobody")) }},
		{"orphan body", "belongs to no job", func(s effecttest.Store) {
			s.Set(record.AppendBodyKey(nil, 1, 1<<40), new(record.Body).Append(nil))
		}},
		{"body of another size", "payload of", func(s effecttest.Store) {
			k, v := first(t, s, record.BodySpace(), nil)
			s.Set(k, append(v, 'x'))
		}},
		{"record does not decode", "malformed record", func(s effecttest.Store) {
			k, v := first(t, s, record.JobSpace(), nil)
			s.Set(k, v[:5])
		}},
		{"no wake-up", "has no wake-up", func(s effecttest.Store) {
			rewrite(s, record.Leased, func(j *record.Job) { j.Wake = record.Instant{} })
		}},
		{"seq of the future", "is not below the next one", func(s effecttest.Store) {
			applied(s, func(a *record.Applied) { a.NextSeq = 5 })
		}},
		{"token of the future", "token", func(s effecttest.Store) {
			applied(s, func(a *record.Applied) { a.NextToken = 1 })
		}},
		{"queue of the future", "is not below the next number", func(s effecttest.Store) {
			applied(s, func(a *record.Applied) { a.NextQueue = 1 })
		}},
		{"seq twice", "is that of two jobs", func(s effecttest.Store) {
			_, v := first(t, s, record.JobSpace(), inState(record.Ready))
			s.Set(record.AppendJobKey(nil, 1, []byte("twin")), v)
		}},
		{"cursor too far", "is below the cursor", func(s effecttest.Store) {
			applied(s, func(a *record.Applied) { a.Cursors[record.Wall] += 1e15 })
		}},
		{"sweep cursor too far", "is below the cursor", func(s effecttest.Store) {
			applied(s, func(a *record.Applied) { a.IdemCursor += 1e15 })
		}},
		{"gauge", "gauge ready", func(s effecttest.Store) { queue(s, func(q *record.Queue) { q.Ready++; q.Delayed-- }) }},
		{"gauge of bytes", "gauge bytes", func(s effecttest.Store) { queue(s, func(q *record.Queue) { q.Bytes++ }) }},
		{"I7", "I7", func(s effecttest.Store) { queue(s, func(q *record.Queue) { q.Cancelled++ }) }},
		{"queue missing", "does not exist", drop(record.QueueSpace())},
		{"name missing", "that name leads to", drop(record.QueueNameSpace())},
		{"settings damaged", "settings", func(s effecttest.Store) {
			k, _ := first(t, s, record.SettingsSpace(), nil)
			s.Set(k, []byte{9})
		}},
		{"memory without sweep key", "lacks its sweep key", drop(record.IdemSweepSpace())},
		{"sweep key without memory", "has no such memory", drop(record.IdemSpace())},
		{"position's checksum", "wrong checksum", func(s effecttest.Store) {
			v := []byte(s[string(record.AppliedKey())])
			v[20] ^= 1
			s.Set(record.AppliedKey(), v)
		}},
		{"position missing", "position is missing", func(s effecttest.Store) { s.Delete(record.AppliedKey()) }},
		{"unknown key", "no known kind", func(s effecttest.Store) { s.Set([]byte{0x42}, nil) }},
		{"unknown key in between", "no known kind", func(s effecttest.Store) { s.Set([]byte{0x06, 0x02}, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := maps.Clone(clean)
			c.damage(s)
			err := persist.Verify(s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, want %q", err, c.want)
			}
		})
	}
	if err := persist.Verify(clean); err != nil {
		t.Errorf("the undamaged store: %v", err)
	}
	// What it reports is bounded.
	s := maps.Clone(clean)
	for i := range 1000 {
		s.Set([]byte{0x42, byte(i), byte(i >> 8)}, nil)
	}
	if n := strings.Count(persist.Verify(s).Error(), "\n"); n > 110 {
		t.Errorf("%d problems reported", n)
	}
}
