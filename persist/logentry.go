package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Keys of the log store. One store serves all shards of a process, so that they
// share its fsyncs.
//
//	01 shard4 index8   a log entry
//	02 shard4 name     a stable value (term, vote)
//	03                 scratch, see warmUp
//	04                 the number of the newest synced write, see syncedName
//
// The value of a log entry. Integers of a given width are big-endian.
//
//	1    version
//	1    type
//	uv   term
//	8    appended at, Unix ns; 0 = not known
//	uv+  extensions
//	…    data
//	4    CRC32-C of shard4, index8 and all before: a value under another key is damage too
const (
	entryPrefix   = 0x01
	stablePrefix  = 0x02
	scratchPrefix = 0x03
	syncedPrefix  = 0x04

	entryVersion = 1
	entryCRC     = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is wrapped when something on disk is not what was written.
var ErrDamaged = errors.New("damaged")

// Entry is one entry of the Raft log.
type Entry struct {
	Index, Term      uint64
	Type             uint8
	Data, Extensions []byte
	AppendedAt       int64 // Unix ns, the leader's clock; 0 = not known
}

// size is about what the entry takes in memory.
func (e *Entry) size() int { return len(e.Data) + len(e.Extensions) + 96 }

func (e *Entry) valueSize() int {
	return 2 + uvarintLen(e.Term) + 8 + uvarintLen(uint64(len(e.Extensions))) + len(e.Extensions) + len(e.Data) + entryCRC
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func appendEntryKey(dst []byte, shard uint32, index uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(append(dst, entryPrefix), shard), index)
}

func stableKey(shard uint32, name []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{stablePrefix}, shard), name...)
}

// appendValue appends the value; key is the entry's key, whose shard and index it seals.
func (e *Entry) appendValue(dst, key []byte) []byte {
	start := len(dst)
	dst = binary.AppendUvarint(append(dst, entryVersion, e.Type), e.Term)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.AppendedAt))
	dst = binary.AppendUvarint(dst, uint64(len(e.Extensions)))
	dst = append(append(dst, e.Extensions...), e.Data...)
	return binary.BigEndian.AppendUint32(dst, entrySum(key, dst[start:]))
}

func entrySum(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[1:], castagnoli), castagnoli, content)
}

// decodeEntry decodes a log entry. Its data aliases value.
func decodeEntry(key, value []byte) (e Entry, err error) {
	if len(key) != 13 || len(value) < 2+entryCRC {
		return e, fmt.Errorf("log entry under key %x: %w", key, ErrDamaged)
	}
	e.Index = binary.BigEndian.Uint64(key[5:])
	content := value[:len(value)-entryCRC]
	if entrySum(key, content) != binary.BigEndian.Uint32(value[len(content):]) {
		return e, fmt.Errorf("log entry %d: %w: wrong checksum", e.Index, ErrDamaged)
	}
	if content[0] != entryVersion {
		return e, fmt.Errorf("log entry %d has version %d, this program knows version %d", e.Index, content[0], entryVersion)
	}
	bad := func() (Entry, error) { return Entry{}, fmt.Errorf("log entry %d: %w", e.Index, ErrDamaged) }
	e.Type = content[1]
	rest := content[2:]
	term, n := binary.Uvarint(rest)
	if n <= 0 || len(rest) < n+8 {
		return bad()
	}
	e.Term, rest = term, rest[n:]
	e.AppendedAt, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return bad()
	}
	rest = rest[n:]
	if size > 0 {
		e.Extensions = rest[:size:size]
	}
	if rest = rest[size:]; len(rest) > 0 {
		e.Data = rest[:len(rest):len(rest)]
	}
	return e, nil
}
