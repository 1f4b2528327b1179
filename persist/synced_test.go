package persist

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncedEnds returns where the synced writes of a write-ahead file end.
func syncedEnds(b []byte, number uint32) (ends []int) {
	var head []byte
	for at := 0; at < len(b); {
		kind, data, size := walChunk(b, at, number)
		if size == 0 {
			at += walBlock - at%walBlock
			continue
		}
		if kind.begins() {
			head = nil
		}
		head = append(head, data...)
		at += size
		if kind.ends() {
			if v, ok := decodeWitness(head); ok && v.sync {
				ends = append(ends, at)
			}
		}
	}
	return ends
}

// The newest write-ahead file is cut short, at any length: after a kill and after an
// orderly end that is seen, whatever the lost writes are: entries, votes, or the end
// of a log that was deleted. After a power loss it may look like a torn end, and
// costs what is behind the cut.
func TestWALCutShort(t *testing.T) {
	for _, last := range []string{"entry", "vote", "deletion", "unsynced", "entry of a new store"} {
		lives := 2
		if last == "entry of a new store" { // its first file has another format
			lives = 1
		}
		t.Run(last, func(t *testing.T) {
			var killed *vfs.MemFS
			lost, file, _, _ := walRun(t, 11, lives, func(l *Log) {
				var err error
				switch n := l.LastIndex(); last {
				case "vote":
					err = l.SetStable(Pair{[]byte("vote"), []byte("me")})
				case "deletion":
					err = l.DeleteRange(n-1, n)
				case "unsynced":
					err = l.DeleteRange(1, n-2)
				}
				if err != nil {
					t.Fatal(err)
				}
				fs := l.witness.fs.(*vfs.MemFS)
				killed = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
			})
			var number uint32
			fmt.Sscanf(file, "%d", &number)
			content, err := ReadFile(killed, "log", file)
			if err != nil {
				t.Fatal(err)
			}
			ends := syncedEnds(content, number)
			if len(ends) < 3 {
				t.Fatalf("only %d synced writes in the file", len(ends))
			}
			want, err := reopen(t, killed, file, func(b []byte) []byte { return b })
			if err != nil {
				t.Fatal(err)
			}
			end := ends[len(ends)-1]
			cuts := []int{end - 1, end, len(content)}
			for i, at := range ends[:len(ends)-1] {
				cuts = append(cuts, at, at+[]int{-1, 1, walHeader + 2}[i%3])
			}
			for at := 0; at < len(content); at += 1 + len(content)/8 {
				cuts = append(cuts, at)
			}
			for _, at := range cuts {
				got, err := reopen(t, killed, file, func(b []byte) []byte { return b[:at] })
				if at >= end {
					if err != nil || got != want {
						t.Errorf("cut at %d, behind all synced writes, which end at %d: last entry %d of %d, %v", at, end, got, want, err)
					}
					continue
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), file) {
					t.Errorf("cut at %d of %d: last entry %d, %v", at, end, got, err)
				}
			}
			if _, err := reopen(t, killed, file, func(b []byte) []byte { b[end-1] ^= 1; return b }); !errors.Is(err, ErrDamaged) {
				t.Errorf("a flipped bit in the last synced write: %v", err)
			}
			// The same writes after a power loss, as far as they were synced.
			if _, err := reopen(t, lost, file, func(b []byte) []byte { return b[:min(len(b), end-1)] }); err != nil {
				t.Errorf("after a power loss, cut at %d: %v", end-1, err)
			}
		})
	}
}

// Every bit of the file that says how many synced writes there are counts.
func TestSyncedDamaged(t *testing.T) {
	disk, _, _, _ := walRun(t, 12, 2, nil)
	whole, err := ReadFile(disk, "log", syncedName)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, content []byte) {
		fs := MemFS()
		if err := WriteFile(fs, "", syncedName, content); err != nil {
			t.Fatal(err)
		}
		if _, err := readSynced(fs, ""); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for bit := range syncedSize * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		damaged(fmt.Sprint("bit ", bit), b)
	}
	for size := range syncedSize {
		damaged(fmt.Sprintf("cut to %d bytes", size), whole[:size])
	}
	damaged("longer", append(bytes.Clone(whole), 0))
	if _, err := reopen(t, disk, syncedName, func(b []byte) []byte { b[9] ^= 1; return b }); !errors.Is(err, ErrDamaged) {
		t.Errorf("opened: %v", err)
	}
	if _, err := reopen(t, disk, syncedName, func([]byte) []byte { return nil }); !errors.Is(err, ErrDamaged) {
		t.Errorf("missing: %v", err)
	}
}

// After a power loss, and whatever became of what was not synced, the file says no
// more than the log has; also when another life begins on it.
func TestSyncedNeverTooMany(t *testing.T) {
	var fs FS = CrashFS()
	var last uint64
	for i := range uint64(60) {
		l, err := OpenLog("log", 0, LogOptions{FS: fs, MemTableSize: 64 << 10})
		if err != nil {
			t.Fatalf("life %d: %v", i, err)
		}
		if l.LastIndex() < last {
			t.Fatalf("life %d: the log ends at %d instead of %d", i, l.LastIndex(), last)
		}
		rng := rand.New(rand.NewPCG(i, 1))
		for range 1 + rng.IntN(6) {
			appendEntry(t, l, l.LastIndex()+1, rng.IntN(30_000))
			if rng.IntN(3) == 0 {
				if err := l.DeleteRange(1, l.LastIndex()/2); err != nil {
					t.Fatal(err)
				}
			}
		}
		last = l.LastIndex()
		percent := []int{0, 50, 100}[rng.IntN(3)]
		left := fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		fs = left
	}
}

// BenchmarkAppend measures one synced write after the other, on the disk.
func BenchmarkAppend(b *testing.B) {
	for name, fs := range map[string]FS{"disk": DiskFS(), "memory": MemFS()} {
		b.Run(name, func(b *testing.B) {
			l, err := OpenLog(b.TempDir(), 0, LogOptions{FS: fs})
			if err != nil {
				b.Fatal(err)
			}
			data := make([]byte, 300)
			for i := uint64(1); b.Loop(); i++ {
				if err := l.Append([]Entry{{Index: i, Term: 1, Data: data}}); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
