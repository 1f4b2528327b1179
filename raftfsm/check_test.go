package raftfsm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dqd/persist"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

var damagePlaces = flag.Int("damage-places", 8, "bits flipped, and lengths cut to, per file")

// populate runs a node through a random workload, long enough for tables, several
// write-ahead files and snapshots, and returns the folder as a kill -9 would leave
// it, the folder after an orderly end, and a digest of the content after each entry.
func populate(t *testing.T, seed uint64) (killed, closed persist.FS, digests []uint64) {
	t.Helper()
	mem := persist.CrashFS()
	n := lead(t, smallOptions(mem))
	w := effecttest.New(seed)
	for range 300 {
		var b effect.Batch
		w.Step(&b)
		h := w.Header()
		h.Epoch, h.Sequence = n.next.Epoch, n.next.Sequence
		n.next.Sequence++
		if err := n.propose(b.Seal(h)); err != nil {
			t.Fatal(err)
		}
		digest, err := effecttest.Digest(n.State())
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	synctest.Wait()
	killed = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(seed, 4))})
	n.shut()
	return killed, mem, digests
}

// tree returns the files of a folder in order, with their content.
func tree(t *testing.T, fs persist.FS, dir string) (names []string, content map[string][]byte) {
	t.Helper()
	content = map[string][]byte{}
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(list)
		for _, name := range list {
			name = fs.PathJoin(dir, name)
			info, err := fs.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.IsDir() {
				walk(name)
				continue
			}
			b, err := persist.ReadFile(fs, fs.PathDir(name), fs.PathBase(name))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
			content[name] = b
		}
	}
	walk(dir)
	return names, content
}

// sum is a hash over names and content.
func sum(t *testing.T, fs persist.FS, dir string) uint64 {
	h := fnv.New64a()
	names, content := tree(t, fs, dir)
	for _, name := range names {
		fmt.Fprintf(h, "%s %d ", name, len(content[name]))
		h.Write(content[name])
	}
	return h.Sum64()
}

// kindOf is a file's name without its numbers.
func kindOf(name string) string {
	return regexp.MustCompile(`\d+`).ReplaceAllString(path.Join(path.Base(path.Dir(name)), path.Base(name)), "#")
}

// What a folder looks like without damage, and that looking changes nothing.
func TestCheckOfAGoodFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed, closed, _ := populate(t, seedOf(t))
		for _, fs := range []persist.FS{killed, closed} {
			before := sum(t, fs, "node")
			c, err := Check(smallOptions(fs))
			if err != nil || len(c.Problems) > 0 {
				t.Errorf("%v %v", err, errors.Join(c.Problems...))
			}
			if c.Entries == 0 || c.Applied == 0 || c.Tables == 0 || c.Queues != 3 || c.Live == 0 {
				t.Errorf("found %+v", c)
			}
			if sum(t, fs, "node") != before {
				t.Error("the folder was changed")
			}
		}
		if _, err := Check(Options{Dir: "nothing", NodeID: "a", FS: persist.MemFS()}); err == nil {
			t.Error("a folder that does not exist is fine")
		}
		fs := persist.MemFS()
		if err := persist.WriteFile(fs, "", "x", nil); err != nil {
			t.Fatal(err)
		}
		n := lead(t, smallOptions(fs))
		if _, err := Check(smallOptions(fs)); !errors.Is(err, persist.ErrLocked) {
			t.Errorf("the folder of a running node: %v", err)
		}
		n.shut()
	})
}

// The state and the log do not fit together, or a value is wrong under right
// checksums: what only the records can tell.
func TestCheckFindsWhatChecksumsDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed, closed, _ := populate(t, seedOf(t))
		for _, c := range []struct {
			name, want string
			damage     func(fs persist.FS)
		}{
			{"an index key too many", "no job has it", func(fs persist.FS) {
				s, err := persist.OpenState("node/shard-0/state", persist.StateOptions{FS: fs})
				if err != nil {
					t.Fatal(err)
				}
				b := s.Batch()
				b.Set(append([]byte{5, 0, 0, 0, 1}, make([]byte, 17)...), []byte("ghost"))
				if err := errors.Join(b.Commit(), s.Close()); err != nil {
					t.Fatal(err)
				}
			}},
			{"a log entry", "wrong checksum", func(fs persist.FS) {
				l, err := persist.OpenLog("node/log", 0, persist.LogOptions{FS: fs})
				if err != nil {
					t.Fatal(err)
				}
				last := l.LastIndex()
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				damageLogEntry(t, fs, "node/log", last-1)
			}},
			{"an older state", "stale or damaged", func(fs persist.FS) {
				if err := fs.RemoveAll("node/shard-0/state"); err != nil {
					t.Fatal(err)
				}
				s, err := persist.OpenState("node/shard-0/state", persist.StateOptions{FS: fs})
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				fresh := persist.MemFS()
				lead(t, smallOptions(fresh)).shut()
				copyTree(t, fresh, fs, "node/shard-0/state", "node/shard-0/state")
			}},
		} {
			fs := persist.MemFS()
			from := closed
			if c.name == "an older state" {
				from = killed
			}
			copyTree(t, from, fs, "node", "node")
			c.damage(fs)
			found, err := Check(smallOptions(fs))
			if text := fmt.Sprint(err, found.Problems); !strings.Contains(text, c.want) {
				t.Errorf("%s: %s, want %s", c.name, text, c.want)
			}
		}
	})
}

// damage is one change of one file.
type damage struct {
	file, what string
	content    []byte // nil = the file is gone
}

// damages returns bit flips and truncations of every file, at its ends and at
// random places, and its absence.
func damages(rng *rand.Rand, names []string, content map[string][]byte, places int) (list []damage) {
	for _, name := range names {
		b := content[name]
		list = append(list, damage{name, "is gone", nil})
		if len(b) == 0 {
			continue
		}
		for i := range places {
			at := []int{0, len(b) - 1, len(b) / 2}[min(i, 2)]
			if i > 2 {
				at = rng.IntN(len(b))
			}
			flipped := bytes.Clone(b)
			bit := rng.IntN(8)
			flipped[at] ^= 1 << bit
			list = append(list,
				damage{name, fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(b)), flipped},
				damage{name, fmt.Sprintf("cut from %d to %d bytes", len(b), at), b[:at:at]})
		}
	}
	return list
}

func (d *damage) inflict(t *testing.T, fs persist.FS) {
	t.Helper()
	if d.content == nil {
		if err := fs.Remove(d.file); err != nil {
			t.Fatal(err)
		}
		return
	}
	rewrite(t, fs, d.file, func([]byte) []byte { return d.content })
}

// outcome of a start on a damaged folder.
const (
	refusedStart = "refused"
	stoppedLater = "stopped"
	servedAll    = "serves"
	servedWrong  = "wrong"
)

// try starts a node on a folder and reads everything.
func try(fs persist.FS) (what string, digest uint64, err error) {
	o := smallOptions(fs)
	var fatal error
	o.Fatal = func(err error) { fatal = err }
	n, err := Open(o)
	if err != nil {
		if fatal == nil && (!errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "\n")) {
			return servedWrong, 0, fmt.Errorf("the reason is not one line with a remedy: %w", err)
		}
		return refusedStart, 0, err
	}
	defer n.Close()
	<-n.Leadership()
	err = n.Barrier()
	if err == nil {
		digest, err = effecttest.Digest(n.State())
	}
	if err == nil {
		err = persist.Verify(n.State())
	}
	switch {
	case fatal != nil:
		return stoppedLater, 0, fatal
	case err != nil:
		return servedWrong, 0, err
	}
	return servedAll, digest, nil
}

// Every kind of file is damaged at many places: bits flipped, cut short, gone. The
// check reports it, or it does no harm: then a node starts and has everything.
// Whatever the check says, no node serves what is wrong (F7).
//
//	go test ./raftfsm -run TestDamage -damage-places 200 -timeout 2h
func TestDamage(t *testing.T) {
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	harmless, reported := map[string]int{}, map[string]int{}
	var violations []string // a bubble that fails would end the test
	for _, which := range []string{"killed", "closed"} {
		var original persist.FS
		var digests []uint64
		var list []damage
		synctest.Test(t, func(t *testing.T) {
			killed, closed, d := populate(t, seed)
			original, digests = map[string]persist.FS{"killed": killed, "closed": closed}[which], d
			names, content := tree(t, original, "node")
			list = damages(rng, names, content, *damagePlaces)
		})
		for _, d := range list {
			synctest.Test(t, func(t *testing.T) {
				wrong := func(format string, args ...any) {
					violations = append(violations, fmt.Sprintf("%s: %s %s: ", which, d.file, d.what)+fmt.Sprintf(format, args...))
				}
				fs := persist.MemFS()
				copyTree(t, original, fs, "node", "node")
				d.inflict(t, fs)
				before := sum(t, fs, "node")
				found, err := Check(smallOptions(fs))
				if sum(t, fs, "node") != before {
					wrong("the check changed the folder")
				}
				if err != nil {
					wrong("%v", err)
				}
				for _, p := range found.Problems {
					if !errors.Is(p, ErrRefused) || strings.Contains(p.Error(), "\n") {
						wrong("not one line with a remedy: %v", p)
					}
				}
				what, digest, err := try(fs)
				if what == servedAll {
					if back := len(digests) - 1 - slices.Index(digests, digest); back > 0 {
						what, err = servedWrong, fmt.Errorf("%d entries are lost", back)
					}
				}
				switch {
				case what == servedWrong:
					wrong("served, and %v (check: %v)", err, found.Problems)
				case what != servedAll && len(found.Problems) == 0:
					wrong("not reported, and %s: %v", what, err)
				case len(found.Problems) == 0:
					harmless[kindOf(d.file)]++
				default:
					reported[kindOf(d.file)]++
				}
			})
		}
	}
	for _, v := range violations {
		t.Error(v)
	}
	t.Logf("reported: %v", reported)
	t.Logf("harmless: %v", harmless)
	for _, kind := range []string{
		"node/FORMAT", "log/NEWEST-WAL", "log/SYNCED", "log/#.log", "log/#.sst", "log/MANIFEST-#", "state/#.sst", "state/MANIFEST-#",
		"snapshots/#.snapshot",
	} {
		if reported[kind] == 0 {
			t.Errorf("no damage of %s was reported", kind)
		}
	}
	for _, kind := range []string{"node/FORMAT", "log/NEWEST-WAL", "log/SYNCED"} {
		if harmless[kind] > 0 {
			t.Errorf("%d damages of %s were not reported", harmless[kind], kind)
		}
	}
}
