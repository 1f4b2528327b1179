package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
)

// Pebble takes the first invalid chunk of its newest write-ahead file for the
// torn end of the last write, and drops all that follows. It looks for a proof of
// the contrary only in later blocks of 32 KiB, so a single flipped bit would cost
// the acknowledged rest of a block, in silence. checkWAL looks in the same block.
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
// What cannot be told from a torn end: damage to the very last synced write.
const (
	walBlock     = 32 << 10
	walHeader    = 19
	walFirstKind = 9
	walLastKind  = 12
)

// checkWAL refuses a folder in which a write-ahead file is invalid before a point
// up to which, as a later chunk says, it was synced.
func checkWAL(fs FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		number, err := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
		if err != nil || !strings.HasSuffix(name, ".log") {
			continue
		}
		content, err := ReadFile(fs, dir, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		end := validWAL(content, uint32(number))
		if synced := syncedBehind(content, end, uint32(number)); synced > uint64(end) {
			return fmt.Errorf("write-ahead file %s: %w at byte %d, though it was synced up to byte %d", name, ErrDamaged, end, synced)
		}
	}
	return nil
}

// validWAL returns where the first invalid chunk begins.
func validWAL(b []byte, number uint32) (end int) {
	for {
		if left := walBlock - end%walBlock; left < walHeader {
			end += left // the rest of a block is filled with zeros
		}
		size := walChunk(b, end, number)
		if size == 0 {
			return end
		}
		end += size
	}
}

// syncedBehind returns the farthest sync that a chunk behind the invalid one, in
// the same block, vouches for. Where the next chunk begins is not known.
func syncedBehind(b []byte, end int, number uint32) (synced uint64) {
	for at := end + 1; at < min(len(b), end-end%walBlock+walBlock); at++ {
		if walChunk(b, at, number) > 0 {
			synced = max(synced, binary.LittleEndian.Uint64(b[at+11:]))
		}
	}
	return synced
}

// walChunk returns the size of the chunk at an offset, 0 if it is not valid.
func walChunk(b []byte, at int, number uint32) int {
	if at+walHeader > len(b) || b[at+6] < walFirstKind || b[at+6] > walLastKind ||
		binary.LittleEndian.Uint32(b[at+7:]) != number {
		return 0
	}
	size := walHeader + int(binary.LittleEndian.Uint16(b[at+4:]))
	if at+size > len(b) || at%walBlock+size > walBlock {
		return 0
	}
	sum := crc32.Checksum(b[at+6:at+size], castagnoli)
	if sum = (sum>>15 | sum<<17) + 0xa282ead8; binary.LittleEndian.Uint32(b[at:]) != sum {
		return 0
	}
	return size
}
