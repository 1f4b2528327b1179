package archive

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

const (
	magic   = "dqd-backup"
	version = 1

	blockHead  = 1 + 4
	sumSize    = 8
	maxContent = 32 << 20
)

type kind uint8

const (
	kindHead kind = 1 + iota
	kindPairs
	kindEnd
)

// Head says what is in an archive.
type Head struct {
	Format uint8  // of the records
	Shard  uint32 // whose state it is
	Taken  int64  // as of when, Unix ns by the server's wall clock
}

// Writer makes the bytes of an archive. Its methods append to a slice what comes next,
// and must be called in this order: Head, Pairs any number of times, End.
type Writer struct {
	sum   xxhash.Digest
	pairs uint64
}

// Head appends the beginning.
func (w *Writer) Head(dst []byte, h Head) []byte {
	w.sum.Reset()
	begin := len(dst)
	dst = append(append(dst, magic...), version)
	w.sum.Write(dst[begin:])
	content := binary.BigEndian.AppendUint32([]byte{h.Format}, h.Shard)
	return w.block(dst, kindHead, binary.BigEndian.AppendUint64(content, uint64(h.Taken)))
}

// Pairs appends n pairs, which AppendPair has encoded: at most 32 MiB.
func (w *Writer) Pairs(dst []byte, n int, pairs []byte) []byte {
	w.pairs += uint64(n)
	return w.block(dst, kindPairs, pairs)
}

// End appends the end.
func (w *Writer) End(dst []byte) []byte {
	return w.block(dst, kindEnd, binary.BigEndian.AppendUint64(nil, w.pairs))
}

func (w *Writer) block(dst []byte, k kind, content []byte) []byte {
	begin := len(dst)
	dst = binary.BigEndian.AppendUint32(append(dst, byte(k)), uint32(len(content)))
	dst = append(dst, content...)
	w.sum.Write(dst[begin:])
	begin = len(dst)
	dst = binary.BigEndian.AppendUint64(dst, w.sum.Sum64())
	w.sum.Write(dst[begin:])
	return dst
}

// AppendPair appends a key of the store and its value.
func AppendPair(dst, key, value []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
}
