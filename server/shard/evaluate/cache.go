package evaluate

import (
	"bytes"
	"slices"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// What the leader remembers of the store to save reads. It is void with the memory
// it belongs to.

// jobs are the live jobs that were lately looked at, as the batches so far leave
// them, by q4 id. They are the overlay of the batch under evaluation and of those
// in flight, and a cache of committed records besides: a job that is added, leased
// and acked within short is never read from the store.
//
// Jobs that are looked at are in the young generation; when that is full, the old
// one is dropped. A job that a batch in flight has touched is in one of the two.
//
// A job whose record is nil has ended: the store would have to step over all that
// an often used id has been.
type jobs struct {
	young, old map[string]*job
	turned     uint64 // the batch before which the generations last changed
}

// turn drops the old generation, if the young one is full and no batch in flight
// has jobs in the old one. batch is the one about to begin.
func (g *jobs) turn(size int, batch, committed uint64) {
	if g.young == nil || len(g.young) >= size && g.turned-1 <= committed {
		g.old, g.young = g.young, make(map[string]*job, size/4)
		g.turned = batch
	}
}

func (g *jobs) get(key []byte) *job {
	if j := g.young[string(key)]; j != nil {
		return j
	}
	j := g.old[string(key)]
	if j != nil {
		g.young[j.key] = j
	}
	return j
}

func (g *jobs) put(j *job) { g.young[j.key] = j }

// restore puts back what get returned before a put: a job, or nothing.
func (g *jobs) restore(key string, j *job) {
	if j == nil {
		delete(g.young, key)
		return
	}
	g.young[key] = j
}

// own copies a small new body out of the request that it came with. A large one is
// released when its batch is committed.
func own(rec *record.Job) {
	if rec.Separate {
		return
	}
	body := *rec.Body
	body.Payload = bytes.Clone(body.Payload)
	body.Meta = make([]record.Field, len(rec.Body.Meta))
	for i, f := range rec.Body.Meta {
		body.Meta[i] = record.Field{Name: bytes.Clone(f.Name), Value: bytes.Clone(f.Value)}
	}
	rec.Body = &body
}

// largeBody is a body that a batch in flight writes.
type largeBody struct {
	job   *job
	body  *record.Body
	batch uint64
}

// Committed tells that all batches up to number are committed and in the store.
func (m *Memory) Committed(number uint64) {
	m.committed = max(m.committed, number)
	n := 0
	for ; n < len(m.large) && m.large[n].batch <= number; n++ {
		l := m.large[n]
		l.job.was = nil // which may have it too; the next look sets it anew
		if l.job.is != nil && l.job.is.Body == l.body {
			rec := *l.job.is
			rec.Body = nil
			l.job.is = &rec
		}
	}
	m.large = slices.Delete(m.large, 0, n)
}

// learn notes that a job becomes live under the key.
func (m *Memory) learn(key []byte) {
	h := dispatch.Hash(key)
	if m.known != nil {
		m.known.Add(h)
	}
	if m.filling && len(m.learned) <= m.learnedMax() {
		m.learned = append(m.learned, h)
	}
}

// unknown reports that certainly no job is live under the key.
func (m *Memory) unknown(key []byte) bool {
	return m.known != nil && !m.known.Has(dispatch.Hash(key))
}

// knownSpare is how many ids more than one and a half times the live jobs a filter is
// made for, with 2 bytes each: so much can be added before it is built anew.
const knownSpare = 1 << 20

// learnedMax is how many jobs may become live while a filter is filled, or it is filled
// again: 8 bytes each. Ten million jobs are read in some ten seconds, so the more there
// are the more may come.
func (m *Memory) learnedMax() int { return int(max(1<<20, m.totals.Live()/4)) }

// WantsKnown reports whether RenewKnown would return a filter.
func (m *Memory) WantsKnown() bool {
	return !m.filling && (m.known == nil || m.known.Full())
}

// RenewKnown returns an empty filter to be filled with the keys of all live jobs
// that are in the store now (LearnStored), or nil if none is needed. It must be
// called between batches. What becomes live meanwhile is kept for UseKnown.
func (m *Memory) RenewKnown() *dispatch.Known {
	if !m.WantsKnown() {
		return nil
	}
	m.filling = true
	live := m.totals.Live()
	return dispatch.NewKnown(live + live/2 + knownSpare)
}

// UseKnown takes a filled filter into use, unless too much became live meanwhile.
func (m *Memory) UseKnown(k *dispatch.Known) {
	if len(m.learned) <= m.learnedMax() {
		for _, h := range m.learned {
			k.Add(h)
		}
		m.known = k
	}
	m.filling, m.learned = false, nil
}

// LearnStored adds the keys of all live jobs of a store to the filter, until stop
// says so. It may run beside everything else.
func LearnStored(store Store, k *dispatch.Known, stop func() bool) (whole bool) {
	n, whole := 0, true
	lo := record.JobSpace()
	store.Scan(lo, record.PrefixEnd(lo), func(key, _ []byte) bool {
		k.Add(dispatch.Hash(key[1:]))
		if n++; n%4096 == 0 && stop() {
			whole = false
		}
		return whole
	})
	return whole
}
