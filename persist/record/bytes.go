package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrFormat is wrapped by every error of a decoder.
var ErrFormat = errors.New("malformed record")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrFormat, what) }

// reader takes a value apart. After the first fault it returns zeros and
// remembers the fault, so that decoders check once, at the end. It accepts only
// what the encoders write: shortest integers, flags of 0 and 1, no rest.
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

func (r *reader) bool() bool {
	v := r.byte()
	if v > 1 {
		r.fail()
	}
	return v == 1
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

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
	if v > 1<<32-1 {
		r.fail()
		return 0
	}
	return uint32(v)
}

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) varint32() int32 {
	v := r.varint()
	if v != int64(int32(v)) {
		r.fail()
		return 0
	}
	return int32(v)
}

// take returns the next n bytes, with no capacity beyond them.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// string reads a length and as many bytes; never nil unless there is a fault.
func (r *reader) string() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	return r.take(int(n))
}

// count reads a number of elements of at least size bytes each: what cannot be
// in the rest of the value is refused before anything is allocated for it.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) rest() []byte { return r.take(len(r.b)) }

func (r *reader) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return malformed(what)
	}
	return nil
}

func appendString(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}
