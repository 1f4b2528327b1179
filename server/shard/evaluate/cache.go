package evaluate

import (
	"bytes"

	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

// What the leader remembers of the store to save reads: both are caches, and void
// with the memory they belong to.

// hot keeps the records of live jobs that were lately touched, as committed: a
// job that is added, leased and acked within short is read from the store never.
// Records move to the young generation when they are changed; when that is full,
// the old one is dropped.
//
// A nil record says that the job has ended: the store would have to step over all
// that an often used id has been.
type hot struct {
	young, old map[string]*record.Job
	size       int // records of a generation
}

func (h *hot) get(key []byte) (rec *record.Job, ok bool) {
	if rec, ok = h.young[string(key)]; !ok {
		rec, ok = h.old[string(key)]
	}
	return rec, ok
}

func (h *hot) put(key string, rec *record.Job) {
	if len(h.young) >= h.size || h.young == nil {
		h.old, h.young = h.young, make(map[string]*record.Job, h.size/4)
	}
	h.young[key] = rec
	delete(h.old, key)
}

// settled takes over what the last batch left, which is committed by now.
func (m *Memory) settled() {
	for _, j := range m.scratch.touched {
		switch {
		case j.key == "": // a dead job
		case j.is == nil || !j.is.State.Live():
			m.hot.put(j.key, nil)
		default:
			m.hot.put(j.key, j.keep())
		}
	}
}

// keep returns the record in a form that pins nothing else: a large body stays in
// the store, a small one is copied out of its request.
func (j *job) keep() *record.Job {
	rec := *j.is
	switch {
	case rec.Separate:
		rec.Body = nil
	case j.bodyChanged:
		body := *rec.Body
		body.Payload = bytes.Clone(body.Payload)
		body.Meta = make([]record.Field, len(rec.Body.Meta))
		for i, f := range rec.Body.Meta {
			body.Meta[i] = record.Field{Name: bytes.Clone(f.Name), Value: bytes.Clone(f.Value)}
		}
		rec.Body = &body
	}
	return &rec
}

// learn notes that a job becomes live under the key.
func (m *Memory) learn(key []byte) {
	h := dispatch.Hash(key)
	if m.known != nil {
		m.known.Add(h)
	}
	if m.building {
		m.learned = append(m.learned, h)
	}
}

// unknown reports that certainly no job is live under the key.
func (m *Memory) unknown(key []byte) bool {
	return m.known != nil && !m.known.Has(dispatch.Hash(key))
}

// knownSpare is how many ids more than live jobs a filter is made for: with 2
// bytes each, so much can be added before it is built anew.
const knownSpare = 1 << 20

// RenewKnown returns an empty filter to be filled with the keys of all live jobs
// that are in the store now (LearnStored), or nil if none is needed. It must be
// called between batches. What becomes live meanwhile is kept for UseKnown.
func (m *Memory) RenewKnown() *dispatch.Known {
	if m.building || m.known != nil && !m.known.Full() {
		return nil
	}
	m.building = true
	return dispatch.NewKnown(2*m.totals.Live() + knownSpare)
}

// UseKnown takes a filled filter into use.
func (m *Memory) UseKnown(k *dispatch.Known) {
	for _, h := range m.learned {
		k.Add(h)
	}
	m.known, m.learned, m.building = k, nil, false
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
