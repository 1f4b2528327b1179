package persist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func openState(t testing.TB, fs FS) *State {
	t.Helper()
	s, err := OpenState("state", StateOptions{
		FS: fs, MemTableSize: 128 << 10, Cache: 1 << 20, Fatal: func(err error) { t.Errorf("fatal: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func content(t testing.TB, r Reader) string {
	t.Helper()
	var b strings.Builder
	if err := r.Scan(nil, nil, func(k, v []byte) bool { fmt.Fprintf(&b, "%s=%s ", k, v); return true }); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// A snapshot keeps what it saw; a checkpoint and a close keep what is in memory.
func TestState(t *testing.T) {
	fs := vfs.NewMem()
	s := openState(t, fs)
	write := func(f func(b *Batch)) {
		t.Helper()
		b := s.Batch()
		f(b)
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	write(func(b *Batch) {
		b.Set([]byte("a"), []byte("1"))
		b.Set([]byte("b"), []byte("2"))
		b.Set([]byte("c"), []byte("3"))
	})
	snap := s.Snapshot()
	write(func(b *Batch) {
		b.Delete([]byte("a"))
		b.DeleteRange([]byte("b"), []byte("c"))
		b.Set([]byte("d"), []byte("4"))
	})
	b := s.Batch()
	b.Set([]byte("e"), []byte("5"))
	b.Discard()
	if got := content(t, snap); got != "a=1 b=2 c=3" {
		t.Errorf("snapshot: %s", got)
	}
	snap.Close()
	if got := content(t, s); got != "c=3 d=4" {
		t.Errorf("state: %s", got)
	}
	if v, ok, err := s.Get([]byte("a")); v != nil || ok || err != nil {
		t.Errorf("deleted key: %q %v %v", v, ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openState(t, fs)
	if got := content(t, s); got != "c=3 d=4" {
		t.Errorf("after close: %s", got)
	}
	if _, err := OpenState("state", StateOptions{FS: fs}); !errors.Is(err, ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	s.Close()
	if _, err := OpenState("nowhere", StateOptions{FS: fs, MustExist: true}); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
}

// Without a write-ahead log the state is, after any power loss, exactly what the
// batches up to some point had made it, and no older than the last flush.
func TestStatePrefix(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 15 {
		mem := CrashFS()
		s := openState(t, mem)
		var states []string // after each batch
		model := map[string]string{}
		flushed := 0
		for i := range 300 {
			b := s.Batch()
			for range 1 + rng.IntN(3) {
				k := fmt.Sprintf("k%03d", rng.IntN(100))
				if rng.IntN(3) == 0 {
					delete(model, k)
					b.Delete([]byte(k))
				} else {
					model[k] = fmt.Sprint(i, strings.Repeat("x", rng.IntN(900)))
					b.Set([]byte(k), []byte(model[k]))
				}
			}
			b.Set([]byte("n"), []byte(fmt.Sprint(i)))
			model["n"] = fmt.Sprint(i)
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			states = append(states, fmt.Sprint(model))
			if rng.IntN(100) == 0 {
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				flushed = i + 1
			}
		}
		fs := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		s.Close()
		s = openState(t, fs)
		got, n := map[string]string{}, 0
		s.Scan(nil, nil, func(k, v []byte) bool { got[string(k)] = string(v); return true })
		if v, ok := got["n"]; ok {
			fmt.Sscan(v, &n)
			n++
		}
		want := "map[]"
		if n > 0 {
			want = states[n-1]
		}
		if n < flushed || fmt.Sprint(got) != want {
			t.Errorf("after %d of 300 batches, %d flushed: not that state", n, flushed)
		}
		s.Close()
	}
}

// Whoever waits for Failed may ask for the reason: it is closed when the hook knows it,
// not before. A snapshot would else be recorded behind a flush that has failed.
func TestFailedWhenToldOf(t *testing.T) {
	var s State
	early := false
	s.fault = newFault("state", func(error) {
		select {
		case <-s.Failed():
			early = true
		default:
		}
	})
	s.fault.fail(syscall.EIO)
	if <-s.Failed(); early {
		t.Error("it is closed before the hook was told")
	}
}

// What Pebble says of damage is one line without its own marks, and still its error.
func TestPlainErrors(t *testing.T) {
	noise := errors.Join(syscall.EIO, errors.New("<corruption detail carrier>"))
	err := fmt.Errorf("reading: %w", plain(noise))
	if err.Error() != "reading: input/output error" || !errors.Is(err, syscall.EIO) {
		t.Errorf("%q", err)
	}
	if two := plain(errors.Join(errors.New("a"), errors.New("b"))); two.Error() != "a, b" {
		t.Errorf("%q", two)
	}
	if plain(nil) != nil || plain(syscall.EIO) != error(syscall.EIO) {
		t.Error("an error without noise is another one now")
	}
}
