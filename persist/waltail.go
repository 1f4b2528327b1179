package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/cockroachdb/pebble/v2"
)

// Pebble takes the first invalid chunk of its newest write-ahead file for the
// torn end of the last write, and drops all that follows. Its proof of the
// contrary, how far the file was synced when a chunk was written, falls far behind
// with large records, so a single flipped bit would cost acknowledged entries, in
// silence. checkWAL looks for the witnesses that the log writes into its records.
//
// A chunk of the write-ahead file (Pebble's format "WAL sync"), little-endian:
//
//	4  CRC32-C of all that follows the length, masked
//	2  length of the data
//	1  encoding: 9 full, 10 first, 11 middle, 12 last
//	4  number of the file: what a recycled file still holds has another one
//	8  how far the file was synced when the chunk was written
//	…  data
//
// The first file of a new store has the older format "recyclable": encodings 5 to
// 8, and not the 8 bytes.
//
// What it cannot tell from a torn end: damage to the very last synced write, as
// long as no other record was written after it was done, and a file that was cut
// short. The number of synced writes tells of both; see syncedName.
const (
	walBlock     = 32 << 10
	walHeader    = 19
	walOldHeader = 11
)

// walKind is a chunk's place in its record.
type walKind uint8

const (
	walFull walKind = iota
	walFirst
	walMiddle
	walLast
)

// begins says whether a record begins with the chunk.
func (k walKind) begins() bool { return k == walFull || k == walFirst }

// ends says whether a record ends with the chunk.
func (k walKind) ends() bool { return k == walFull || k == walLast }

// checkWAL refuses a folder in which the newest write-ahead file is missing, or
// lacks what was synced. A store that must exist has a marker that names the file. The files before it ended cleanly, which Pebble checks.
func checkWAL(fs FS, dir string, mustExist bool) (walMarker, error) {
	m, ok, err := readWALMarker(fs, dir)
	if err == nil && !ok && mustExist {
		if desc, err := pebble.Peek(dir, fs); err == nil && desc.Exists {
			return m, fmt.Errorf("file %s: %w: it is missing", walMarkerName, ErrDamaged)
		}
	}
	if err != nil || !ok || m.file == 0 {
		return m, err
	}
	name := walName(m.file)
	content, err := ReadFile(fs, dir, name)
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("the newest write-ahead file %s: %w: it is missing", name, ErrDamaged)
	}
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", name, err)
	}
	end, done := validWAL(content, uint32(m.file), m.life)
	if done < m.holds {
		return m, fmt.Errorf("write-ahead file %s: %w at byte %d, before its first synced write", name, ErrDamaged, end)
	}
	if at := provenBehind(content, end, uint32(m.file), m.life, max(done, m.before)); at > 0 {
		return m, fmt.Errorf("write-ahead file %s: %w at byte %d: a record at byte %d was written after it had been synced",
			name, ErrDamaged, end, at)
	}
	return m, nil
}

// validWAL returns where the first invalid chunk begins, and the newest synced
// write that the records before it have, or vouch for.
func validWAL(b []byte, number uint32, life uint64) (end int, done uint64) {
	var head []byte // of the record that a chunk belongs to
	for {
		kind, data, size := walChunk(b, end, number)
		if left := walBlock - end%walBlock; size == 0 && left < walHeader && zero(b[min(end, len(b)):min(end+left, len(b))]) {
			end += left // no chunk fits into the rest of the block
			kind, data, size = walChunk(b, end, number)
		}
		if size == 0 {
			return end, done
		}
		if kind.begins() {
			head = head[:0]
		}
		head = append(head, data[:min(len(data), witnessHead-len(head))]...)
		if kind.ends() {
			if v, ok := decodeWitness(head); ok && v.life == life {
				if v.sync {
					v.synced++
				}
				done = max(done, v.synced)
			}
		}
		end += size
	}
}

// provenBehind returns where a record behind the invalid chunk begins that was
// written when more synced writes than done were durable; 0 = there is none. Where
// the next chunk begins is not known: every byte may be it.
func provenBehind(b []byte, end int, number uint32, life, done uint64) int {
	for at := end + 1; at < len(b); {
		kind, head, size := walChunk(b, at, number)
		if size == 0 {
			at++
			continue
		}
		if kind.begins() {
			if len(head) < witnessHead && kind == walFirst { // it goes on in the next block
				_, more, _ := walChunk(b, at+size, number)
				head = append(head[:len(head):len(head)], more...)
			}
			if v, ok := decodeWitness(head); ok && v.life == life && v.synced > done {
				return at
			}
		}
		at += size
	}
	return 0
}

// walChunk returns the chunk at an offset; size is 0 if it is not valid.
func walChunk(b []byte, at int, number uint32) (kind walKind, data []byte, size int) {
	if at+walOldHeader > len(b) || binary.LittleEndian.Uint32(b[at+7:]) != number {
		return 0, nil, 0
	}
	header := walHeader
	switch e := b[at+6]; {
	case e >= 5 && e <= 8:
		kind, header = walKind(e-5), walOldHeader
	case e >= 9 && e <= 12:
		kind = walKind(e - 9)
	default:
		return 0, nil, 0
	}
	size = header + int(binary.LittleEndian.Uint16(b[at+4:]))
	if at+size > len(b) || at%walBlock+size > walBlock {
		return 0, nil, 0
	}
	sum := crc32.Checksum(b[at+6:at+size], castagnoli)
	if sum = (sum>>15 | sum<<17) + 0xa282ead8; binary.LittleEndian.Uint32(b[at:]) != sum {
		return 0, nil, 0
	}
	return kind, b[at+header : at+size], size
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
