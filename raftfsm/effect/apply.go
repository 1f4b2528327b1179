package effect

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"dqd/persist/record"
)

// Txn takes the writes of entries; they become visible and durable together. The
// slices may be reused after each call.
type Txn interface {
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(lo, hi []byte)
}

// Apply writes the effects of the entry at a place in the log to txn, unless the
// fence refuses it, and in any case the applied record. It reads nothing but its
// arguments, so all replicas do the same.
//
// The fence: the entry is taken iff it begins the next epoch, or is the next of
// the present one. A refused entry has no effect but the position.
//
// After an error txn must be thrown away and the node must stop: an entry is
// never skipped.
func Apply(txn Txn, last record.Applied, shard uint32, index, term uint64, entry []byte) (next record.Applied, fenced bool, err error) {
	if index <= last.Index {
		return last, false, fmt.Errorf("entry %d comes after entry %d was applied", index, last.Index)
	}
	e, err := Decode(entry)
	if err != nil {
		return last, false, fmt.Errorf("entry %d: %w", index, err)
	}
	if e.Shard != shard {
		return last, false, fmt.Errorf("entry %d belongs to shard %d, this is shard %d", index, e.Shard, shard)
	}
	next = last
	if fenced = !follows(&last, &e.Header); !fenced {
		if err := Monotone(&last, &e.Header); err != nil {
			return last, false, fmt.Errorf("entry %d: %w", index, err)
		}
		next = e.Applied
		next.StateHash = chain(last.StateHash, entry)
		for a := (applier{txn: txn}); a.pass < passes; a.pass++ {
			e.Effects(a.apply)
		}
	}
	next.Index, next.Term = index, term
	txn.Set(record.AppliedKey(), next.AppendValue(nil))
	return next, fenced, nil
}

func follows(last *record.Applied, h *Header) bool {
	if h.Epoch == last.Epoch {
		return h.Sequence == last.Sequence+1
	}
	return h.Epoch == last.Epoch+1 && h.Sequence == 0
}

// Monotone reports what an entry would turn back that never goes back: time
// (I12), tokens (I3), order of acceptance, queue numbers.
func Monotone(last *record.Applied, h *Header) error {
	if h.Time < last.Time || h.NextToken < last.NextToken || h.NextSeq < last.NextSeq || h.NextQueue < last.NextQueue {
		return fmt.Errorf("broken invariant: goes back from time %d, token %d, seq %d, queue %d to time %d, token %d, seq %d, queue %d",
			last.Time, last.NextToken, last.NextSeq, last.NextQueue, h.Time, h.NextToken, h.NextSeq, h.NextQueue)
	}
	return nil
}

// Check decodes the header of an entry that is about to be proposed and refuses,
// before the log, what Apply could only stop at.
func Check(last *record.Applied, shard uint32, entry []byte) error {
	var h Header
	r := reader{b: entry}
	if err := h.read(&r); err != nil {
		return err
	}
	if h.Shard != shard {
		return fmt.Errorf("entry belongs to shard %d, this is shard %d", h.Shard, shard)
	}
	return Monotone(last, &h)
}

// chain returns the hash of the state after an entry.
func chain(last uint64, entry []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], last)
	d.Write(b[:])
	d.Write(entry)
	return d.Sum64()
}

// applier turns effects into writes, in three passes: records, wake index, order
// indexes. No key belongs to two of them, so each key sees its effects in their
// order, and what is near in a pass is near in the store, which makes inserting
// cheaper. The buffers serve one key at a time.
type applier struct {
	txn                      Txn
	pass                     pass
	oldKey, newKey, oldV, nV []byte
}

type pass uint8

const (
	records pass = iota
	wakes
	orders
	passes
)

// passOf returns the pass of a key, or of a range, which lies within one key space.
func passOf(key []byte) pass {
	switch space := record.SpaceOf(key); space {
	case record.WakeKeys:
		return wakes
	case record.OrderKeys:
		return orders
	}
	return records
}

func (a *applier) apply(f *Effect) bool {
	switch f.Kind {
	case putJob:
		a.put(f)
	case deleteJob:
		a.remove(&f.Old)
	default:
		if a.pass == passOf(f.Key) {
			a.plain(f)
		}
	}
	return true
}

func (a *applier) plain(f *Effect) {
	switch f.Kind {
	case set:
		a.txn.Set(f.Key, f.Value)
	case deleteKey:
		a.txn.Delete(f.Key)
	case deleteRange:
		a.txn.DeleteRange(f.Key, f.Value)
	}
}

func (a *applier) put(f *Effect) {
	old, new := &f.Old, &f.New
	a.oldKey, a.oldV = a.oldKey[:0], a.oldV[:0]
	switch a.pass {
	case records:
		a.putRecord(f)
	case wakes:
		if old.State != 0 {
			a.oldKey, a.oldV = old.AppendWakeKey(a.oldKey), old.AppendWakeValue(a.oldV)
		}
		a.newKey, a.nV = new.AppendWakeKey(a.newKey[:0]), new.AppendWakeValue(a.nV[:0])
		a.move(a.oldV, a.nV)
	case orders:
		if old.State != 0 {
			a.oldKey = old.AppendOrderKey(a.oldKey)
		}
		a.newKey = new.AppendOrderKey(a.newKey[:0])
		a.move(old.ID, new.ID)
	}
}

func (a *applier) putRecord(f *Effect) {
	old, new := &f.Old, &f.New
	a.newKey = new.AppendRecordKey(a.newKey[:0])
	a.txn.Set(a.newKey, f.Value)
	if f.HasBody {
		a.newKey = new.AppendBodyKey(a.newKey[:0])
		a.txn.Set(a.newKey, f.Body)
	}
	if old.State == 0 {
		return
	}
	if a.oldKey = old.AppendRecordKey(a.oldKey[:0]); !bytes.Equal(a.oldKey, new.AppendRecordKey(a.newKey[:0])) {
		a.txn.Delete(a.oldKey)
	}
	if old.Separate && (!new.Separate || old.Seq != new.Seq) {
		a.oldKey = old.AppendBodyKey(a.oldKey[:0])
		a.txn.Delete(a.oldKey)
	}
}

// move replaces the index key in oldKey by the one in newKey; an empty key is
// none. What stays as it is costs nothing.
func (a *applier) move(oldValue, newValue []byte) {
	same := bytes.Equal(a.oldKey, a.newKey)
	if len(a.oldKey) > 0 && !same {
		a.txn.Delete(a.oldKey)
	}
	if len(a.newKey) > 0 && !(same && bytes.Equal(oldValue, newValue)) {
		a.txn.Set(a.newKey, newValue)
	}
}

func (a *applier) remove(p *record.Place) {
	a.oldKey = a.oldKey[:0]
	switch a.pass {
	case records:
		a.oldKey = p.AppendRecordKey(a.oldKey)
		a.txn.Delete(a.oldKey)
		if a.oldKey = a.oldKey[:0]; p.Separate {
			a.oldKey = p.AppendBodyKey(a.oldKey)
		}
	case wakes:
		a.oldKey = p.AppendWakeKey(a.oldKey)
	case orders:
		a.oldKey = p.AppendOrderKey(a.oldKey)
	}
	if len(a.oldKey) > 0 {
		a.txn.Delete(a.oldKey)
	}
}
