package raftfsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dqd/persist"
	"dqd/persist/record"
)

// fill runs a node until a snapshot has most of the new entries, and closes it. It
// must run in a bubble.
func fill(t *testing.T, fs persist.FS, entries int) {
	t.Helper()
	o := smallOptions(fs)
	n := lead(t, o)
	for i := range entries {
		if err := n.set(fmt.Sprintf("k%d", i), strings.Repeat("v", 200)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; n.Stats().SnapshotIndex < n.Stats().LastIndex-uint64(entries)/2; i++ {
		if i > 1000 {
			t.Fatal("no snapshot")
		}
		if err := n.set("more", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	n.shut()
}

func copyTree(t *testing.T, from, to persist.FS, src, dst string) {
	t.Helper()
	if ok, err := vfs.Clone(from, to, src, dst); err != nil || !ok {
		t.Fatalf("copying %s: %v %v", src, ok, err)
	}
}

// find returns the only file in a folder whose name contains a text.
func find(t *testing.T, fs persist.FS, dir, part string) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, n := range names {
		if strings.Contains(n, part) && n > found {
			found = n
		}
	}
	if found == "" {
		t.Fatalf("no %s in %s: %v", part, dir, names)
	}
	return fs.PathJoin(dir, found)
}

// rewrite changes the content of a file.
func rewrite(t *testing.T, fs persist.FS, path string, change func([]byte) []byte) {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if f, err = fs.Create(path, vfs.WriteCategoryUnspecified); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(change(content)); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func flip(at func(size int) int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at(len(b))] ^= 0x10
		return b
	}
}

func middle(size int) int { return size / 2 }

// A folder that is damaged, incomplete, mixed from two moments, or somebody
// else's is refused, with the reason and what to do (F7).
func TestStartupRefusals(t *testing.T) {
	const logDir, stateDir, snapDir = "node/log", "node/shard-0/state", "node/shard-0/snapshots"
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, want string
		// early is the folder 100 entries before.
		damage func(t *testing.T, fs, early persist.FS, o *Options)
	}{
		{"another shard", "belongs to shard 0", func(t *testing.T, fs, _ persist.FS, o *Options) { o.Shard = 3 }},
		{"another node", `of node "a"`, func(t *testing.T, fs, _ persist.FS, o *Options) { o.NodeID = "b" }},
		{"newer format", "version 3", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, "node/FORMAT", func(b []byte) []byte { b[8]++; return b })
		}},
		{"format damaged", "FORMAT is damaged", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, "node/FORMAT", flip(func(size int) int { return size - 6 }))
		}},
		{"format of something else", "not one of dqd", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, "node/FORMAT", func([]byte) []byte { return []byte("hello") })
		}},
		{"format missing", "has no file FORMAT", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.Remove("node/FORMAT"))
		}},
		{"log missing", "the store is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.RemoveAll(logDir))
		}},
		{"newest WAL missing", "it is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.Remove(find(t, fs, logDir, ".log")))
		}},
		{"newest WAL empty", "damaged at byte 0", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, find(t, fs, logDir, ".log"), func([]byte) []byte { return nil })
		}},
		{"marker of the WAL damaged", "NEWEST-WAL: damaged", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, find(t, fs, logDir, "NEWEST-WAL"), flip(middle))
		}},
		{"marker of the WAL missing", "NEWEST-WAL: damaged: it is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.Remove(find(t, fs, logDir, "NEWEST-WAL")))
		}},
		{"newest WAL cut short", "synced writes are missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, find(t, fs, logDir, ".log"), func(b []byte) []byte { return b[:len(b)*3/4] })
		}},
		{"newest WAL stale", "synced writes are missing", func(t *testing.T, fs, early persist.FS, o *Options) {
			// The log of before, but for the small file.
			kept := persist.MemFS()
			must(kept.MkdirAll(logDir, 0o700))
			copyTree(t, fs, kept, logDir+"/SYNCED", logDir+"/SYNCED")
			must(fs.RemoveAll(logDir))
			copyTree(t, early, fs, logDir, logDir)
			must(fs.Remove(logDir + "/SYNCED"))
			copyTree(t, kept, fs, logDir+"/SYNCED", logDir+"/SYNCED")
		}},
		{"number of synced writes damaged", "file SYNCED: damaged", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, find(t, fs, logDir, "SYNCED"), flip(middle))
		}},
		{"number of synced writes missing", "file SYNCED: damaged: it is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.Remove(find(t, fs, logDir, "SYNCED")))
		}},
		{"state missing", "the store is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.RemoveAll(stateDir))
		}},
		{"snapshots missing", "missing or unreadable", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.RemoveAll(snapDir))
		}},
		{"newest descriptors missing", "descriptor is missing", func(t *testing.T, fs, _ persist.FS, o *Options) {
			for range keepSnapshots {
				must(fs.Remove(find(t, fs, snapDir, snapshotSuffix)))
			}
		}},
		{"descriptor damaged", "is damaged", func(t *testing.T, fs, _ persist.FS, o *Options) {
			rewrite(t, fs, find(t, fs, snapDir, snapshotSuffix), flip(middle))
		}},
		{"stale state", "stale or damaged", func(t *testing.T, fs, early persist.FS, o *Options) {
			must(fs.RemoveAll(stateDir))
			copyTree(t, early, fs, stateDir, stateDir)
		}},
		{"stale log", "stale", func(t *testing.T, fs, early persist.FS, o *Options) {
			must(fs.RemoveAll(logDir))
			copyTree(t, early, fs, logDir, logDir)
		}},
		{"empty log", "lost its term", func(t *testing.T, fs, _ persist.FS, o *Options) {
			must(fs.RemoveAll(logDir))
			l, err := persist.OpenLog(logDir, 0, persist.LogOptions{FS: fs})
			must(err)
			must(l.Close())
		}},
		{"bit flip in a log value", "wrong checksum", func(t *testing.T, fs, _ persist.FS, o *Options) {
			// Under Pebble's own checksums: as bad memory would write it.
			l, err := persist.OpenLog(logDir, 0, persist.LogOptions{FS: fs})
			must(err)
			last := l.LastIndex()
			must(l.Close())
			damageLogEntry(t, fs, logDir, last-1)
		}},
		{"state of another shard", "belongs to shard", func(t *testing.T, fs, _ persist.FS, o *Options) {
			s, err := persist.OpenState(stateDir, persist.StateOptions{FS: fs})
			must(err)
			b := s.Batch()
			b.Set(record.FormatKey(), (&record.Format{Version: record.FormatVersion, Shard: 9}).AppendValue(nil))
			must(b.Commit())
			must(s.Close())
		}},
		{"position damaged", "checksum", func(t *testing.T, fs, _ persist.FS, o *Options) {
			s, err := persist.OpenState(stateDir, persist.StateOptions{FS: fs})
			must(err)
			v, _, err := s.Get(record.AppliedKey())
			must(err)
			v[10]++
			b := s.Batch()
			b.Set(record.AppliedKey(), v)
			must(b.Commit())
			must(s.Close())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs, early := persist.MemFS(), persist.MemFS()
				fill(t, fs, 100)
				copyTree(t, fs, early, "node", "node")
				fill(t, fs, 100)
				o := smallOptions(fs)
				c.damage(t, fs, early, &o)
				var fatal error
				o.Fatal = func(err error) { fatal = err }
				n, err := Open(o)
				if err == nil {
					n.Close()
					t.Fatalf("started")
				}
				if text := fmt.Sprint(err, fatal); !strings.Contains(text, c.want) || !strings.Contains(text, "node") {
					t.Errorf("refused with %q, want %q", text, c.want)
				}
				if !errors.Is(err, ErrRefused) {
					t.Logf("not by us: %v", err)
				}
			})
		})
	}
}

// An interrupted creation is begun anew.
func TestInterruptedCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := persist.MemFS()
		fill(t, fs, 3)
		if err := fs.Remove("node/FORMAT"); err != nil {
			t.Fatal(err)
		}
		if err := persist.WriteFile(fs, "node", incompleteName, nil); err != nil {
			t.Fatal(err)
		}
		n := lead(t, smallOptions(fs))
		if n.Applied().Epoch != 0 || n.get("k1") != "(none)" {
			t.Error("it is not empty")
		}
		n.shut()
	})
}

// damageLogEntry flips a bit of an entry's value and leaves Pebble's checksums right.
func damageLogEntry(t *testing.T, fs persist.FS, dir string, index uint64) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatValueSeparation})
	if err != nil {
		t.Fatal(err)
	}
	key := binary.BigEndian.AppendUint64([]byte{1, 0, 0, 0, 0}, index)
	v, closer, err := db.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	v = bytes.Clone(v)
	closer.Close()
	v[len(v)-10] ^= 1
	if err := db.Set(key, v, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// It names a write-ahead file that is in a table now: let it name none.
	marker := append([]byte("dqd-wal1"), make([]byte, 4*8)...)
	marker = binary.BigEndian.AppendUint32(marker, crc32.Checksum(marker, castagnoli))
	if err := persist.WriteFile(fs, dir, "NEWEST-WAL", marker); err != nil {
		t.Fatal(err)
	}
}

// A bit flip in a table of the state ends the process when it is read.
func TestDamagedTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := persist.MemFS()
		fill(t, fs, 100)
		rewrite(t, fs, find(t, fs, "node/shard-0/state", ".sst"), flip(middle))
		o := smallOptions(fs)
		var fatal error
		o.Fatal = func(err error) { fatal = err }
		n, err := Open(o)
		if err == nil {
			err = n.State().Scan(nil, nil, func(k, v []byte) bool { return true })
			n.Close()
		}
		if err == nil {
			t.Error("damage was read as data")
		}
		if !strings.Contains(fmt.Sprint(fatal), "damaged") {
			t.Errorf("fatal: %v", fatal)
		}
	})
}

// A bit flip in the middle of the log's write-ahead file, which after a power
// loss has not been turned into a table yet, must not pass as its torn end.
func TestDamagedWAL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := persist.CrashFS()
		n := lead(t, smallOptions(mem))
		for i := range 30 {
			if err := n.set(fmt.Sprintf("k%d", i), strings.Repeat("v", 200)); err != nil {
				t.Fatal(err)
			}
		}
		fs := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0})
		n.shut()
		wal := find(t, fs, "node/log", ".log")
		rewrite(t, fs, wal, func(b []byte) []byte {
			i := bytes.Index(b, []byte("k15"))
			if i < 0 {
				t.Fatal("entry 15 is not in the file")
			}
			b[i] ^= 1
			return b
		})
		o := smallOptions(fs)
		o.Fatal = func(error) {}
		m, err := Open(o)
		if err == nil {
			t.Errorf("started, with the log up to %d and the state at %d", m.log.LastIndex(), m.Applied().Index)
			m.Close()
		} else {
			t.Log(err)
		}
	})
}
