package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cespare/xxhash/v2"

	"dqd/persist/record"
)

// ErrBroken is wrapped when an archive is not whole, or none.
var ErrBroken = errors.New("no whole backup")

// Summary says what an archive holds, as far as it was read.
type Summary struct {
	Head
	Applied record.Applied // where the state stood
	Queues  int64
	Live    int64 // jobs
	Dead    int64 // jobs
	Pairs   uint64
	Bytes   int64 // of the archive
}

// Reader reads an archive, and believes nothing that its sums do not prove.
type Reader struct {
	Summary
	in      io.Reader
	sum     xxhash.Digest
	content bytes.Buffer // of the present block
	begin   int64        // of the present block; its end, as far as it was read, is Bytes
	last    []byte       // key
	placed  bool         // the position was read
	ended   bool
}

// NewReader reads the head of an archive. An error that wraps ErrBroken is about what
// was read, any other about reading it.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: in}
	r.sum.Reset()
	var begin [len(magic) + 1]byte
	switch n, err := io.ReadFull(in, begin[:]); {
	case err != nil && !ended(err):
		return nil, err
	case n == 0:
		return nil, fmt.Errorf("%w: it is empty; if it came by a pipe, look at the error of the command before it", ErrBroken)
	case string(begin[:min(n, len(magic))]) != magic:
		return nil, fmt.Errorf("%w: it does not begin as a backup does", ErrBroken)
	case begin[len(magic)] != version:
		return nil, fmt.Errorf("%w: it has version %d, this program knows version %d", ErrBroken, begin[len(magic)], version)
	}
	r.read(begin[:])
	k, err := r.block()
	if err != nil {
		return nil, err
	}
	b := r.content.Bytes()
	if k != kindHead || len(b) != 1+4+8 {
		return nil, r.broken("it has no head")
	}
	r.Head = Head{Format: b[0], Shard: binary.BigEndian.Uint32(b[1:]), Taken: int64(binary.BigEndian.Uint64(b[5:]))}
	if r.Format != record.FormatVersion {
		return nil, fmt.Errorf("%w for this program: its records have format %d instead of %d", ErrBroken, r.Format, record.FormatVersion)
	}
	return r, nil
}

// Next returns the next pairs, which are valid until it is called again. After the end
// of a whole archive it returns io.EOF.
func (r *Reader) Next() (Pairs, error) {
	if r.ended {
		return nil, io.EOF
	}
	k, err := r.block()
	if err != nil {
		return nil, err
	}
	b := r.content.Bytes()
	switch {
	case k == kindPairs:
		return b, r.check(b)
	case k != kindEnd || len(b) != 8:
		return nil, r.broken("unknown block")
	case binary.BigEndian.Uint64(b) != r.Pairs:
		return nil, r.broken("there were %d pairs instead of %d", r.Pairs, binary.BigEndian.Uint64(b))
	case !r.placed:
		return nil, r.broken("it does not say where the state stood")
	}
	var more [1]byte
	r.begin = r.Bytes
	switch n, err := io.ReadFull(r.in, more[:]); {
	case n > 0:
		return nil, r.broken("there is more behind its end")
	case !ended(err):
		return nil, err
	}
	r.ended = true
	return nil, io.EOF
}

// Verify reads a whole archive.
func Verify(in io.Reader) (Summary, error) {
	r, err := NewReader(in)
	if err != nil {
		return Summary{}, err
	}
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		return r.Summary, err
	}
	return r.Summary, nil
}

// block reads a block into content.
func (r *Reader) block() (kind, error) {
	var head [blockHead]byte
	var sum [sumSize]byte
	r.content.Reset()
	r.begin = r.Bytes
	if err := r.fill(head[:]); err != nil {
		return 0, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxContent {
		return 0, r.broken("a block of %d bytes", size)
	}
	// What a wrong length announces is not allocated before it has come.
	_, err := io.CopyN(&r.content, r.in, int64(size))
	r.read(r.content.Bytes())
	if err != nil {
		return 0, r.short(err)
	}
	want := r.sum.Sum64()
	if err := r.fill(sum[:]); err != nil {
		return 0, err
	}
	if binary.BigEndian.Uint64(sum[:]) != want {
		return 0, r.broken("wrong checksum")
	}
	return kind(head[0]), nil
}

func (r *Reader) fill(b []byte) error {
	n, err := io.ReadFull(r.in, b)
	r.read(b[:n])
	return r.short(err)
}

// short explains that the archive ends where it must not.
func (r *Reader) short(err error) error {
	if ended(err) {
		return r.broken("it ends early")
	}
	return err
}

// ended tells the end of what is read from a failure to read it.
func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

func (r *Reader) read(b []byte) {
	r.sum.Write(b)
	r.Bytes += int64(len(b))
}

// broken says what is wrong, and where: which block it is in, as a sum proves no less.
func (r *Reader) broken(what string, args ...any) error {
	where := fmt.Sprintf("at byte %d", r.Bytes)
	if r.begin < r.Bytes {
		where = fmt.Sprintf("in its block of bytes %d to %d", r.begin, r.Bytes-1)
	}
	return fmt.Errorf("%w: %s (%s)", ErrBroken, fmt.Sprintf(what, args...), where)
}

// check looks at the pairs of a block before anybody uses them, and counts.
func (r *Reader) check(b []byte) error {
	for len(b) > 0 {
		key, rest, ok := cut(b)
		value, rest, ok2 := cut(rest)
		if !ok || !ok2 {
			return r.broken("malformed pairs")
		}
		if bytes.Compare(key, r.last) <= 0 {
			return r.broken("key %x comes after key %x", key, r.last)
		}
		r.last = append(r.last[:0], key...)
		r.Pairs++
		b = rest
		if err := r.count(key, value); err != nil {
			return r.broken("key %x: %v", key, err)
		}
	}
	return nil
}

// count looks at the records that say what is in the state.
func (r *Reader) count(key, value []byte) (err error) {
	if bytes.Equal(key, record.AppliedKey()) {
		r.placed = true
		r.Applied, err = record.DecodeApplied(value)
		return err
	}
	if number, ok := record.ParseQueueKey(key); ok {
		q, err := record.DecodeQueue(number, value)
		if err != nil {
			return err
		}
		r.Queues++
		r.Live += q.Live()
		r.Dead += q.Dead
	}
	return nil
}

// Pairs are keys of the store with their values.
type Pairs []byte

// All walks over the pairs.
func (p Pairs) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for len(p) > 0 {
			key, rest, _ := cut(p)
			value, rest, _ := cut(rest)
			if p = rest; !yield(key, value) {
				return
			}
		}
	}
}

// cut takes what stands behind its length.
func cut(b []byte) (field, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}
