package record

import "encoding/binary"

// The value of a Queue record; the number is in the key.
//
//	1    version
//	uv+  name
//	v    5 gauges: delayed, ready, leased, dead, bytes
//	v    10 counters, in the order of the struct
//	v    idem until; bucket: full, rate, burst
//	1 v  pause in until: timeline, ns
//	1 v  pause out until
//	uv   number of its idem memories, where that is not its own
const queueVersion = 1

func (q *Queue) numbers() [19]*int64 {
	return [...]*int64{
		&q.Delayed, &q.Ready, &q.Leased, &q.Dead, &q.Bytes,
		&q.Added, &q.Delivered, &q.Acked, &q.Noack, &q.Nacked,
		&q.Expired, &q.Cancelled, &q.Purged, &q.Pruned, &q.LeaseTimeouts,
		&q.IdemUntil, &q.BucketFull, &q.BucketRate, &q.BucketBurst,
	}
}

// Sum adds another queue's gauges and counters to q's.
func (q *Queue) Sum(o *Queue) {
	to, from := q.numbers(), o.numbers()
	for i := range to[:15] { // the rest are no sums
		*to[i] += *from[i]
	}
}

// Subtract takes another queue's gauges and counters from q's.
func (q *Queue) Subtract(o *Queue) {
	to, from := q.numbers(), o.numbers()
	for i := range to[:15] {
		*to[i] -= *from[i]
	}
}

// AppendValue appends the value of the Queue record.
func (q *Queue) AppendValue(dst []byte) []byte {
	dst = appendString(append(dst, queueVersion), q.Name)
	for _, n := range q.numbers() {
		dst = binary.AppendVarint(dst, *n)
	}
	for _, until := range [...]Instant{q.InUntil, q.OutUntil} {
		dst = binary.AppendVarint(append(dst, byte(until.Domain)), until.Ns)
	}
	if q.IdemNumber != 0 {
		dst = binary.AppendUvarint(dst, uint64(q.IdemNumber))
	}
	return dst
}

// DecodeQueue decodes a Queue record. Its name aliases value.
func DecodeQueue(number uint32, value []byte) (*Queue, error) {
	r := reader{b: value}
	if r.byte() != queueVersion {
		r.fail()
	}
	q := &Queue{Number: number, Name: r.string()}
	for _, n := range q.numbers() {
		*n = r.varint()
	}
	for _, until := range [...]*Instant{&q.InUntil, &q.OutUntil} {
		if until.Domain = Domain(r.byte()); until.Domain > Wall {
			r.fail()
		}
		until.Ns = r.varint()
	}
	if len(r.b) > 0 {
		if q.IdemNumber = r.uvarint32(); q.IdemNumber == 0 {
			r.fail()
		}
	}
	if err := r.end("queue"); err != nil {
		return nil, err
	}
	return q, nil
}

// The value of an Idem record.
//
//	1   version
//	16  digest
//	8   until
const idemVersion = 1

// AppendValue appends the value of the Idem record.
func (m *Idem) AppendValue(dst []byte) []byte {
	return be64(append(append(dst, idemVersion), m.Digest[:]...), uint64(m.Until))
}

// DecodeIdem decodes an Idem record.
func DecodeIdem(value []byte) (m Idem, err error) {
	r := reader{b: value}
	if r.byte() != idemVersion {
		r.fail()
	}
	copy(m.Digest[:], r.take(len(m.Digest)))
	m.Until = int64(r.u64())
	return m, r.end("idem")
}
