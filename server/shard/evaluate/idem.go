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
	until := rec.IdemAt + q.set.IdemMemory
	if until <= b.now.Progress {
		return
	}
	b.setIdem(q, rec.ID, &record.Idem{Digest: rec.Idem, Until: until})
}

// forget makes the id forget its IDEM request: a cancel, purge, drop, UPSERT or XX took effect.
func (b *Batch) forget(q *queue, id []byte) {
	if b.memory(q, id) != nil {
		b.setIdem(q, id, nil)
	}
}

// memory returns the valid IDEM memory of the id's ended jobs, or nil.
func (b *Batch) memory(q *queue, id []byte) *record.Idem {
	if q.idemUntil <= b.now.Progress {
		return nil
	}
	k := record.AppendIdemKey(nil, q.Number, id)
	m, ok := b.idem[string(k)]
	if !ok {
		m = b.storedIdem(k)
	}
	if m == nil || m.Until <= b.now.Progress {
		return nil
	}
	return m
}

func (b *Batch) storedIdem(k []byte) *record.Idem {
	v, ok := b.Store.Get(k)
	if !ok {
		return nil
	}
	m, err := record.DecodeIdem(v)
	corrupt(err)
	return &m
}

func (b *Batch) setIdem(q *queue, id []byte, m *record.Idem) {
	k := string(record.AppendIdemKey(nil, q.Number, id))
	if _, ok := b.idem[k]; !ok {
		b.idems = append(b.idems, k)
	}
	b.idem[k] = m
	if m != nil {
		q.idemUntil = max(q.idemUntil, m.Until)
		b.sweepAt = min(b.sweepAt, m.Until+sweepEvery)
	}
	b.bytes += 64 + len(id)
}

// sealIdem writes what the batch leaves of one memory. What is stored is read
// here, so that its sweep key goes with it.
func (b *Batch) sealIdem(key string) {
	k := []byte(key)
	q, id, _ := record.ParseIdemKey(k)
	stored, m := b.storedIdem(k), b.idem[key]
	if stored != nil && (m == nil || stored.Until != m.Until) {
		b.effects.Delete(record.AppendIdemSweepKey(nil, stored.Until, q, id))
	}
	if m != nil {
		b.effects.Set(k, m.AppendValue(nil))
		b.effects.Set(record.AppendIdemSweepKey(nil, m.Until, q, id), nil)
	} else if stored != nil {
		b.effects.Delete(k)
	}
}

// sweepSlice bounds the IDEM memories that one batch removes.
const sweepSlice = 1024

// sweepEvery is how long ended IDEM memory may stay, so that one batch sweeps many.
const sweepEvery = int64(1e9)

// SweepAt returns when Sweep wants to be called, in progress ns; MaxInt64 = never.
func (m *Memory) SweepAt() int64 { return m.sweepAt }

// Sweep removes IDEM memories whose time is over.
func (b *Batch) Sweep() {
	if b.now.Progress < b.sweepAt {
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
