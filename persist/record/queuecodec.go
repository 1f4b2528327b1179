package record

import "encoding/binary"

// The value of a Queue record; the number is in the key.
//
//	1    version
//	uv+  name
//	v    5 gauges: delayed, ready, leased, dead, bytes
//	v    10 counters, in the order of the struct
//	v    pause: in until, out until
const queueVersion = 1

func (q *Queue) numbers() [17]*int64 {
	return [...]*int64{
		&q.Delayed, &q.Ready, &q.Leased, &q.Dead, &q.Bytes,
		&q.Added, &q.Delivered, &q.Acked, &q.Noack, &q.Nacked,
		&q.Expired, &q.Cancelled, &q.Purged, &q.Pruned, &q.LeaseTimeouts,
		&q.InUntil, &q.OutUntil,
	}
}

// Sum adds another queue's gauges and counters to q's.
func (q *Queue) Sum(o *Queue) {
	to, from := q.numbers(), o.numbers()
	for i := range to[:15] { // all but the pauses
		*to[i] += *from[i]
	}
}

// AppendValue appends the value of the Queue record.
func (q *Queue) AppendValue(dst []byte) []byte {
	dst = appendString(append(dst, queueVersion), q.Name)
	for _, n := range q.numbers() {
		dst = binary.AppendVarint(dst, *n)
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
	if err := r.end("queue"); err != nil {
		return nil, err
	}
	return q, nil
}

// The value of a Settings record.
//
//	1  version
//	v  lease, lease max, attempts
//	…  backoff
//	v  ttl
//	1  expire to dead
//	v  idem memory, max len, max payload, max delay, max inflight, dead keep, dead count
const settingsVersion = 1

func (s *Settings) tail() [7]*int64 {
	return [...]*int64{
		&s.IdemMemory, &s.MaxLen, &s.MaxPayload, &s.MaxDelay, &s.MaxInflight, &s.DeadKeep, &s.DeadCount,
	}
}

// AppendValue appends the value of the Settings record.
func (s *Settings) AppendValue(dst []byte) []byte {
	dst = binary.AppendVarint(append(dst, settingsVersion), s.Lease)
	dst = binary.AppendVarint(dst, s.LeaseMax)
	dst = binary.AppendVarint(dst, int64(s.Attempts))
	dst = binary.AppendVarint(s.Backoff.append(dst), s.TTL)
	dst = appendBool(dst, s.ExpireToDead)
	for _, n := range s.tail() {
		dst = binary.AppendVarint(dst, *n)
	}
	return dst
}

// DecodeSettings decodes a Settings record. Nothing aliases value.
func DecodeSettings(value []byte) (*Settings, error) {
	r := reader{b: value}
	if r.byte() != settingsVersion {
		r.fail()
	}
	s := &Settings{Lease: r.varint(), LeaseMax: r.varint(), Attempts: r.varint32()}
	s.Backoff.read(&r)
	s.TTL = r.varint()
	s.ExpireToDead = r.bool()
	for _, n := range s.tail() {
		*n = r.varint()
	}
	if err := r.end("settings"); err != nil {
		return nil, err
	}
	return s, nil
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
