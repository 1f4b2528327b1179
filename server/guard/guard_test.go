package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// machine is what a guard watches.
type machine struct {
	turn                atomic.Int32 // orders a look behind what the test has set
	free, total, memory int64
	slack               int64 // memory that Release gives back
	diskErr, makeErr    error
	ballast             int64
	makes               int

	tables, used, gain int64 // of the store
	reclaimErr         error
	hold               bool // a merge lasts until it is ended
	pieces             []int64
}

func (m *machine) Sizes() (int64, int64) {
	m.turn.Load()
	return m.tables, m.used
}

func (m *machine) Reclaim(ctx context.Context, piece int64) error {
	m.turn.Load()
	m.pieces = append(m.pieces, piece)
	if m.hold {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.reclaimErr != nil {
		return m.reclaimErr
	}
	m.tables -= m.gain
	m.free += m.gain
	return nil
}

func (m *machine) Size() int64 { return m.ballast }

func (m *machine) Make(size int64) error {
	m.turn.Load()
	m.makes++
	if m.makeErr != nil {
		return m.makeErr
	}
	m.free -= size - m.ballast
	m.ballast = size
	return nil
}

func (m *machine) options() Options {
	return Options{
		Disk: func() (int64, int64, error) {
			m.turn.Load()
			return m.free, m.total, m.diskErr
		},
		MinFree: MinFree{Percent: 10, Bytes: 2 << 30},
		Ballast: m,
		Store:   m,
		Memory: func() int64 {
			m.turn.Load()
			return m.memory
		},
		MaxMemory: 1600,
		Release:   func() { m.memory -= m.slack; m.slack = 0 },
	}
}

// watched starts a guard on a roomy machine in a bubble. next is a look later.
func watched(t *testing.T, test func(m *machine, g *Guard, next func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{free: 50 << 30, total: 100 << 30, memory: 1000}
		g := New(m.options())
		g.Start()
		defer g.Stop()
		test(m, g, func() {
			m.turn.Add(1)
			time.Sleep(every)
			synctest.Wait()
		})
	})
}

// The smaller of share and size must be free; adds are accepted again when an
// eighth more is.
func TestDisk(t *testing.T) {
	watched(t, func(m *machine, g *Guard, next func()) {
		for _, step := range []struct {
			free   int64
			refuse bool
		}{
			{2 << 30, false}, {2<<30 - 1, true}, {2 << 30, true}, {9<<28 - 1, true}, {9 << 28, false}, {2 << 30, false}, {0, true}, {50 << 30, false},
		} {
			m.free = step.free
			next()
			text := string(g.Refuse())
			if (text != "") != step.refuse {
				t.Fatalf("%s free: %q", Bytes(step.free), text)
			}
			if step.refuse && (!strings.HasPrefix(text, "MISCONF ") || !strings.Contains(text, Bytes(step.free)+" of 100.0 GiB are free, and 2.0 GiB must be")) {
				t.Errorf("text %q lacks the facts", text)
			}
			if g.Status().Short[Disk] != step.refuse {
				t.Errorf("status %+v", g.Status())
			}
		}
		if g.Refused(Disk) != 4 || g.Refused(Memory) != 0 {
			t.Errorf("counted %d and %d", g.Refused(Disk), g.Refused(Memory))
		}
	})
}

// The nearer to the bound, the sooner the next look.
func TestPace(t *testing.T) {
	watched(t, func(m *machine, g *Guard, next func()) {
		for room, want := range map[int64]time.Duration{
			48 << 30: every, 1 << 30: every, 1 << 29: every / 2, 1 << 20: soonest, 0: soonest, -1: every,
		} {
			m.free = 50 << 30
			next()
			m.free = 2<<30 + room
			next()
			if got := g.pace(); got != want {
				t.Errorf("%s above the demand: next look after %v, want %v", Bytes(room), got, want)
			}
		}
	})
}

// An error of the system call leaves the decision as it was.
func TestDiskUnknown(t *testing.T) {
	watched(t, func(m *machine, g *Guard, next func()) {
		m.diskErr = errors.New("no such device")
		m.free = 0
		next()
		if g.Refuse() != "" {
			t.Error("refused by an unknown number")
		}
		m.diskErr = nil
		next()
		m.diskErr = errors.New("no such device")
		m.free = 50 << 30
		next()
		if g.Refuse() == "" {
			t.Error("accepted by an unknown number")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &machine{diskErr: errors.New("no such device")}
		g := New(m.options())
		g.Start()
		defer g.Stop()
		if g.Refuse() != "" {
			t.Error("refused before anything was known")
		}
	})
}

// The ballast is made at the start, also when its file is there already; given up
// it is made again as soon as that costs no add, and not before. What fails is
// tried again after a minute.
func TestBallast(t *testing.T) {
	watched(t, func(m *machine, g *Guard, next func()) {
		if m.ballast != 256<<20 || m.makes != 1 || g.Status().Ballast != m.ballast {
			t.Fatalf("ballast of %d after %d tries", m.ballast, m.makes)
		}
		m.ballast, m.free = 0, 0
		g.BallastGiven()
		synctest.Wait() // no second has passed
		if g.Refuse() == "" || g.Status().Ballast != 0 {
			t.Error("the guard did not look when the ballast was given up")
		}
		for _, step := range []struct{ free, ballast int64 }{
			{2 << 30, 0}, {9 << 28, 0}, {9<<28 + 256<<20 - 1, 0}, {9<<28 + 256<<20, 256 << 20},
		} {
			m.free = step.free
			next()
			if m.ballast != step.ballast {
				t.Fatalf("%s free: ballast %s", Bytes(step.free), Bytes(m.ballast))
			}
		}
		next()
		if g.Refuse() != "" || m.makes != 2 {
			t.Errorf("%q after %d tries", g.Refuse(), m.makes)
		}
		m.free, m.ballast, m.makeErr = 50<<30, 0, errors.New("not supported")
		for range ballastPause {
			next()
		}
		if m.makes != 3 {
			t.Errorf("%d tries", m.makes)
		}
		m.makeErr = nil
		next()
		next()
		if m.ballast == 0 {
			t.Error("not tried again")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &machine{free: 50 << 30, total: 100 << 30, ballast: 256 << 20}
		g := New(m.options())
		g.Start()
		defer g.Stop()
		if m.makes != 1 {
			t.Error("the file of an earlier process was not completed")
		}
	})
}

// Memory that is not in use is given back before an add is refused; adds are
// accepted again when a sixteenth is free.
func TestMemory(t *testing.T) {
	watched(t, func(m *machine, g *Guard, next func()) {
		for _, step := range []struct {
			memory, slack int64
			refuse        bool
		}{
			{1600, 0, false}, {1700, 200, false}, {1601, 0, true}, {1600, 0, true}, {1501, 0, true}, {1501, 1, false}, {1600, 0, false},
		} {
			m.memory, m.slack = step.memory, step.slack
			next()
			text := string(g.Refuse())
			if (text != "") != step.refuse {
				t.Fatalf("%+v: %q", step, text)
			}
			want := fmt.Sprintf("OOM command not allowed when used memory > 'maxmemory': %s are used, 1.6 KiB are allowed.", Bytes(m.memory))
			if step.refuse && !strings.HasPrefix(text, want) {
				t.Errorf("text %q lacks the facts", text)
			}
		}
		m.memory, m.free = 1700, 0
		next()
		if s := g.Status(); !s.Short[Disk] || !s.Short[Memory] || !strings.HasPrefix(string(g.Refuse()), "MISCONF") {
			t.Errorf("both short: %+v", s)
		}
	})
}

// While adds are refused for the disk, what was deleted gives its room back: not
// without need, garbage or room, one merge at a time, and seldom.
func TestReclaim(t *testing.T) {
	const garbage = 20 << 30
	watched(t, func(m *machine, g *Guard, next func()) {
		merges := func(after time.Duration, want int) {
			t.Helper()
			for range after / every {
				next()
			}
			if len(m.pieces) != want {
				t.Fatalf("%d merges instead of %d", len(m.pieces), want)
			}
		}
		m.tables = garbage
		merges(time.Hour, 0) // no need
		m.free, m.tables, m.used = 1<<30, 2<<30+reclaimLeast-1, 1<<30
		merges(time.Hour, 0) // little garbage
		m.free, m.tables, m.used = 1<<29-1, garbage, 0
		merges(time.Hour, 0) // no room
		m.free, m.reclaimErr = 1<<30, errors.New("no room")
		merges(every, 1)
		merges(reclaimPause-every, 1)
		merges(every, 2) // an error is no end
		m.reclaimErr, m.gain = nil, 1<<28
		merges(reclaimPause, 3)
		merges(uselessPause-every, 3) // it gave little
		if g.Refuse() == "" {
			t.Error("accepted")
		}
		m.gain = garbage / 2
		merges(every, 4)
		next()
		if g.Refuse() != "" {
			t.Errorf("refused with %s free", Bytes(m.free))
		}
		if m.pieces[0] != 1<<29 {
			t.Errorf("pieces of %s", Bytes(m.pieces[0]))
		}
		m.free, m.hold = 1<<30, true
		merges(time.Hour, 5) // one at a time; the end of the guard ends it
	})
}

func TestMinFree(t *testing.T) {
	for _, c := range []struct {
		m     MinFree
		total int64
		want  int64
		text  string
	}{
		{MinFree{}, 1000, 0, "off"},
		{MinFree{Percent: 10}, 1000, 100, "10%"},
		{MinFree{Bytes: 300}, 1000, 300, "300"},
		{MinFree{Percent: 10, Bytes: 300}, 1000, 100, "10%,300"},
		{MinFree{Percent: 10, Bytes: 300}, 100000, 300, "10%,300"},
		{MinFree{Percent: 100}, 1 << 62, 1 << 62 / 100 * 100, "100%"},
	} {
		if got := c.m.Of(c.total); got != c.want || c.m.String() != c.text {
			t.Errorf("%+v of %d: %d %s", c.m, c.total, got, c.m)
		}
	}
	if m := ResidentMemory(); m < 1<<20 || m > 1<<40 {
		t.Errorf("this test takes %d bytes of memory", m)
	}
}
