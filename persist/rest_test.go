package persist

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Whoever writes tables rests as long as it has worked, a millisecond at most; not
// after little work, and not when it is late.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		for _, c := range []struct{ worked, rests time.Duration }{
			{0, 0},
			{299 * time.Microsecond, 0},
			{300 * time.Microsecond, 300 * time.Microsecond},
			{800 * time.Microsecond, 800 * time.Microsecond},
			{time.Second, time.Millisecond},
		} {
			for _, late := range []bool{false, true} {
				p.late.Store(late)
				began := time.Now()
				time.Sleep(c.worked)
				want := c.rests
				if late {
					want = 0
				}
				stopped := time.Now()
				next := p.rest(began)
				if got := time.Since(stopped); got != want {
					t.Errorf("after %v of work, late %t: rested %v, want %v", c.worked, late, got, want)
				}
				if want > 0 && !next.Equal(time.Now()) || want == 0 && !next.Equal(began) {
					t.Errorf("after %v of work, late %t: the next piece of work began %v after the first", c.worked, late, next.Sub(began))
				}
			}
		}
	})
}

// Flushes and merges rest until they are late: several memory tables wait, or the store
// stops writes.
func TestPaces(t *testing.T) {
	var (
		p      paces
		events pebble.EventListener
	)
	p.listen(&events)
	late := func() string {
		return fmt.Sprintf("flushes %t, merges %t", p.flushes.late.Load(), p.merges.late.Load())
	}
	for i, c := range []struct {
		happens func()
		want    string
	}{
		{func() {}, "flushes false, merges false"},
		{func() { events.FlushBegin(pebble.FlushInfo{Input: 1}) }, "flushes false, merges false"},
		{func() { events.FlushBegin(pebble.FlushInfo{Input: 2}) }, "flushes true, merges false"},
		{func() { events.FlushBegin(pebble.FlushInfo{Input: 1}) }, "flushes false, merges false"},
		{func() { events.WriteStallBegin(pebble.WriteStallBeginInfo{}) }, "flushes true, merges true"},
		{func() { events.FlushBegin(pebble.FlushInfo{Input: 1}) }, "flushes false, merges true"},
	} {
		if c.happens(); late() != c.want {
			t.Errorf("late after event %d: %s; want %s", i, late(), c.want)
		}
	}
}

// paced notes the categories of the files that are made.
type paced struct {
	FS
	made *sync.Map
}

func (f paced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.made.Store(c, true)
	return f.FS.Create(name, c)
}

// The categories are those that Pebble writes with, and such files are written at their
// pace; merges are late no more when few tables lie in level 0.
func TestCategories(t *testing.T) {
	disk := paced{vfs.NewMem(), new(sync.Map)}
	s, err := OpenState("state", StateOptions{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		b := s.Batch()
		b.Set([]byte{1}, []byte{byte(i)})
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	s.fault.paces.merges.late.Store(true)
	if err := s.Reclaim(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if s.fault.paces.merges.late.Load() {
		t.Error("merges are late, though no table waits for them")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []vfs.DiskWriteCategory{flushCategory, mergeCategory} {
		if _, made := disk.made.Load(c); !made {
			t.Errorf("no file of category %q was made", c)
		}
	}

	loud := loudFS{vfs.NewMem(), newFault("", nil)}
	for c, want := range map[vfs.DiskWriteCategory]*pace{
		flushCategory: &loud.fault.paces.flushes, mergeCategory: &loud.fault.paces.merges, "pebble-wal": nil,
	} {
		f, err := loud.Create("f", c)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.(*loudFile).pace; got != want {
			t.Errorf("category %q: another pace", c)
		}
	}
}
