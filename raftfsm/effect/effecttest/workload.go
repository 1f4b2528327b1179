// Package effecttest makes random, valid entries for tests of the stores: a small
// stand-in for a leader that knows every kind of transition and no command.
package effecttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cespare/xxhash/v2"

	"dqd/persist/record"
	"dqd/raftfsm/effect"
)

// Workload is a leader's view of a state that only it changes.
type Workload struct {
	rng    *rand.Rand
	header effect.Header
	queues []*record.Queue
	jobs   []*record.Job
	idem   []memory
}

type memory struct {
	queue uint32
	id    []byte
	until int64
}

// New returns a workload that is determined by its seed.
func New(seed uint64) *Workload {
	w := &Workload{rng: rand.New(rand.NewPCG(seed, 1))}
	w.header.Time, w.header.WallOffset = 1_700_000_000_000_000_000, 12345
	w.header.NextSeq, w.header.NextToken, w.header.NextQueue = 1, 1, 1
	return w
}

// Header returns the values after the last Step; epoch, sequence and shard are
// the caller's.
func (w *Workload) Header() effect.Header { return w.header }

// Step adds a few random transitions to a batch, and what they do to the counters.
func (w *Workload) Step(b *effect.Batch) {
	w.header.Time += 1 + w.rng.Int64N(1_000_000_000)
	if len(w.queues) < 3 {
		w.addQueue(b)
	}
	touched := map[uint32]bool{}
	for range 1 + w.rng.IntN(4) {
		q := w.queues[w.rng.IntN(len(w.queues))]
		if len(w.jobs) > 0 && w.rng.IntN(3) > 0 {
			i := w.rng.IntN(len(w.jobs))
			q = w.queueOf(w.jobs[i])
			w.change(b, q, i)
		} else {
			w.add(b, q)
		}
		touched[q.Number] = true
	}
	if w.rng.IntN(5) == 0 {
		w.sweep(b)
	}
	for _, q := range w.queues {
		if touched[q.Number] {
			b.Set(record.AppendQueueKey(nil, q.Number), q.AppendValue(nil))
		}
	}
	w.header.Cursors = [2]int64{w.lowest(record.Progress), w.lowest(record.Wall)}
}

func (w *Workload) queueOf(j *record.Job) *record.Queue { return w.queues[j.Queue-1] }

func (w *Workload) addQueue(b *effect.Batch) {
	q := &record.Queue{Number: w.header.NextQueue, Name: fmt.Appendf(nil, "queue-%d", w.header.NextQueue)}
	w.header.NextQueue++
	w.queues = append(w.queues, q)
	b.Set(record.AppendQueueNameKey(nil, q.Name), record.AppendQueueNumber(nil, q.Number))
	b.Set(record.AppendQueueKey(nil, q.Number), q.AppendValue(nil))
	s := record.Own{Given: record.AllFields, Settings: record.DefaultSettings()}
	b.Set(record.AppendSettingsKey(nil, q.Number), s.AppendValue(nil))
}

func (w *Workload) add(b *effect.Batch, q *record.Queue) {
	j := &record.Job{
		Queue: q.Number, ID: fmt.Appendf(nil, "job-%d", w.rng.IntN(1<<40)), Seq: w.header.NextSeq,
		Created: w.header.Time + w.header.WallOffset, MaxAttempts: -1, Pri: uint8(w.rng.IntN(4)),
	}
	w.header.NextSeq++
	body := &record.Body{Payload: bytes.Repeat([]byte{byte(j.Seq)}, w.rng.IntN(600))}
	if w.rng.IntN(3) == 0 {
		body.Meta = []record.Field{{Name: []byte("a"), Value: []byte("b")}}
		body.Lease = 1e9
		body.Backoff = &record.Backoff{Kind: record.BackoffFixed, Steps: []int64{5}}
	}
	j.SetBody(body)
	w.enter(j, []record.State{record.Delayed, record.Ready}[w.rng.IntN(2)])
	q.Added++
	w.count(q, j, 1)
	b.PutJob(nil, j, true)
	w.jobs = append(w.jobs, j)
}

// change moves a job to another state, or ends it.
func (w *Workload) change(b *effect.Batch, q *record.Queue, i int) {
	old := w.jobs[i]
	w.count(q, old, -1)
	if w.rng.IntN(4) == 0 {
		b.DeleteJob(old)
		if old.State == record.Dead {
			q.Pruned++
		} else {
			q.Acked++
			w.remember(b, old)
		}
		w.jobs = slices.Delete(w.jobs, i, i+1)
		return
	}
	job := *old
	j := &job
	rewritten := false
	if w.rng.IntN(6) == 0 { // an upsert: new order of acceptance, new body
		j.Seq = w.header.NextSeq
		w.header.NextSeq++
		j.SetBody(&record.Body{Payload: bytes.Repeat([]byte{byte(j.Seq)}, w.rng.IntN(600))})
		rewritten = true
	}
	w.enter(j, record.State(1+w.rng.IntN(4)))
	w.count(q, j, 1)
	b.PutJob(old, j, rewritten)
	w.jobs[i] = j
}

// enter gives a job the fields of a state.
func (w *Workload) enter(j *record.Job, s record.State) {
	j.State, j.Died, j.Cause, j.Wake = s, 0, record.CauseNone, record.Instant{}
	later := record.Instant{Domain: record.Domain(w.rng.IntN(2)), Ns: w.header.Time + w.header.WallOffset + w.rng.Int64N(1e12)}
	switch s {
	case record.Delayed:
		j.Due, j.Wake = later, later
	case record.Ready:
		j.Due = record.Instant{Domain: record.Wall, Ns: w.header.Time}
		if w.rng.IntN(2) == 0 {
			j.Expire, j.Wake = later, later
		}
	case record.Leased:
		j.Wake = record.Instant{Domain: record.Progress, Ns: later.Ns}
		j.Token, j.TokenState, j.LeasedAt, j.LateUs = w.header.NextToken, record.TokenHeld, w.header.Time, 7
		w.header.NextToken++
		j.Attempt++
		j.Worker = []byte("worker")
	case record.Dead:
		j.Died, j.Cause, j.Reason, j.Wake = w.header.Time, record.CauseNack, []byte("no"), later
		j.TokenState = record.TokenStale
	}
}

func (w *Workload) count(q *record.Queue, j *record.Job, by int64) {
	switch j.State {
	case record.Delayed:
		q.Delayed += by
	case record.Ready:
		q.Ready += by
	case record.Leased:
		q.Leased += by
	case record.Dead:
		q.Dead += by
	}
	q.Bytes += by * int64(j.PayloadSize)
}

func (w *Workload) remember(b *effect.Batch, j *record.Job) {
	m := record.Idem{Digest: record.Digest{byte(j.Seq), 1}, Until: w.header.Time + w.rng.Int64N(5e9)}
	b.Set(record.AppendIdemKey(nil, j.Queue, j.ID), m.AppendValue(nil))
	b.Set(record.AppendIdemSweepKey(nil, m.Until, j.Queue, j.ID), nil)
	w.idem = append(w.idem, memory{j.Queue, j.ID, m.Until})
}

func (w *Workload) sweep(b *effect.Batch) {
	w.idem = slices.DeleteFunc(w.idem, func(m memory) bool {
		if m.until >= w.header.Time {
			return false
		}
		b.Delete(record.AppendIdemKey(nil, m.queue, m.id))
		return true
	})
	b.DeleteRange(record.IdemSweepSpace(), record.AppendIdemSweepBound(nil, w.header.Time))
	w.header.IdemCursor = w.header.Time
}

// lowest returns the lowest wake-up of a domain: how far its cursor may be.
func (w *Workload) lowest(d record.Domain) int64 {
	low := w.header.Time
	for _, j := range w.jobs {
		if j.Wake != (record.Instant{}) && j.Wake.Domain == d {
			low = min(low, j.Wake.Ns)
		}
	}
	return low
}

// Store is an effect.Txn on a map: the dumbest store that is right.
type Store map[string]string

// Set writes a key.
func (s Store) Set(k, v []byte) { s[string(k)] = string(v) }

// Delete deletes a key.
func (s Store) Delete(k []byte) { delete(s, string(k)) }

// DeleteRange deletes the keys from lo up to, not including, hi.
func (s Store) DeleteRange(lo, hi []byte) {
	for k := range s {
		if k >= string(lo) && k < string(hi) {
			delete(s, k)
		}
	}
}

// Get implements persist.Reader.
func (s Store) Get(k []byte) ([]byte, bool, error) {
	v, ok := s[string(k)]
	return []byte(v), ok, nil
}

// Scan implements persist.Reader.
func (s Store) Scan(lo, hi []byte, fn func(k, v []byte) bool) error {
	var keys []string
	for k := range s {
		if k >= string(lo) && (hi == nil || k < string(hi)) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if !fn([]byte(k), []byte(s[k])) {
			break
		}
	}
	return nil
}

// Scanner is the part of persist.Reader that Digest needs.
type Scanner interface {
	Scan(lo, hi []byte, fn func(k, v []byte) bool) error
}

// Digest returns a hash over all keys and values but the position, whose index
// depends on raft's own entries.
func Digest(r Scanner) (uint64, error) {
	var d xxhash.Digest
	d.Reset()
	err := r.Scan(record.JobSpace(), nil, func(k, v []byte) bool {
		var n [8]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(k)))
		binary.BigEndian.PutUint32(n[4:], uint32(len(v)))
		d.Write(n[:])
		d.Write(k)
		d.Write(v)
		return true
	})
	return d.Sum64(), err
}
