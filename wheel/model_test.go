package wheel

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// timers is what the checker drives: a Wheel, or a broken one.
type timers interface {
	Add(due int64) Timer
	Cancel(t Timer) bool
	Expire(now int64, limit int, out []Timer) []Timer
	Next() (due int64, ok bool)
	Len() int
}

// model is the dumbest code that is right: one slice, sorted by (due, order of Add).
type model struct {
	pending []modelTimer
	now     int64
}

type modelTimer struct {
	due int64
	t   Timer
}

func (m *model) add(due int64, t Timer) {
	i, _ := slices.BinarySearchFunc(m.pending, due, func(p modelTimer, due int64) int {
		if p.due <= due {
			return -1
		}
		return 1
	})
	m.pending = slices.Insert(m.pending, i, modelTimer{due, t})
}

func (m *model) cancel(t Timer) bool {
	i := slices.IndexFunc(m.pending, func(p modelTimer) bool { return p.t == t })
	if i < 0 {
		return false
	}
	m.pending = slices.Delete(m.pending, i, i+1)
	return true
}

// due returns how many timers are due.
func (m *model) due() int {
	n := 0
	for n < len(m.pending) && m.pending[n].due <= m.now {
		n++
	}
	return n
}

// checker drives timers and model side by side. All its choices come from
// choose, so that a random source and a fuzzer can both make them.
type checker struct {
	w      timers
	m      model
	choose func(n int) int // in [0, n)
	gone   []Timer         // some handles that are no longer valid
	out    []Timer
}

// checkAgainstModel runs steps random operations and returns the first
// difference between w and the model.
func checkAgainstModel(w timers, now int64, steps int, choose func(n int) int) error {
	c := &checker{w: w, m: model{now: now}, choose: choose}
	for i := range steps {
		if err := c.step(); err != nil {
			return fmt.Errorf("step %d, now %d: %w", i, c.m.now, err)
		}
		if w, ok := w.(*Wheel); ok && (i%16 == 0 || i == steps-1) {
			if err := w.check(); err != nil {
				return fmt.Errorf("step %d, now %d: %w", i, c.m.now, err)
			}
		}
	}
	// Whatever is left expires, each at its own time.
	for len(c.m.pending) > 0 {
		if err := c.expire(c.m.pending[0].due, 1+c.choose(64)); err != nil {
			return fmt.Errorf("at the end, now %d: %w", c.m.now, err)
		}
	}
	if _, ok := w.Next(); ok {
		return errors.New("Next has a time though no timer is pending")
	}
	return nil
}

func (c *checker) step() error {
	switch k := c.choose(20); {
	case k < 9:
		return c.add(c.time())
	case k == 9: // a crowd, at one moment or within one slot
		due := c.time()
		spread := int64(1) << c.choose(26)
		for range c.choose(200) {
			if err := c.add(due + int64(c.choose(int(min(spread, math.MaxInt64-max(due, 0)))+1))); err != nil {
				return err
			}
		}
		return nil
	case k < 13:
		return c.cancel()
	case k < 15: // exactly when Next says
		if next, ok := c.w.Next(); ok {
			return c.expire(next, 1+c.choose(100))
		}
		return nil
	case k == 15: // right before the first, where nothing may come
		if len(c.m.pending) > 0 {
			return c.expire(c.m.pending[0].due-1, 1000)
		}
		return nil
	case k == 16: // back in time
		return c.expire(c.m.now-int64(c.choose(1000)), 3)
	case k == 17:
		return c.expire(c.m.now+int64(c.choose(1<<16)), c.choose(4))
	default:
		return c.expire(min(c.time(), c.m.now+1<<44), 1+c.choose(300))
	}
}

// time returns a time near a power of two from now, or absolute, or random.
func (c *checker) time() int64 {
	if c.choose(64) == 0 {
		return []int64{math.MaxInt64 - 1, math.MaxInt64, math.MinInt64}[c.choose(3)]
	}
	bit := c.choose(46)
	if c.choose(16) == 0 {
		bit = c.choose(63)
	}
	t := int64(1) << bit
	switch c.choose(4) {
	case 0: // the power from now, and its neighbours
		t += c.m.now + int64(c.choose(3)) - 1
	case 1: // the next boundary in absolute time, and its neighbours
		t = max(c.m.now, 0) | (t - 1) + int64(c.choose(3))
	case 2: // anywhere up to there
		t = c.m.now + int64(c.choose(1<<30))<<max(0, bit-30)&(t-1)
	case 3: // overdue
		t = c.m.now - int64(c.choose(1<<16))
	}
	if t < 0 { // overflow, or really negative
		return []int64{math.MaxInt64, -1, 0}[c.choose(3)]
	}
	return t
}

func (c *checker) add(due int64) error {
	t := c.w.Add(due)
	if t.ID == 0 || slices.ContainsFunc(c.m.pending, func(p modelTimer) bool { return p.t.ID == t.ID }) {
		return fmt.Errorf("Add(%d) = %v, which is not a free ID", due, t)
	}
	if slices.Contains(c.gone, t) {
		return fmt.Errorf("Add(%d) = %v, a handle from before", due, t)
	}
	c.m.add(due, t)
	return c.look()
}

func (c *checker) cancel() error {
	var t Timer
	switch n := len(c.m.pending); {
	case n > 0 && c.choose(4) > 0:
		t = c.m.pending[c.choose(n)].t
		c.forget(t)
	case len(c.gone) > 0:
		t = c.gone[c.choose(len(c.gone))]
	default:
		t = Timer{ID(c.choose(100)), uint32(c.choose(3))}
	}
	if got, want := c.w.Cancel(t), c.m.cancel(t); got != want {
		return fmt.Errorf("Cancel(%v) = %v, want %v", t, got, want)
	}
	return c.look()
}

// expire calls Expire once; it must return the right timers, in order, and
// may return fewer than it could only if Next says that it wants to be called again.
func (c *checker) expire(now int64, limit int) error {
	c.m.now = max(c.m.now, now)
	c.out = c.w.Expire(now, limit, c.out[:0])
	want := c.m.pending[:min(limit, c.m.due())]
	for i, t := range c.out {
		if i == len(want) {
			return fmt.Errorf("Expire(%d, %d) returned %d timers, want %d", now, limit, len(c.out), len(want))
		}
		if t != want[i].t {
			return fmt.Errorf("Expire(%d, %d)[%d] = %v, want %v due %d", now, limit, i, t, want[i].t, want[i].due)
		}
		c.forget(t)
	}
	c.m.pending = slices.Delete(c.m.pending, 0, len(c.out))
	if len(c.out) < len(want) {
		if next, ok := c.w.Next(); !ok || next > c.m.now {
			return fmt.Errorf("Expire(%d, %d) returned %d of %d timers, and Next is %d %v", now, limit, len(c.out), len(want), next, ok)
		}
	}
	return c.look()
}

func (c *checker) forget(t Timer) {
	if len(c.gone) < 1000 {
		c.gone = append(c.gone, t)
	}
}

// look checks what holds after every operation.
func (c *checker) look() error {
	if got, want := c.w.Len(), len(c.m.pending); got != want {
		return fmt.Errorf("Len = %d, want %d", got, want)
	}
	next, ok := c.w.Next()
	if ok != (len(c.m.pending) > 0) {
		return fmt.Errorf("Next says %v, %d timers pending", ok, len(c.m.pending))
	}
	if ok && next > c.m.pending[0].due {
		return fmt.Errorf("Next = %d, after the first due %d", next, c.m.pending[0].due)
	}
	return nil
}

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the random test; 0 = a new one for each run")
	stepsFlag = flag.Int("steps", 3000, "operations per run of the random test")
)

func source(seed uint64) func(n int) int { return rand.New(rand.NewPCG(seed, 0)).IntN }

// Whatever is done to it, a wheel gives back what was put in, never early, in
// order, and says in time when it wants to be called.
func TestModel(t *testing.T) {
	first, runs := *seedFlag, 1
	if first == 0 {
		first, runs = rand.Uint64()|1, 20
	}
	for seed := first; seed < first+uint64(runs); seed++ {
		choose := source(seed)
		now := int64(choose(1 << 50))
		if choose(4) == 0 {
			now = int64(choose(3))
		}
		if err := checkAgainstModel(New(now), now, *stepsFlag, choose); err != nil {
			t.Fatalf("-seed %d -steps %d: %v", seed, *stepsFlag, err)
		}
	}
}

func FuzzWheel(f *testing.F) {
	f.Add([]byte("a delay queue holds a job until it is due"))
	f.Add([]byte{9, 0, 30, 0, 200, 255, 18, 3, 1, 4, 1, 5, 9, 2, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		rest, steps := data, len(data)
		choose := func(n int) int { // four bytes a choice, zero when used up
			v := uint64(0)
			for range 4 {
				if len(rest) > 0 {
					v, rest = v<<8|uint64(rest[0]), rest[1:]
				}
			}
			return int(v % uint64(n))
		}
		if err := checkAgainstModel(New(0), 0, min(steps, 500), choose); err != nil {
			t.Fatal(err)
		}
	})
}

// The proof that the checker sees: it has to find each of these faults.

type forgetful struct{ *Wheel } // forgets the timers of one slot at a cascade

func (b forgetful) Expire(now int64, limit int, out []Timer) []Timer {
	for ring := uint32(2 << ringBits); ring < slotCount; ring += 97 {
		for !b.slots.empty(ring) {
			b.live -= b.take(ring, chunkCap, func(int64, ID) {})
		}
	}
	return b.Wheel.Expire(now, limit, out)
}

type early struct{ *Wheel } // fires 1 ns before due

func (b early) Expire(now int64, limit int, out []Timer) []Timer {
	return b.Wheel.Expire(now+1, limit, out)
}

type late struct{ *Wheel } // would fire 1 ns late, by asking for it

func (b late) Next() (int64, bool) {
	next, ok := b.Wheel.Next()
	return next + 1, ok
}

type unstable struct { // swaps two timers of the same due
	*Wheel
	due map[Timer]int64
}

func (b unstable) Add(due int64) Timer {
	t := b.Wheel.Add(due)
	b.due[t] = due
	return t
}

func (b unstable) Expire(now int64, limit int, out []Timer) []Timer {
	out = b.Wheel.Expire(now, limit, out)
	for i := range len(out) - 1 {
		if b.due[out[i]] == b.due[out[i+1]] {
			out[i], out[i+1] = out[i+1], out[i]
			break
		}
	}
	return out
}

type undead struct{ *Wheel } // says that it cancels, and does not

func (b undead) Cancel(t Timer) bool {
	ok := b.Wheel.Cancel(t)
	if ok {
		b.Add(1 << 62)
	}
	return ok
}

type greedy struct{ *Wheel } // returns more than asked for

func (b greedy) Expire(now int64, limit int, out []Timer) []Timer {
	return b.Wheel.Expire(now, limit+1, out)
}

type forgetfulOfGenerations struct{ *Wheel } // takes an old handle for a new one

func (b forgetfulOfGenerations) Cancel(t Timer) bool {
	if t.ID != 0 && t.ID < b.ids.top {
		t.Gen = *b.ids.gen(t.ID)
	}
	return b.Wheel.Cancel(t)
}

func TestCheckerSeesFaults(t *testing.T) {
	for _, broken := range []struct {
		new  func(*Wheel) timers
		says string // part of the complaint
	}{
		{func(w *Wheel) timers { return forgetful{w} }, ""},
		{func(w *Wheel) timers { return early{w} }, "Expire"},
		{func(w *Wheel) timers { return late{w} }, "Next"},
		{func(w *Wheel) timers { return unstable{w, map[Timer]int64{}} }, "Expire"},
		{func(w *Wheel) timers { return undead{w} }, "Len"},
		{func(w *Wheel) timers { return greedy{w} }, "Expire"},
		{func(w *Wheel) timers { return forgetfulOfGenerations{w} }, "Cancel"},
	} {
		const seed = 1
		w := broken.new(New(0))
		err := checkAgainstModel(w, 0, 3000, source(seed))
		if err == nil || !strings.Contains(err.Error(), broken.says) {
			t.Errorf("%T: the checker says %v", w, err)
		}
	}
}
