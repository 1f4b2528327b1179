package evaluate

import (
	"bytes"
	"errors"
	"math"

	"dqd/persist/record"
)

var errBadSweepKey = errors.New("a sweep key of the IDEM memory does not parse")

// remember keeps the IDEM request of a job that leaves the living, if its time is not over.
func (b *Batch) remember(q *queue, rec *record.Job) {
	if rec.State == record.Dead || rec.Idem == (record.Digest{}) {
		return
	}
	if rec.IdemUntil <= b.now.Progress {
		return
	}
	b.setIdem(q, rec.ID, &record.Idem{Digest: rec.Idem, Until: rec.IdemUntil})
}

// forget makes the id forget its IDEM request: a cancel, purge, drop, UPSERT or XX took effect.
func (b *Batch) forget(q *queue, id []byte) {
	if b.memory(q, id) != nil {
		b.setIdem(q, id, nil)
	}
}

// idem is the IDEM memory of an id's ended jobs; nil = none.
type idem struct {
	batch   uint64       // the last one that set it
	was, is *record.Idem // as the batch found and leaves it
}

// memory returns the valid IDEM memory of the id's ended jobs, or nil.
func (b *Batch) memory(q *queue, id []byte) *record.Idem {
	if q.IdemUntil <= b.now.Progress {
		return nil
	}
	m := b.idemAt(record.AppendIdemKey(nil, q.Memories(), id))
	if m == nil || m.Until <= b.now.Progress {
		return nil
	}
	return m
}

// idemAt returns what is remembered under a key, valid or not.
func (b *Batch) idemAt(k []byte) *record.Idem {
	if m := b.idem[string(k)]; m != nil {
		return m.is
	}
	v, ok := b.Store.Get(k)
	if !ok {
		return nil
	}
	m, err := record.DecodeIdem(v)
	corrupt(err)
	return &m
}

func (b *Batch) setIdem(q *queue, id []byte, is *record.Idem) {
	k := record.AppendIdemKey(nil, q.Memories(), id)
	m := b.idem[string(k)]
	b.keepMemory(k, m)
	if m == nil || m.batch != b.begun {
		m = &idem{batch: b.begun, was: b.idemAt(k)}
		b.idem[string(k)] = m
		b.idems = append(b.idems, string(k))
	}
	m.is = is
	if is != nil {
		b.touch(q)
		q.IdemUntil = max(q.IdemUntil, is.Until)
		b.sweepAt = min(b.sweepAt, is.Until+sweepEvery)
	}
	b.bytes += 64 + len(id)
}

// sealIdem writes what the batch leaves of one memory, and of its sweep key.
func (b *Batch) sealIdem(key string) {
	k := []byte(key)
	q, id, _ := record.ParseIdemKey(k)
	m := b.idem[key]
	if m.was != nil && (m.is == nil || m.was.Until != m.is.Until) {
		b.effects.Delete(record.AppendIdemSweepKey(nil, m.was.Until, q, id))
	}
	if m.is != nil {
		b.effects.Set(k, m.is.AppendValue(nil))
		b.effects.Set(record.AppendIdemSweepKey(nil, m.is.Until, q, id), nil)
	} else if m.was != nil {
		b.effects.Delete(k)
	}
}

// sweepSlice bounds the IDEM memories that one batch removes.
const sweepSlice = 1024

// sweepEvery is how long ended IDEM memory may stay, so that one batch sweeps many.
const sweepEvery = int64(1e9)

// SweepAt returns when Sweep wants to be called, in progress ns; MaxInt64 = never.
func (m *Memory) SweepAt() int64 { return m.sweepAt }

// Sweep removes IDEM memories whose time is over. It reads the store, so it waits
// for a batch that begins with nothing in flight.
func (b *Batch) Sweep() {
	if b.now.Progress < b.sweepAt || b.Flying() {
		return
	}
	lo := record.AppendIdemSweepBound(nil, b.Applied.IdemCursor)
	hi := record.AppendIdemSweepBound(nil, math.MaxInt64)
	n := 0
	b.sweepAt = math.MaxInt64
	cursor := b.now.Progress
	b.Store.Scan(lo, hi, func(key, _ []byte) bool {
		until, q, id, ok := record.ParseIdemSweepKey(key)
		if !ok {
			corrupt(errBadSweepKey)
		}
		switch {
		case until > b.now.Progress:
			b.sweepAt = until + sweepEvery
			return false
		case n == sweepSlice:
			b.sweepAt = b.now.Progress
			cursor = until
			return false
		}
		b.effects.Delete(bytes.Clone(key))
		b.effects.Delete(record.AppendIdemKey(nil, q, id))
		n++
		return true
	})
	if n > 0 {
		b.Applied.IdemCursor = cursor
	}
}
