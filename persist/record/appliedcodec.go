package record

import (
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The value of the Applied record, of fixed size.
//
//	1  version
//	8  index, 8 term
//	8  epoch, 8 sequence
//	8  time, 8 wall offset
//	8  next token, 8 next seq, 4 next queue
//	8  progress cursor, 8 wall cursor, 8 idem cursor
//	8  state hash
//	4  CRC32-C of all before
const (
	appliedVersion = 1
	appliedSize    = 1 + 8*12 + 4 + 4
)

// AppendValue appends the value of the Applied record.
func (a *Applied) AppendValue(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, appliedVersion)
	for _, v := range [...]uint64{
		a.Index, a.Term, a.Epoch, a.Sequence, uint64(a.Time), uint64(a.WallOffset), a.NextToken, a.NextSeq,
	} {
		dst = be64(dst, v)
	}
	dst = be32(dst, a.NextQueue)
	for _, v := range [...]uint64{
		uint64(a.Cursors[Progress]), uint64(a.Cursors[Wall]), uint64(a.IdemCursor), a.StateHash,
	} {
		dst = be64(dst, v)
	}
	return be32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// DecodeApplied decodes an Applied record and checks its CRC.
func DecodeApplied(value []byte) (a Applied, err error) {
	if len(value) != appliedSize || value[0] != appliedVersion {
		return a, malformed("applied")
	}
	body, sum := value[:appliedSize-4], binary.BigEndian.Uint32(value[appliedSize-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return a, malformed("applied: wrong checksum")
	}
	r := reader{b: body[1:]}
	a = Applied{
		Index: r.u64(), Term: r.u64(), Epoch: r.u64(), Sequence: r.u64(), Time: int64(r.u64()), WallOffset: int64(r.u64()),
		NextToken: r.u64(), NextSeq: r.u64(), NextQueue: r.u32(),
	}
	a.Cursors = [2]int64{int64(r.u64()), int64(r.u64())}
	a.IdemCursor, a.StateHash = int64(r.u64()), r.u64()
	return a, r.end("applied")
}

// Format says what a state store holds.
type Format struct {
	Version uint8
	Shard   uint32
}

// FormatVersion is the version of everything in this package and of the log
// entries. A store with another one is refused.
const FormatVersion = 2

// The value of the Format record.
//
//	1  version
//	4  shard

// AppendValue appends the value of the Format record.
func (f *Format) AppendValue(dst []byte) []byte { return be32(append(dst, f.Version), f.Shard) }

// DecodeFormat decodes a Format record, of any version.
func DecodeFormat(value []byte) (f Format, err error) {
	r := reader{b: value}
	f = Format{Version: r.byte(), Shard: r.u32()}
	return f, r.end("format")
}
