package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// noRoomToMerge has room for everything but merged tables.
type noRoomToMerge struct {
	FS
	full, slow *atomic.Bool
}

func (f noRoomToMerge) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == mergeCategory && f.slow.Load() {
		time.Sleep(time.Hour)
	}
	if c == mergeCategory && f.full.Load() {
		return nil, &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.Create(name, c)
}

// What was deleted gives its room back, in pieces of any size; what was not stays.
// Without room for it, or when it is ended, nothing has happened.
func TestReclaim(t *testing.T) {
	for _, piece := range []int64{1, 1 << 20, 1 << 40} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := noRoomToMerge{MemFS(), new(atomic.Bool), new(atomic.Bool)}
				s := openState(t, disk)
				const keys, size = 400, 20_000
				value := func(i int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%05d", i*i)), size/5) }
				change := func(do func(b *Batch, i int, key []byte)) {
					t.Helper()
					for i := range keys {
						b := s.Batch()
						do(b, i, fmt.Appendf(nil, "%c%d", 1+i%9, i))
						if err := b.Commit(); err != nil {
							t.Fatal(err)
						}
					}
				}
				change(func(b *Batch, i int, key []byte) { b.Set(key, value(i)) })
				if err := s.Reclaim(t.Context(), piece); err != nil { // the tables are in many levels then
					t.Fatal(err)
				}
				change(func(b *Batch, i int, key []byte) {
					if i%10 > 0 {
						b.Delete(key)
					}
				})
				full := s.Metrics().TableBytes

				disk.full.Store(true)
				// It says so, or waits for a merge of Pebble's own, which is tried again and again.
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if err := s.Reclaim(ctx, piece); !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("without room: %v", err)
				}
				cancel()
				disk.full.Store(false)
				disk.slow.Store(true)
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				if err := s.Reclaim(ctx, piece); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ended while it merges: %v", err)
				}
				cancel()
				if now := s.Metrics().TableBytes; now < full {
					t.Errorf("%d bytes became %d", full, now)
				}

				disk.full.Store(true)
				disk.slow.Store(false)
				time.Sleep(time.Hour) // what was begun has found no room either: merges pause
				synctest.Wait()
				disk.full.Store(false)
				again := time.Now()
				if err := s.Reclaim(t.Context(), piece); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(again); took > 0 {
					t.Errorf("it waited %v for the pause of merges", took)
				}
				if now := s.Metrics().TableBytes; now > full/9 {
					t.Errorf("%d bytes became %d", full, now)
				}
				left := 0
				change(func(b *Batch, i int, key []byte) {
					v, ok, err := s.Get(key)
					if ok {
						left++
					}
					if err != nil || ok != (i%10 == 0) || ok && !bytes.Equal(v, value(i)) {
						t.Errorf("key %q: %t %v", key, ok, err)
					}
				})
				if left != keys/10 {
					t.Errorf("%d keys are left", left)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Merges that find no room at the same time are all let be; nothing else is.
func TestMergesWithoutRoom(t *testing.T) {
	disk := noRoomToMerge{MemFS(), new(atomic.Bool), new(atomic.Bool)}
	disk.full.Store(true)
	var fatal []error
	f := newFault("state", func(err error) { fatal = append(fatal, err) })
	l := (&pebbleLogger{name: "state", fault: f, log: slog.New(slog.DiscardHandler)}).listener()
	_, first := loudFS{disk, f}.Create("1.sst", mergeCategory)
	_, second := loudFS{disk, f}.Create("2.sst", mergeCategory)
	l.BackgroundError(fmt.Errorf("merging: %w", first))
	l.BackgroundError(fmt.Errorf("merging: %w", second))
	if len(fatal) > 0 {
		t.Errorf("the process ends: %v", fatal)
	}
	l.BackgroundError(fmt.Errorf("flushing: %w", syscall.ENOSPC))
	if len(fatal) != 1 {
		t.Errorf("a flush without room is let be: %v", fatal)
	}
}
