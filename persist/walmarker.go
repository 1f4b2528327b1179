package persist

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// walMarkerName is a small file in the log's folder that names the newest
// write-ahead file, which Pebble would not miss. It is written before an entry of
// that file is acknowledged, and once more after the file's first synced write.
//
//	8    "dqd-wal1"
//	8    number of the file; 0 = all that was in it is in tables
//	8    life: a random number of the process that wrote it, see witness
//	8    synced writes begun before the file was made
//	8    a synced write that the file has; 0 = not known to have one
//	4    CRC32-C of all before
const (
	walMarkerName  = "NEWEST-WAL"
	walMarkerMagic = "dqd-wal1"
	walMarkerSize  = 8 + 4*8 + 4
)

type walMarker struct {
	file, life, before, holds uint64
}

func (m *walMarker) encode() []byte {
	b := []byte(walMarkerMagic)
	for _, v := range []uint64{m.file, m.life, m.before, m.holds} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readWALMarker reads the marker; ok is false if there is none, as in a new store.
func readWALMarker(fs FS, dir string) (m walMarker, ok bool, err error) {
	b, err := ReadFile(fs, dir, walMarkerName)
	if errors.Is(err, os.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, fmt.Errorf("reading %s: %w", walMarkerName, err)
	}
	if len(b) != walMarkerSize || string(b[:8]) != walMarkerMagic ||
		crc32.Checksum(b[:walMarkerSize-4], castagnoli) != binary.BigEndian.Uint32(b[walMarkerSize-4:]) {
		return m, false, fmt.Errorf("file %s: %w", walMarkerName, ErrDamaged)
	}
	for i, v := range []*uint64{&m.file, &m.life, &m.before, &m.holds} {
		*v = binary.BigEndian.Uint64(b[8+8*i:])
	}
	return m, true, nil
}

// walWitness counts a log's synced writes and keeps its marker. Synced writes are
// made one at a time: begin and end are called under the log's writing lock.
type walWitness struct {
	fs   FS
	dir  string
	life uint64

	begun, synced atomic.Uint64
	bare          atomic.Bool // the marker does not say that its file has a synced write

	mu     sync.Mutex // guards marker; held while it is written
	marker walMarker
}

func newWALWitness(fs FS, dir string) *walWitness {
	w := &walWitness{fs: fs, dir: dir}
	var life [8]byte
	rand.Read(life[:]) // never fails
	w.life = binary.BigEndian.Uint64(life[:])
	return w
}

// begin returns what a record says about the synced writes before it.
func (w *walWitness) begin(sync bool) witness {
	v := witness{life: w.life, synced: w.synced.Load(), sync: sync}
	if sync {
		w.begun.Store(v.synced + 1)
	}
	return v
}

// end notes that the synced write is durable. It reports whether holds should be
// called.
func (w *walWitness) end() bool {
	w.synced.Store(w.begun.Load())
	return w.bare.CompareAndSwap(true, false)
}

// created writes the marker for a new write-ahead file.
func (w *walWitness) created(file uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.write(walMarker{file: file, life: w.life, before: w.begun.Load()})
	w.bare.Store(true)
	return err
}

// holds writes into the marker that its file has the newest synced write. One that
// was under way when the file was made may be in the file before, and does not count.
func (w *walWitness) holds() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.marker
	if m.holds != 0 {
		return nil
	}
	if m.holds = w.synced.Load(); m.holds <= m.before {
		w.bare.Store(true)
		return nil
	}
	return w.write(m)
}

// dropped forgets a file that is about to be removed, if it is the marker's.
func (w *walWitness) dropped(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.marker.file == 0 || name != walName(w.marker.file) {
		return nil
	}
	return w.write(walMarker{life: w.life})
}

func (w *walWitness) write(m walMarker) error {
	if err := WriteFile(w.fs, w.dir, walMarkerName, m.encode()); err != nil {
		return err
	}
	w.marker = m
	return nil
}

func walName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

// witnessFS changes the marker before Pebble removes the file that it names: at a
// start it turns the write-ahead files into tables and removes them before it
// makes the next one.
type witnessFS struct {
	FS
	w *walWitness
}

func (f witnessFS) Unwrap() FS { return f.FS }

func (f witnessFS) Remove(name string) error {
	if err := f.w.dropped(f.PathBase(name)); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// witness stands at the head of every record of the log's write-ahead files, as
// data that Pebble does not store. Since synced writes are made one at a time and
// a sync covers all before it, a record that says "n synced writes were done
// before me" proves that everything up to the nth was durable.
//
//	1    1 = a synced write, 0 = not
//	8    life: what a client writes into an entry cannot pass for a witness
//	8    synced writes of this life that were done before
type witness struct {
	life, synced uint64
	sync         bool
}

const witnessSize = 17

func (v *witness) encode() []byte {
	b := make([]byte, 1, witnessSize)
	if v.sync {
		b[0] = 1
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, v.life), v.synced)
}

// witnessHead is how much of a record decodeWitness needs: Pebble's batch header,
// the kind and the length of the witness, the witness.
const witnessHead = 12 + 2 + witnessSize

func decodeWitness(record []byte) (v witness, ok bool) {
	if len(record) < witnessHead || record[12] != byte(pebble.InternalKeyKindLogData) || record[13] != witnessSize {
		return v, false
	}
	b := record[14:witnessHead]
	return witness{sync: b[0] == 1, life: binary.BigEndian.Uint64(b[1:]), synced: binary.BigEndian.Uint64(b[9:])}, true
}
