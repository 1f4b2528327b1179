package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncedName is a small file in the log's folder that says how many synced writes
// the log has. Each of them carries its number, under syncedKey, so a log that has
// fewer than the file says has lost its end: entries, or votes. No other thing
// tells the newest write-ahead file that was cut short from a torn end.
//
//	8    "dqd-syn1"
//	8    how many, in 48 bits, and 16 bits of their checksum
//
// The last 8 bytes are overwritten in place after each synced write, before
// anybody is told of it, and never synced: after a kill the file says how many
// there were, or one less; after a power loss how many there had once been, and it
// detects less. It never says too many. The 8 bytes do not cross a sector, so none
// of them is torn from the others.
const (
	syncedName  = "SYNCED"
	syncedMagic = "dqd-syn1"
	syncedSize  = 8 + 8
)

var syncedKey = []byte{syncedPrefix}

func appendSynced(dst []byte, count uint64) []byte {
	sum := crc32.Checksum(binary.BigEndian.AppendUint64(nil, count), castagnoli)
	return binary.BigEndian.AppendUint64(dst, count<<16|uint64(uint16(sum)))
}

// readSynced reads the file.
func readSynced(fs FS, dir string) (count uint64, err error) {
	b, err := ReadFile(fs, dir, syncedName)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", syncedName, err)
	}
	if len(b) == syncedSize {
		count = binary.BigEndian.Uint64(b[8:]) >> 16
	}
	if string(b) != string(appendSynced([]byte(syncedMagic), count)) {
		return 0, fmt.Errorf("file %s: %w", syncedName, ErrDamaged)
	}
	return count, nil
}

// openSynced compares the file with the log, whose newest write-ahead file was
// newest, and opens it to be written. A log that is new gets one.
func (l *Log) openSynced(dir, newest string, o *LogOptions) error {
	v, closer, err := l.db.Get(syncedKey)
	if err == nil {
		if len(v) != 8 {
			err = fmt.Errorf("the number of synced writes: %w", ErrDamaged)
		} else {
			l.synced = binary.BigEndian.Uint64(v)
		}
		closer.Close()
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	told, err := readSynced(o.FS, dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && o.MustExist:
		return fmt.Errorf("file %s: %w: it is missing", syncedName, ErrDamaged)
	case errors.Is(err, os.ErrNotExist):
		err = WriteFile(o.FS, dir, syncedName, appendSynced([]byte(syncedMagic), l.synced))
	case err == nil && told > l.synced:
		err = fmt.Errorf("write-ahead file %s: %w: the last %d of %d synced writes are missing, it was cut short, is damaged at its end, or is an old one",
			newest, ErrDamaged, told-l.synced, told)
	}
	if err != nil || o.ReadOnly {
		return err
	}
	l.told, err = o.FS.OpenReadWrite(o.FS.PathJoin(dir, syncedName), vfs.WriteCategoryUnspecified)
	return err
}

// tell notes that a write was synced. Nothing may be acknowledged before.
func (l *Log) tell() error {
	l.synced++
	if _, err := l.told.WriteAt(appendSynced(nil, l.synced), int64(len(syncedMagic))); err != nil {
		return fmt.Errorf("writing %s: %w", syncedName, err)
	}
	return nil
}
