package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dqd/persist"
	"dqd/persist/disktest"
	"dqd/persist/record"
	"dqd/raftfsm/archive"
	"dqd/raftfsm/effect"
	"dqd/raftfsm/effect/effecttest"
)

// backUp writes a whole backup, in pieces of about so many bytes; between is called
// behind each.
func backUp(t *testing.T, n *testNode, size int, between func()) []byte {
	t.Helper()
	b := n.Backup(time.Now().UnixNano())
	b.size = size
	var all []byte
	for more := true; more; {
		var piece []byte
		var err error
		if piece, more, err = b.Next(); err != nil {
			t.Fatal(err)
		}
		all = append(all, piece...)
		between()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// work proposes random transitions.
func work(t *testing.T, n *testNode, w *effecttest.Workload, steps int) {
	t.Helper()
	for range steps {
		var b effect.Batch
		w.Step(&b)
		h := w.Header()
		h.Epoch, h.Sequence = n.next.Epoch, n.next.Sequence
		n.next.Sequence++
		if err := n.propose(b.Seal(h)); err != nil {
			t.Fatal(err)
		}
	}
}

// smallBackup is a backup of some random jobs in several blocks, with the digest of
// what is in it and its position.
func smallBackup(t *testing.T, seed uint64, steps int) (all []byte, digest uint64, at record.Applied) {
	t.Helper()
	n := lead(t, smallOptions(persist.MemFS()))
	work(t, n, effecttest.New(seed), steps)
	digest, err := effecttest.Digest(n.State())
	if err != nil {
		t.Fatal(err)
	}
	at = n.Applied()
	all = backUp(t, n, 1000, func() {})
	n.shut()
	return all, digest, at
}

// A node is backed up while it goes on; what is restored is what it was at the
// beginning, can be backed up itself, and lives on.
func TestBackup(t *testing.T) {
	seed := seedOf(t) // in a bubble the clock says always the same
	synctest.Test(t, func(t *testing.T) {
		o := smallOptions(persist.MemFS())
		n := lead(t, o)
		w := effecttest.New(seed)
		work(t, n, w, 200)
		digest, err := effecttest.Digest(n.State())
		if err != nil {
			t.Fatal(err)
		}
		at := n.Applied()
		all := backUp(t, n, 1000, func() { work(t, n, w, 2) })
		if now, err := effecttest.Digest(n.State()); err != nil || now == digest {
			t.Fatalf("nothing happened during the backup (%v)", err)
		}
		n.shut()

		for _, dir := range []string{"restored", "restored again"} {
			time.Sleep(time.Hour)
			o.Dir = dir
			sum, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano())
			if err != nil {
				t.Fatal(err)
			}
			c, err := Check(o)
			if err != nil || len(c.Problems) > 0 {
				t.Fatalf("%v %v", err, errors.Join(c.Problems...))
			}
			if c.Live != sum.Live || c.Dead != sum.Dead || c.Queues != 3 || sum.Bytes != int64(len(all)) || c.Live+c.Dead == 0 {
				t.Errorf("check found %+v, the backup had %+v", c, sum)
			}
			n = lead(t, o)
			if got, err := effecttest.Digest(n.State()); err != nil || got != digest {
				t.Fatalf("%s: other content (%v)", dir, err)
			}
			now := n.Applied()
			if now.Index != at.Index+1 || now.Time != at.Time || now.NextSeq != at.NextSeq || now.StateHash == at.StateHash {
				t.Errorf("backed up at %+v, restored at %+v", at, now)
			}
			if hour := uint64(time.Hour / time.Microsecond); now.NextToken < at.NextToken+1<<32+hour {
				t.Errorf("next token: %d, it was %d", now.NextToken, at.NextToken)
			}
			at = now
			all = backUp(t, n, 1000, func() {})
			if err := n.set("after", "restore"); err != nil {
				t.Fatal(err)
			}
			n.shut()
			n = lead(t, o)
			if n.get("after") != "restore" {
				t.Error("what was added to a restored node is lost")
			}
			n.shut()
		}
	})
}

// An empty node can be backed up too.
func TestBackupOfAnEmptyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := smallOptions(persist.MemFS())
		n := lead(t, o)
		all := backUp(t, n, 1000, func() {})
		n.shut()
		o.Dir = "restored"
		if _, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano()); err != nil {
			t.Fatal(err)
		}
		n = lead(t, o)
		if err := n.set("a", "b"); err != nil {
			t.Fatal(err)
		}
		n.shut()
	})
}

// left fails unless a restore that was refused has left no trace.
func left(t *testing.T, fs persist.FS, dir string) {
	t.Helper()
	if names, err := fs.List(dir); err == nil {
		t.Fatalf("the refused restore left %v", names)
	}
}

// Whatever happens to a byte of a backup, it is refused, and nothing is left of the
// attempt.
func TestDamagedBackup(t *testing.T) {
	seed := seedOf(t) // in a bubble the clock says always the same
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 7))
		all, _, _ := smallBackup(t, seed, 40)
		other, _, _ := smallBackup(t, seed+1, 40)
		if _, err := archive.Verify(bytes.NewReader(all)); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, b []byte) {
			t.Helper()
			if _, err := archive.Verify(bytes.NewReader(b)); !errors.Is(err, archive.ErrBroken) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		flipped := func(at, bit int) []byte {
			b := bytes.Clone(all)
			b[at] ^= 1 << bit
			return b
		}
		for at := range all { // each byte
			refused(fmt.Sprint("flipped at ", at), flipped(at, rng.IntN(8)))
			refused(fmt.Sprint("cut at ", at), all[:at])
		}
		refused("with more behind it", append(bytes.Clone(all), 0))
		refused("twice", append(bytes.Clone(all), all...))
		blocks := blocksOf(t, all)
		if len(blocks) < 5 {
			t.Fatalf("only %d blocks", len(blocks))
		}
		for i := range blocks[1:] {
			missing := append(bytes.Clone(all[:blocks[i]]), all[blocks[i+1]:]...)
			refused(fmt.Sprint("without block ", i), missing)
			doubled := append(bytes.Clone(all[:blocks[i+1]]), all[blocks[i]:]...)
			refused(fmt.Sprint("with block twice: ", i), doubled)
		}
		refused("the beginning of another", append(bytes.Clone(other[:blocksOf(t, other)[3]]), all[blocks[3]:]...))

		o := smallOptions(persist.MemFS())
		o.Dir = "restored"
		for range 10 {
			at := rng.IntN(len(all))
			for _, b := range [][]byte{flipped(at, rng.IntN(8)), all[:at]} {
				if _, err := Restore(o, bytes.NewReader(b), 0); !errors.Is(err, archive.ErrBroken) {
					t.Fatalf("seed %d: damaged at %d: %v", seed, at, err)
				}
				left(t, o.FS, o.Dir)
			}
		}
		// A failure to read is no damage.
		broken := errors.New("no such device")
		_, err := Restore(o, errorReader{bytes.NewReader(all[:len(all)/2]), broken}, 0)
		if !errors.Is(err, broken) || errors.Is(err, archive.ErrBroken) {
			t.Error(err)
		}
		left(t, o.FS, o.Dir)
	})
}

// blocksOf returns where the blocks of an archive begin, and its end.
func blocksOf(t *testing.T, all []byte) (at []int) {
	t.Helper()
	for begin := len("dqd-backup") + 1; begin < len(all); {
		at = append(at, begin)
		b := all[begin:]
		begin += 1 + 4 + int(uint32(b[1])<<24|uint32(b[2])<<16|uint32(b[3])<<8|uint32(b[4])) + 8
	}
	return append(at, len(all))
}

// errorReader fails where it would end.
type errorReader struct {
	*bytes.Reader
	err error
}

func (r errorReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		err = r.err
	}
	return n, err
}

// A backup whose sums are right but whose content does not hold together is refused
// too: it was made of a damaged store, or by a fault of the program.
func TestRestoreVerifies(t *testing.T) {
	seed := seedOf(t) // in a bubble the clock says always the same
	synctest.Test(t, func(t *testing.T) {
		all, _, _ := smallBackup(t, seed, 40)
		in, err := archive.NewReader(bytes.NewReader(all))
		if err != nil {
			t.Fatal(err)
		}
		var w archive.Writer
		lame := w.Head(nil, in.Head)
		dropped := false
		for {
			pairs, err := in.Next()
			if err != nil {
				break
			}
			var kept []byte
			n := 0
			for k, v := range pairs.All() {
				if bytes.HasPrefix(k, record.WakeSpace()) && !dropped {
					dropped = true
					continue
				}
				kept = archive.AppendPair(kept, k, v)
				n++
			}
			lame = w.Pairs(lame, n, kept)
		}
		lame = w.End(lame)
		if !dropped {
			t.Fatal("no job has a wake-up")
		}
		if _, err := archive.Verify(bytes.NewReader(lame)); err != nil {
			t.Fatal(err)
		}
		o := smallOptions(persist.MemFS())
		o.Dir = "restored"
		if _, err := Restore(o, bytes.NewReader(lame), 0); err == nil || !strings.Contains(err.Error(), "lacks index key") {
			t.Errorf("restored with %v", err)
		}
		left(t, o.FS, o.Dir)
	})
}

// What a restore may be made into, and what happens to what is there.
func TestRestoreInto(t *testing.T) {
	seed := seedOf(t) // in a bubble the clock says always the same
	synctest.Test(t, func(t *testing.T) {
		all, digest, _ := smallBackup(t, seed, 40)
		fs := persist.MemFS()
		fs.MkdirAll("top", 0o700)
		at := func(dir string) Options {
			o := smallOptions(fs)
			o.Dir = fs.PathJoin("top", dir)
			return o
		}
		restore := func(dir string) error {
			_, err := Restore(at(dir), bytes.NewReader(all), time.Now().UnixNano())
			return err
		}
		mustFail := func(dir, want string) {
			t.Helper()
			before := sum(t, fs, "top")
			if err := restore(dir); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("restore into %s: %v, want %s", dir, err, want)
			}
			if sum(t, fs, "top") != before {
				t.Errorf("the refused restore into %s changed something", dir)
			}
		}
		if err := persist.WriteFile(fs, "top", "file", nil); err != nil {
			t.Fatal(err)
		}
		mustFail("file", "file is no folder")
		fs.MkdirAll("top/other", 0o700)
		persist.WriteFile(fs, "top/other", "letter", []byte("dear"))
		mustFail("other", "is not empty, it holds letter")
		lead(t, at("node")).shut()
		mustFail("node", "is not empty")

		fs.MkdirAll("top/empty", 0o700)
		lock, err := persist.LockFolder(fs, "top/empty")
		if err != nil {
			t.Fatal(err)
		}
		mustFail("empty", "in use")
		lock.Close()
		if err := restore("empty"); err != nil {
			t.Fatal(err)
		}
		mustFail("empty", "is not empty")

		// One that was interrupted is begun anew; a node does not start on it.
		fs.MkdirAll("top/half/shard-0/state", 0o700)
		persist.WriteFile(fs, "top/half", restoringName, nil)
		persist.WriteFile(fs, "top/half/shard-0/state", "rubbish", nil)
		o := at("half")
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "a restore into it was interrupted; run dqd restore again") {
			t.Errorf("a node starts on half a restore: %v", err)
		}
		if err := restore("half"); err != nil {
			t.Fatal(err)
		}
		n := lead(t, o)
		if got, err := effecttest.Digest(n.State()); err != nil || got != digest {
			t.Errorf("other content was restored (%v)", err)
		}
		n.shut()

		// Marks that were left beside FORMAT are removed by a start.
		for _, mark := range []string{restoringName, incompleteName} {
			persist.WriteFile(fs, "top/half", mark, nil)
		}
		lead(t, o).shut()
		if names, err := fs.List("top/half"); err != nil || slices.Contains(names, restoringName) || slices.Contains(names, incompleteName) {
			t.Errorf("the folder holds %v (%v)", names, err)
		}
	})
}

// The power is cut at every operation of a restore: what is left is empty, if nothing was
// restored yet, or refuses to start, or is whole; and a restore into it succeeds unless it
// is whole.
func TestRestoreCrash(t *testing.T) {
	seed := seedOf(t) // in a bubble the clock says always the same
	synctest.Test(t, func(t *testing.T) {
		all, digest, _ := smallBackup(t, seed, 40)
		var mu sync.Mutex // guards left: operations come from several goroutines
		type point struct {
			persist.FS
			begun bool // there was more than the mark
		}
		var left []point
		disk := disktest.New()
		// Two folders above it are new too.
		options := func(fs persist.FS) Options {
			o := smallOptions(fs)
			o.Dir = "new/newer/node"
			return o
		}
		o := options(disk.Cuts(seed, *crashEvery, func(cut func() disktest.Cut) {
			mu.Lock()
			defer mu.Unlock()
			_, err := disk.Stat("new/newer/node/shard-0")
			left = append(left, point{cut().FS, err == nil})
		}))
		if _, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano()); err != nil {
			t.Fatal(err)
		}
		left = append(left, point{disk.Cut(0, seed, "the end").FS, true})
		seen := map[string]int{}
		for i, fs := range left {
			o := options(fs.FS)
			names, err := fs.List(o.Dir)
			names = slices.DeleteFunc(names, func(n string) bool { return n == "LOCK" || strings.HasSuffix(n, ".tmp") })
			n, oerr := Open(o)
			switch {
			case err != nil || len(names) == 0: // the restore has not begun
				seen["empty"]++
				if fs.begun {
					t.Errorf("point %d: a node begins anew in place of what was being restored", i)
				}
				if oerr == nil {
					n.Close()
				}
				continue
			case oerr != nil:
				seen["refused"]++
				if !strings.Contains(oerr.Error(), "interrupted") {
					t.Errorf("point %d: %v in %v", i, oerr, names)
				}
				if _, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano()); err != nil {
					t.Errorf("point %d: restored again: %v", i, err)
					continue
				}
				if n, oerr = Open(o); oerr != nil {
					t.Errorf("point %d: restored again: %v", i, oerr)
					continue
				}
			default:
				seen["whole"]++
			}
			if got, err := effecttest.Digest(n.State()); err != nil || got != digest {
				t.Errorf("point %d: other content in %v (%v)", i, names, err)
			}
			n.Close()
		}
		t.Logf("%d points: %v", len(left), seen)
		if seen["refused"] == 0 || seen["whole"] == 0 {
			t.Error("not all outcomes were seen")
		}
	})
}

// A restore whose disk is full, from any operation on, fails, and gives the room back.
func TestRestoreDiskFull(t *testing.T) {
	// Not in a bubble: a store that cannot be opened leaves a goroutine behind.
	all, _, _ := smallBackup(t, seedOf(t), 40)
	for k := 0; ; k += 1 + k/8 {
		mem := persist.MemFS()
		var ops atomic.Int32
		var healed atomic.Bool
		o := smallOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			takesRoom := op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpMkdirAll
			if takesRoom && int(ops.Add(1)) > k && !healed.Load() {
				return noSpace(op.Path)
			}
			return nil
		})))
		var fatal atomic.Value
		o.Fatal = func(err error) { // the process has ended: Pebble would go on trying
			fatal.Store(err)
			healed.Store(true)
		}
		_, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano())
		if err == nil {
			t.Logf("%d operations take room", ops.Load())
			if k < 20 {
				t.Error("the disk was never full")
			}
			return
		}
		if first, ended := fatal.Load().(error); ended {
			err = first
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full at operation %d: %v", k, err)
		}
		left(t, mem, o.Dir)
	}
}

// A restore fails behind the file that makes the folder a node's: that goes too. What
// fails behind that is no failure: the node starts.
func TestRestoreFailsAtItsEnd(t *testing.T) {
	all, digest, _ := smallBackup(t, seedOf(t), 40)
	restore := func(fails func(op errorfs.Op) bool) (Options, error) {
		t.Helper()
		mem := persist.MemFS()
		failed := false
		o := smallOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if failed || !fails(op) {
				return nil
			}
			failed = true
			return syscall.EIO
		})))
		_, err := Restore(o, bytes.NewReader(all), time.Now().UnixNano())
		if !failed {
			t.Error("nothing failed")
		}
		o.FS = mem
		return o, err
	}

	vouched := false
	o, err := restore(func(op errorfs.Op) bool {
		before := vouched
		vouched = vouched || op.Kind == errorfs.OpRename && strings.HasSuffix(op.Path, formatName+".tmp")
		return before && op.Kind == errorfs.OpOpenDir
	})
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("the sync of FORMAT fails: %v", err)
	}
	left(t, o.FS, o.Dir)

	o, err = restore(func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, restoringName)
	})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := o.FS.List(o.Dir); err != nil || !slices.Contains(names, formatName) || !slices.Contains(names, restoringName) {
		t.Errorf("restored are %v (%v)", names, err)
	}
	if c, err := Check(o); err != nil || len(c.Problems) > 0 {
		t.Error(err, errors.Join(c.Problems...))
	}
	before := sum(t, o.FS, o.Dir)
	if _, err := Restore(o, bytes.NewReader(all), 0); err == nil || sum(t, o.FS, o.Dir) != before {
		t.Errorf("a node is restored over: %v", err)
	}
	n := lead(t, o)
	if got, err := effecttest.Digest(n.State()); err != nil || got != digest {
		t.Errorf("other content (%v)", err)
	}
	n.shut()
}
