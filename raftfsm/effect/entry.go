package effect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"dqd/persist/record"
)

// An entry. Integers are varints (uv unsigned, v signed) unless a width is given.
//
//	1   version
//	uv  shard
//	uv  epoch
//	uv  sequence
//	8   time
//	v   wall offset
//	uv  next token
//	uv  next seq
//	uv  next queue
//	v   progress cursor, wall cursor, idem cursor: distance from time
//	…   effects
//	4   CRC32-C of all before
//
// An effect begins with its kind.
//
//	putJob       uv queue, uv+ id, uv+ record value, body, old place
//	deleteJob    uv queue, uv+ id, old place
//	set          uv+ key, uv+ value
//	delete       uv+ key
//	deleteRange  uv+ low key, uv+ high key (exclusive)
//
//	body         uv 0 = not written; else its length + 1, and its bytes
//
// An old place is what must be known to delete a job's keys.
//
//	1   flags: state in the low 3 bits (0 = there was no job: nothing follows), see below
//	uv  seq    unless sameSeq
//	8   wake   if hasWake
//	1   pri    if delayed or ready
//	8   due    if delayed or ready
//	8   died   if dead
const version = 1

// The kinds are in the log: never reused.
const (
	putJob      Kind = 1
	deleteJob   Kind = 2
	set         Kind = 3
	deleteKey   Kind = 4
	deleteRange Kind = 5
)

const (
	stateMask = 0x07
	dueWall   = 0x08
	hasWake   = 0x10
	wakeWall  = 0x20
	separate  = 0x40
	sameSeq   = 0x80 // as in the new record of the same putJob
)

const crcSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrEntry is wrapped by every error about the bytes of an entry.
var ErrEntry = errors.New("malformed log entry")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrEntry, what) }

// Header is an entry's header: the values of the applied record after the entry.
// Index, Term and StateHash are not in the entry.
type Header struct {
	Shard uint32
	record.Applied
}

func (h *Header) append(dst []byte) []byte {
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, uint64(h.Shard))
	dst = binary.AppendUvarint(dst, h.Epoch)
	dst = binary.AppendUvarint(dst, h.Sequence)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Time))
	dst = binary.AppendVarint(dst, h.WallOffset)
	dst = binary.AppendUvarint(dst, h.NextToken)
	dst = binary.AppendUvarint(dst, h.NextSeq)
	dst = binary.AppendUvarint(dst, uint64(h.NextQueue))
	dst = binary.AppendVarint(dst, h.Cursors[record.Progress]-h.Time)
	dst = binary.AppendVarint(dst, h.Cursors[record.Wall]-h.Time)
	return binary.AppendVarint(dst, h.IdemCursor-h.Time)
}

func (h *Header) read(r *reader) error {
	if v := r.byte(); v != version {
		return fmt.Errorf("%w: version %d, this program knows version %d", ErrEntry, v, version)
	}
	h.Shard = r.uvarint32()
	h.Epoch = r.uvarint()
	h.Sequence = r.uvarint()
	h.Time = int64(r.u64())
	h.WallOffset = r.varint()
	h.NextToken = r.uvarint()
	h.NextSeq = r.uvarint()
	h.NextQueue = r.uvarint32()
	h.Cursors[record.Progress] = h.Time + r.varint()
	h.Cursors[record.Wall] = h.Time + r.varint()
	h.IdemCursor = h.Time + r.varint()
	if r.bad {
		return malformed("header")
	}
	return nil
}

// Kind is an effect's kind.
type Kind uint8

// String names the kind.
func (k Kind) String() string {
	names := [...]string{putJob: "put-job", deleteJob: "delete-job", set: "set", deleteKey: "delete", deleteRange: "delete-range"}
	if k == 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind-%d", uint8(k))
	}
	return names[k]
}

// Effect is one decoded effect. Its slices alias the entry.
type Effect struct {
	Kind  Kind
	Key   []byte // set, delete; delete-range: the low end
	Value []byte // set; delete-range: the high end; put-job: the record's value

	New     record.Place // put-job
	Old     record.Place // put-job, delete-job; State 0 = there was no job
	Body    []byte       // put-job, if HasBody
	HasBody bool
}

// Entry is a decoded entry.
type Entry struct {
	Header
	effects []byte // checked by Decode
	effect  Effect // the one under way
}

// Decode checks a whole entry, down to the last effect, and decodes its header.
func Decode(b []byte) (Entry, error) {
	if len(b) < crcSize {
		return Entry{}, malformed("too short")
	}
	var e Entry
	content, sum := b[:len(b)-crcSize], binary.BigEndian.Uint32(b[len(b)-crcSize:])
	r := reader{b: content}
	// The version comes first, so that a newer format is named as such.
	if err := e.Header.read(&r); err != nil {
		return Entry{}, err
	}
	if crc32.Checksum(content, castagnoli) != sum {
		return Entry{}, malformed("wrong checksum")
	}
	e.effects = r.b
	for len(r.b) > 0 {
		if err := e.effect.read(&r); err != nil {
			return Entry{}, err
		}
	}
	return e, nil
}

// Effects calls yield with each effect, in order. The Effect is reused: one pass at a time.
func (e *Entry) Effects(yield func(*Effect) bool) {
	r := reader{b: e.effects}
	for len(r.b) > 0 {
		if err := e.effect.read(&r); err != nil {
			panic(err) // Decode let it pass
		}
		if !yield(&e.effect) {
			return
		}
	}
}

func (f *Effect) read(r *reader) error {
	*f = Effect{Kind: Kind(r.byte())}
	switch f.Kind {
	case putJob:
		q, id := r.uvarint32(), r.id()
		f.Value = r.string()
		if n := r.uvarint(); n > 0 {
			f.HasBody, f.Body = true, r.take(n-1)
		}
		if r.bad {
			break
		}
		var err error
		if f.New, err = record.DecodePlace(q, id, f.Value); err != nil {
			return fmt.Errorf("%w: %w", ErrEntry, err)
		}
		f.Old = r.place(q, id, &f.New)
	case deleteJob:
		q, id := r.uvarint32(), r.id()
		if f.Old = r.place(q, id, nil); f.Old.State == 0 {
			r.bad = true
		}
	case set:
		f.Key, f.Value = r.string(), r.string()
	case deleteKey:
		f.Key = r.string()
	case deleteRange:
		f.Key, f.Value = r.string(), r.string()
	default:
		return fmt.Errorf("%w: unknown %s", ErrEntry, f.Kind)
	}
	if r.bad {
		return malformed(f.Kind.String())
	}
	return nil
}

func appendPlace(dst []byte, p *record.Place, same bool) []byte {
	flags := byte(p.State)
	if same {
		flags |= sameSeq
	}
	if p.Due.Domain == record.Wall && p.State != record.Leased && p.State != record.Dead {
		flags |= dueWall
	}
	if p.Wake != (record.Instant{}) {
		flags |= hasWake
	}
	if p.Wake.Domain == record.Wall {
		flags |= wakeWall
	}
	if p.Separate {
		flags |= separate
	}
	dst = append(dst, flags)
	if !same {
		dst = binary.AppendUvarint(dst, p.Seq)
	}
	if flags&hasWake != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.Wake.Ns))
	}
	switch p.State {
	case record.Ready, record.Delayed:
		dst = binary.BigEndian.AppendUint64(append(dst, p.Pri), uint64(p.Due.Ns))
	case record.Dead:
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.Died))
	}
	return dst
}

// reader takes an entry apart. After the first fault it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// uvarint accepts the shortest form only.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uvarint32() uint32 {
	v := r.uvarint()
	if v > math.MaxUint32 {
		r.fail()
	}
	return uint32(v)
}

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) string() []byte { return r.take(r.uvarint()) }

func (r *reader) id() []byte {
	id := r.string()
	if len(id) > record.MaxIDLen {
		r.fail()
	}
	return id
}

// place reads an old place; now is the new one of a putJob, nil for deleteJob.
func (r *reader) place(q uint32, id []byte, now *record.Place) (p record.Place) {
	flags := r.byte()
	p.State = record.State(flags & stateMask)
	if p.State == 0 {
		if flags != 0 {
			r.fail()
		}
		return p
	}
	p.Queue, p.ID, p.Separate = q, id, flags&separate != 0
	switch {
	case flags&sameSeq == 0:
		p.Seq = r.uvarint()
	case now != nil:
		p.Seq = now.Seq
	default:
		r.fail()
	}
	p.Wake.Domain = domain(flags & wakeWall)
	if flags&hasWake != 0 {
		p.Wake.Ns = r.time()
	}
	p.Due.Domain = domain(flags & dueWall)
	switch p.State {
	case record.Ready, record.Delayed:
		p.Pri = r.byte()
		p.Due.Ns = r.time()
	case record.Leased:
	case record.Dead:
		p.Died = r.time()
	default:
		r.fail()
	}
	if flags&hasWake == 0 && flags&wakeWall != 0 || flags&dueWall != 0 && p.State > record.Ready {
		r.fail()
	}
	return p
}

func domain(wall byte) record.Domain {
	if wall != 0 {
		return record.Wall
	}
	return record.Progress
}

func (r *reader) time() int64 {
	v := int64(r.u64())
	if v < 0 {
		r.fail()
	}
	return v
}
