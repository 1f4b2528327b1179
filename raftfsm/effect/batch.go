package effect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"dqd/persist/record"
)

// Batch is an entry under construction. The zero Batch is ready for use. It is
// not safe for concurrent use.
type Batch struct {
	// effects is reused from entry to entry; the sealed bytes are not, because
	// raft and the log's cache of recent entries keep them.
	effects []byte
	scratch []byte
}

// PutJob writes a job. old is its present state, nil for a new job; old and new
// may differ in everything but Queue and ID. The keys that only old had are
// deleted. bodyChanged says that new.Body differs from what is stored.
func (b *Batch) PutJob(old, new *record.Job, bodyChanged bool) {
	writeBody := new.Separate && (bodyChanged || old == nil || !old.Separate || old.Seq != new.Seq)
	if writeBody && new.Body == nil {
		panic(fmt.Sprintf("effect: job %q of queue %d needs its body written, and it is not loaded", new.ID, new.Queue))
	}
	if old != nil && (old.Queue != new.Queue || string(old.ID) != string(new.ID)) {
		panic(fmt.Sprintf("effect: job %q of queue %d cannot become %q of queue %d", old.ID, old.Queue, new.ID, new.Queue))
	}
	b.job(putJob, new)
	b.scratch = new.AppendValue(b.scratch[:0])
	b.string(b.scratch)
	if writeBody {
		b.scratch = new.Body.Append(b.scratch[:0])
		b.effects = binary.AppendUvarint(b.effects, uint64(len(b.scratch))+1)
		b.effects = append(b.effects, b.scratch...)
	} else {
		b.effects = append(b.effects, 0)
	}
	if old == nil {
		b.effects = append(b.effects, 0)
		return
	}
	p := old.Place()
	b.effects = appendPlace(b.effects, &p, old.Seq == new.Seq)
}

// DeleteJob deletes a job: its record, its index keys, its separate body.
func (b *Batch) DeleteJob(old *record.Job) {
	b.job(deleteJob, old)
	p := old.Place()
	b.effects = appendPlace(b.effects, &p, false)
}

// Set writes a key that belongs to no job.
func (b *Batch) Set(key, value []byte) {
	b.effects = append(b.effects, byte(set))
	b.string(key)
	b.string(value)
}

// Delete deletes a key that belongs to no job.
func (b *Batch) Delete(key []byte) {
	b.effects = append(b.effects, byte(deleteKey))
	b.string(key)
}

// DeleteRange deletes all keys from lo up to, not including, hi. Range deletions
// are dear: use them for purges and sweeps, never for one job.
func (b *Batch) DeleteRange(lo, hi []byte) {
	b.effects = append(b.effects, byte(deleteRange))
	b.string(lo)
	b.string(hi)
}

// Empty reports that the batch has no effects.
func (b *Batch) Empty() bool { return len(b.effects) == 0 }

// Size returns the bytes of the effects so far.
func (b *Batch) Size() int { return len(b.effects) }

// Cut takes back all effects behind the first size bytes.
func (b *Batch) Cut(size int) { b.effects = b.effects[:size] }

// Seal returns the entry. The batch is empty afterwards.
func (b *Batch) Seal(h Header) []byte {
	b.scratch = h.append(b.scratch[:0])
	entry := make([]byte, 0, len(b.scratch)+len(b.effects)+crcSize)
	entry = append(append(entry, b.scratch...), b.effects...)
	b.Reset()
	return binary.BigEndian.AppendUint32(entry, crc32.Checksum(entry, castagnoli))
}

// keepMax bounds what a batch holds on to after an unusually large entry.
const keepMax = 1 << 20

// Reset drops the effects.
func (b *Batch) Reset() {
	if cap(b.effects) > keepMax {
		b.effects = nil
	}
	if cap(b.scratch) > keepMax {
		b.scratch = nil
	}
	b.effects = b.effects[:0]
}

func (b *Batch) job(k Kind, j *record.Job) {
	b.effects = binary.AppendUvarint(append(b.effects, byte(k)), uint64(j.Queue))
	b.string(j.ID)
}

func (b *Batch) string(s []byte) {
	b.effects = append(binary.AppendUvarint(b.effects, uint64(len(s))), s...)
}
