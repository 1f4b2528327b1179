package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// walRun writes a log as it is in use: small and large entries, truncation, votes,
// warm-up. It returns the disk as a power loss leaves it, and how long the newest
// write-ahead file was before its last synced write, and after it.
func walRun(t *testing.T, seed uint64, lives int, after func(l *Log)) (crashed *vfs.MemFS, file string, before, end int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	fs, next := CrashFS(), uint64(1)
	newest := func(l *Log) uint64 {
		l.witness.mu.Lock() // the marker may still be written, beside what was appended
		defer l.witness.mu.Unlock()
		return l.witness.marker.file
	}
	valid := func(l *Log) int {
		n := newest(l)
		b, err := ReadFile(fs, "log", walName(n))
		if err != nil {
			t.Fatal(err)
		}
		end, _ := validWAL(b, uint32(n), l.witness.life)
		return end
	}
	for life := range lives {
		l, err := OpenLog("log", 0, LogOptions{FS: fs, MemTableSize: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if next == 1 {
			appendEntry(t, l, next, 10)
			next++
		}
		for range 30 {
			switch rng.IntN(6) {
			case 0:
				appendEntry(t, l, next, 40_000+rng.IntN(100_000))
				next++
			case 1:
				err = l.SetStable(Pair{[]byte("vote"), bytes.Repeat([]byte("v"), rng.IntN(60))})
			case 2:
				err = l.DeleteRange(1, l.LastIndex()/2)
			case 3:
				err = l.scratch(func(b *pebble.Batch) error { return b.Set([]byte{scratchPrefix}, make([]byte, 100_000), nil) })
			default:
				appendEntry(t, l, next, rng.IntN(3000))
				next++
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if life == lives-1 {
			appendEntry(t, l, next, 0) // so that what is unsynced is on disk
			before = valid(l)
			l.running.Wait() // the marker shall not vouch for the last write
			appendEntry(t, l, next+1, 500)
			end = valid(l)
			if after != nil {
				after(l)
			}
			file = walName(newest(l))
			crashed = fs.CrashClone(vfs.CrashCloneCfg{})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return crashed, file, before, end
}

func appendEntry(t *testing.T, l *Log, index uint64, size int) {
	t.Helper()
	if err := l.Append([]Entry{{Index: index, Term: 1, Data: bytes.Repeat([]byte{byte(index)}, size)}}); err != nil {
		t.Fatal(err)
	}
}

// reopen opens a copy of a disk, after a change to a file of the log.
func reopen(t *testing.T, disk *vfs.MemFS, file string, change func([]byte) []byte) (last uint64, err error) {
	t.Helper()
	fs := disk.CrashClone(vfs.CrashCloneCfg{})
	b, err := ReadFile(fs, "log", file)
	if err != nil {
		t.Fatal(err)
	}
	if b = change(b); b == nil {
		err = fs.Remove("log/" + file)
	} else {
		var f vfs.File
		if f, err = fs.Create("log/"+file, vfs.WriteCategoryUnspecified); err == nil {
			_, err = io.Copy(f, bytes.NewReader(b))
			f.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog("log", 0, LogOptions{FS: fs, MustExist: true, MemTableSize: 4 << 20, Fatal: func(error) {}})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	if err := l.Check(nil); err != nil {
		t.Errorf("the log has a gap: %v", err)
	}
	return l.LastIndex(), nil
}

// A flipped bit anywhere before the last synced write is seen; in that write it
// passes for a torn end; behind it, it costs nothing.
func TestWALDamage(t *testing.T) {
	for _, lives := range []int{1, 2} { // the first file of a store has another format
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("lives=%d seed=%d", lives, seed), func(t *testing.T) {
				disk, file, before, end := walRun(t, seed, lives, nil)
				last, err := reopen(t, disk, file, func(b []byte) []byte { return b })
				if err != nil {
					t.Fatal(err)
				}
				content, err := ReadFile(disk, "log", file)
				if err != nil {
					t.Fatal(err)
				}
				var number uint32
				fmt.Sscanf(file, "%d", &number)
				rng := rand.New(rand.NewPCG(seed, 2))
				var at []int
				for range 20 {
					at = append(at, rng.IntN(len(content)))
				}
				for pos := 0; ; { // every chunk: a byte of its header, or of the witness, or its last one
					_, _, size := walChunk(content, pos, number)
					if left := walBlock - pos%walBlock; size == 0 && left < walHeader {
						at = append(at, pos)
						pos += left
						continue
					}
					if size == 0 {
						break
					}
					switch head := min(size-1, walHeader+witnessHead); rng.IntN(3) {
					case 0:
						at = append(at, pos+rng.IntN(walOldHeader))
					case 1:
						at = append(at, pos+walOldHeader+rng.IntN(max(1, head-walOldHeader)))
					default:
						at = append(at, pos+size-1)
					}
					pos += size
				}
				for _, at := range at {
					if at >= len(content) {
						continue
					}
					got, err := reopen(t, disk, file, func(b []byte) []byte {
						b[at] ^= 1 << rng.IntN(8)
						return b
					})
					switch {
					case at < before && !errors.Is(err, ErrDamaged) && got != last: // the padding of a block carries nothing
						t.Errorf("byte %d of %d: last entry %d of %d, %v", at, before, got, last, err)
					case at >= before && (err != nil || got < last-1):
						t.Errorf("byte %d in the last write, %d to %d: last entry %d of %d, %v", at, before, end, got, last, err)
					}
				}
			})
		}
	}
}

// Damage in the last synced write is seen as soon as any other record is behind it.
func TestWALDamageBeforeUnsynced(t *testing.T) {
	disk, file, before, end := walRun(t, 7, 2, func(l *Log) {
		if err := l.DeleteRange(1, l.LastIndex()-2); err != nil {
			t.Fatal(err)
		}
		b := l.db.NewBatch()
		b.LogData(nil, nil)
		if err := b.Commit(pebble.Sync); err != nil { // the disk happened to write it
			t.Fatal(err)
		}
	})
	for at := before; at < end; at += 1 + (at-before)/60*7 { // every byte of the heads
		if _, err := reopen(t, disk, file, func(b []byte) []byte { b[at] ^= 4; return b }); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

// What a client writes into an entry cannot pass for a witness.
func TestWALForgedWitness(t *testing.T) {
	disk, file, before, end := walRun(t, 3, 2, nil)
	last, _ := reopen(t, disk, file, func(b []byte) []byte { return b })
	got, err := reopen(t, disk, file, func(b []byte) []byte {
		// A chunk copied from the file of another life, behind a torn write.
		var number uint32
		fmt.Sscanf(file, "%d", &number)
		_, _, size := walChunk(b, before, number)
		chunk := bytes.Clone(b[before : before+size])
		b[before+walHeader+5] ^= 1
		v := witness{life: 12345, synced: 1 << 40}
		copy(chunk[walHeader+14:], v.encode())
		sealWALChunk(chunk)
		return append(b[:end], chunk...)
	})
	if err != nil || got != last-1 {
		t.Errorf("last entry %d of %d, %v", got, last, err)
	}
}

// The newest file is missing, cut to nothing, or cut before its first synced write.
func TestWALGone(t *testing.T) {
	disk, file, _, _ := walRun(t, 5, 2, nil)
	for name, change := range map[string]func([]byte) []byte{
		"removed": func([]byte) []byte { return nil },
		"empty":   func([]byte) []byte { return []byte{} },
		"cut":     func(b []byte) []byte { return b[:20] },
		"zeroed":  func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		if _, err := reopen(t, disk, file, change); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A log whose marker says less than there is starts: the power went before the
// marker of the newest file was written, or while Pebble removed the older ones.
func TestWALMarkerBehind(t *testing.T) {
	fs := CrashFS()
	for i := uint64(1); i < 50; i++ {
		l, err := OpenLog("log", 0, LogOptions{FS: fs, MemTableSize: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			appendEntry(t, l, l.LastIndex()+1, 30_000)
		}
		last := l.LastIndex()
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(i, 1))})
		l.Close()
		fs = crashed
		l, err = OpenLog("log", 0, LogOptions{FS: fs, MemTableSize: 64 << 10})
		if err != nil || l.LastIndex() != last {
			t.Fatalf("%v", err)
		}
		l.Close()
	}
}

// sealWALChunk makes a chunk's checksum right.
func sealWALChunk(b []byte) {
	sum := crc32.Checksum(b[6:], castagnoli)
	binary.LittleEndian.PutUint32(b, (sum>>15|sum<<17)+0xa282ead8)
}
