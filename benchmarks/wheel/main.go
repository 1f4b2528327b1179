// Command wheel measures the timing wheel beside the timers one would use
// without it, all in one run:
//
//	go run ./benchmarks/wheel [-n 100000,1000000] [-rounds 3] [-clock 20s]
//
// n timers with delays uniform over an hour are inserted, all cancelled in
// random order, inserted again, and expired in order. Figures are thread-CPU
// nanoseconds per operation, the best of the rounds, without the garbage
// collector's share on other threads; "gc" is the wall time of one full
// collection with all timers pending, which is that share. Then come the clocks:
// what a reading costs, how far the calibrated one is from the OS clock, and how
// late alarms are.
package main

import (
	"container/heap"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"dqd/wheel"
)

const hour = int64(3600e9)

// subject is something that holds timers, numbered 0 to n-1.
type subject interface {
	insert(i int, due int64)
	cancel(i int)
	expireAll() int // in order, however it can; 0 if it cannot
}

type maker struct {
	name   string
	handle int64 // bytes per timer for the handle, which is the caller's
	make   func(n int) subject
}

var makers = []maker{
	{"wheel", 8, newWheel},
	{"container/heap", 8, newContainerHeap},
	{"4-ary heap", 0, newFourHeap},
	{"time.AfterFunc", 8, newRuntimeTimers}, // the last, as the runtime keeps stopped timers for a while
}

// row holds ns per operation, bytes per timer, and ms per full collection.
type row struct{ insert, cancel, reinsert, expire, bytes, gc float64 }

func main() {
	log.SetFlags(0)
	sizes := flag.String("n", "100000,1000000", "numbers of timers")
	rounds := flag.Int("rounds", 3, "rounds, of which the best counts")
	clock := flag.Duration("clock", 20*time.Second, "how long to measure clocks and alarms, after 10 s of calibration; 0 = not at all")
	flag.Parse()

	runtime.LockOSThread()
	fmt.Printf("%s %s/%s, %d CPUs; thread-CPU ns/op, best of %d; x = times the wheel's\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), *rounds)
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			log.Fatal(err)
		}
		rows := make([]row, len(makers))
		for r := range *rounds {
			for i, m := range makers {
				got := measure(m, n, uint64(r))
				if r == 0 {
					rows[i] = got
				}
				got.bytes = rows[i].bytes // the first round's, when nothing else lingers
				rows[i].best(got)
			}
		}
		print(n, rows)
	}
	if *clock > 0 {
		clocks(*clock)
	}
}

func (r *row) best(o row) {
	r.insert, r.cancel = min(r.insert, o.insert), min(r.cancel, o.cancel)
	r.reinsert, r.expire = min(r.reinsert, o.reinsert), min(r.expire, o.expire)
	r.bytes, r.gc = min(r.bytes, o.bytes), min(r.gc, o.gc)
}

func measure(m maker, n int, seed uint64) (r row) {
	rnd := rand.New(rand.NewPCG(seed, uint64(n)))
	dues := make([]int64, n)
	for i := range dues {
		dues[i] = rnd.Int64N(hour)
	}
	order := rnd.Perm(n)

	before := heapInUse()
	s := m.make(n)
	before += m.handle * int64(n)
	r.insert = perOp(n, func() {
		for i, due := range dues {
			s.insert(i, due)
		}
	})
	r.bytes = float64(heapInUse()-before) / float64(n)
	start := time.Now()
	runtime.GC()
	r.gc = time.Since(start).Seconds() * 1e3
	r.cancel = perOp(n, func() {
		for _, i := range order {
			s.cancel(i)
		}
	})
	r.reinsert = perOp(n, func() { // into memory that was used before
		for i, due := range dues {
			s.insert(i, due)
		}
	})
	expired := 0
	r.expire = perOp(n, func() { expired = s.expireAll() })
	switch expired {
	case n:
	case 0:
		r.expire = 0
		for _, i := range order {
			s.cancel(i)
		}
	default:
		log.Fatalf("%s: %d of %d timers expired", m.name, expired, n)
	}
	runtime.KeepAlive(s)
	return r
}

// perOp returns the CPU time of this thread, in ns per operation.
func perOp(n int, f func()) float64 {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	start := threadCPU()
	f()
	return float64(threadCPU()-start) / float64(n)
}

// threadCPU reads what getrusage(RUSAGE_THREAD) reports, without its rounding to
// scheduler ticks.
func threadCPU() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		log.Fatal(err)
	}
	return t.Nano()
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one left to sweep
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func print(n int, rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d timers\tinsert\tx\tcancel\tx\tre-insert\tx\texpire\tx\tB/timer\tgc ms\t\n", n)
	base := rows[0]
	for i, r := range rows {
		fmt.Fprintf(w, "%s\t%s%s%s%s%.1f\t%.2f\t\n", makers[i].name,
			cell(r.insert, base.insert), cell(r.cancel, base.cancel),
			cell(r.reinsert, base.reinsert), cell(r.expire, base.expire), r.bytes, r.gc)
	}
	w.Flush()
	fmt.Println()
	binary, afterFunc := rows[1], rows[3]
	bar("insert at most 1/10 of time.AfterFunc", base.insert*10, afterFunc.insert)
	bar("cancel at most 1/5 of Timer.Stop", base.cancel*5, afterFunc.cancel)
	bar("expire at most 1/5 of container/heap", base.expire*5, binary.expire)
	bar("at most 24 B per timer", base.bytes, 24)
	fmt.Println()
}

func cell(v, base float64) string {
	if v == 0 {
		return "-\t-\t"
	}
	return fmt.Sprintf("%.0f\t%.1f\t", v, v/base)
}

func bar(what string, got, most float64) {
	verdict := "met"
	if got > most {
		verdict = "MISSED"
	}
	fmt.Printf("  %s: %s (%.2f of the bar)\n", what, verdict, got/most)
}

// The wheel.

type wheelSubject struct {
	w       *wheel.Wheel
	handles []wheel.Timer
	out     []wheel.Timer
}

func newWheel(n int) subject {
	return &wheelSubject{wheel.New(0), make([]wheel.Timer, n), make([]wheel.Timer, 0, 256)}
}

func (s *wheelSubject) insert(i int, due int64) { s.handles[i] = s.w.Add(due) }

func (s *wheelSubject) cancel(i int) { s.w.Cancel(s.handles[i]) }

// As a driver does it: from one Next to the next.
func (s *wheelSubject) expireAll() (n int) {
	for {
		next, ok := s.w.Next()
		if !ok {
			return n
		}
		s.out = s.w.Expire(next, cap(s.out), s.out[:0])
		n += len(s.out)
	}
}

// The runtime's timers, an hour ahead and more, so that none fires.

type runtimeTimers struct{ timers []*time.Timer }

func newRuntimeTimers(n int) subject { return &runtimeTimers{make([]*time.Timer, n)} }

func (s *runtimeTimers) insert(i int, due int64) {
	s.timers[i] = time.AfterFunc(time.Hour+time.Duration(due), func() {})
}

func (s *runtimeTimers) cancel(i int) { s.timers[i].Stop() }

func (s *runtimeTimers) expireAll() int { return 0 }

// container/heap, as its documentation shows it: pointers that know their index.

type item struct {
	due   int64
	index int
}

type items []*item

func (h items) Len() int           { return len(h) }
func (h items) Less(i, j int) bool { return h[i].due < h[j].due }
func (h items) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *items) Push(x any) {
	it := x.(*item)
	it.index = len(*h)
	*h = append(*h, it)
}
func (h *items) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}

type containerHeap struct {
	h     items
	items []*item
}

func newContainerHeap(n int) subject {
	return &containerHeap{make(items, 0, n), make([]*item, n)}
}

func (s *containerHeap) insert(i int, due int64) {
	s.items[i] = &item{due: due}
	heap.Push(&s.h, s.items[i])
}

func (s *containerHeap) cancel(i int) { heap.Remove(&s.h, s.items[i].index) }

func (s *containerHeap) expireAll() (n int) {
	for ; len(s.h) > 0; n++ {
		heap.Pop(&s.h)
	}
	return n
}

// A 4-ary heap without pointers, positions in a table of their own.

type fourHeap struct {
	h   []fourItem
	pos []uint32
}

type fourItem struct {
	due int64
	id  uint32
}

func newFourHeap(n int) subject { return &fourHeap{make([]fourItem, 0, n), make([]uint32, n)} }

func (s *fourHeap) set(k int, it fourItem) { s.h[k], s.pos[it.id] = it, uint32(k) }

func (s *fourHeap) insert(i int, due int64) {
	s.h = append(s.h, fourItem{})
	s.up(len(s.h)-1, fourItem{due, uint32(i)})
}

func (s *fourHeap) cancel(i int) { s.remove(int(s.pos[i])) }

func (s *fourHeap) expireAll() (n int) {
	for ; len(s.h) > 0; n++ {
		s.remove(0)
	}
	return n
}

func (s *fourHeap) remove(k int) {
	it := s.h[len(s.h)-1]
	s.h = s.h[:len(s.h)-1]
	switch {
	case k == len(s.h):
	case k > 0 && it.due < s.h[(k-1)/4].due:
		s.up(k, it)
	default:
		s.down(k, it)
	}
}

func (s *fourHeap) up(k int, it fourItem) {
	for k > 0 && it.due < s.h[(k-1)/4].due {
		s.set(k, s.h[(k-1)/4])
		k = (k - 1) / 4
	}
	s.set(k, it)
}

func (s *fourHeap) down(k int, it fourItem) {
	for 4*k+1 < len(s.h) {
		first := 4*k + 1
		for c := first + 1; c < min(4*k+5, len(s.h)); c++ {
			if s.h[c].due < s.h[first].due {
				first = c
			}
		}
		if it.due <= s.h[first].due {
			break
		}
		s.set(k, s.h[first])
		k = first
	}
	s.set(k, it)
}
