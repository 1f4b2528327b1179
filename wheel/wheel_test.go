package wheel

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Sessions with a wheel, in testdata. Timers have names; commands:
//
//	new now=N                  also: reset now=N
//	add NAME DUE               any number of lines
//	cancel NAME...
//	expire now=N [limit=N]     one call: what fires
//	next
//	occupancy                  occupied slots at each level, and Len
//
// Numbers may be written as sums of terms like 2^16, 3*2^16 and 1, e.g. 2^16+1.
func TestSessions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *Wheel
		names := map[Timer]string{}
		handles := map[string]Timer{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key, otherwise string) int64 {
				d.MaybeScanArgs(t, key, &otherwise)
				return number(t, otherwise)
			}
			switch d.Cmd {
			case "new":
				w = New(arg("now", "0"))
			case "reset":
				w.Reset(arg("now", "0"))
			case "add":
				for line := range strings.Lines(d.Input) {
					f := strings.Fields(line)
					h := w.Add(number(t, f[1]))
					names[h], handles[f[0]] = f[0], h
				}
				return fmt.Sprintf("len %d\n", w.Len())
			case "cancel":
				var b strings.Builder
				for _, a := range d.CmdArgs {
					fmt.Fprintf(&b, "%s %v\n", a.Key, w.Cancel(handles[a.Key]))
				}
				return b.String()
			case "expire":
				var b strings.Builder
				for _, h := range w.Expire(arg("now", "0"), int(arg("limit", "1000")), nil) {
					fmt.Fprintf(&b, "%s ", names[h])
				}
				if b.Len() == 0 {
					return "nothing\n"
				}
				return strings.TrimSpace(b.String()) + "\n"
			case "next":
				next, ok := w.Next()
				if !ok {
					return "none\n"
				}
				return fmt.Sprintln(next)
			case "occupancy":
				return fmt.Sprintf("%v len %d\n", w.Occupancy(), w.Len())
			default:
				d.Fatalf(t, "unknown command")
			}
			return ""
		})
	})
}

// number reads an integer or a sum of terms like 2^16, 3*2^16 and -1.
func number(t *testing.T, s string) (sum int64) {
	if s == "max" {
		return math.MaxInt64
	}
	for term := range strings.SplitSeq(strings.ReplaceAll(s, "-", "+-"), "+") {
		var a, b int64
		switch {
		case term == "":
		case scan(term, "%d*2^%d", &a, &b):
			sum += a << b
		case scan(term, "2^%d", &b):
			sum += 1 << b
		case scan(term, "%d", &a):
			sum += a
		default:
			t.Fatalf("not a number: %q", s)
		}
	}
	return sum
}

func scan(s, format string, to ...any) bool {
	n, err := fmt.Sscanf(s, format, to...)
	return err == nil && n == len(to)
}

// A timer due at a power of two, or next to one, fires then and not 1 ns
// before, from wherever the cursor was when it was added.
func TestBoundaries(t *testing.T) {
	var starts, dues []int64
	for bit := range 63 {
		for d := int64(-1); d <= 1; d++ {
			dues = append(dues, 1<<bit+d, 3<<bit>>1+d)
			if bit%8 < 2 {
				starts = append(starts, 1<<bit+d)
			}
		}
	}
	dues = append(dues, math.MaxInt64-1, math.MaxInt64)
	for _, start := range starts {
		for _, due := range dues {
			if due <= start {
				continue
			}
			w := New(start)
			h := w.Add(due)
			if early := drain(w, due-1); len(early) != 0 {
				t.Fatalf("start %d due %d: fired early", start, due)
			}
			if next, ok := w.Next(); !ok || next != due {
				t.Fatalf("start %d due %d: Next right before it is %d %v", start, due, next, ok)
			}
			if got := drain(w, due); !slices.Equal(got, []Timer{h}) {
				t.Fatalf("start %d due %d: got %v", start, due, got)
			}
			if err := w.check(); err != nil {
				t.Fatalf("start %d due %d: %v", start, due, err)
			}
		}
	}
}

// drain calls Expire as a driver does: until Next lies ahead.
func drain(w *Wheel, now int64) (out []Timer) {
	for {
		out = w.Expire(now, 1000, out)
		if next, ok := w.Next(); !ok || next > now {
			return out
		}
	}
}

// A crowd of timers for one moment costs no call more than a bounded number of
// moves, is ready when its moment comes, and leaves in order of Add.
func TestCrowd(t *testing.T) {
	const crowd, due = 100_000, 3600e9
	w := New(0)
	var want []Timer
	for range crowd {
		want = append(want, w.Add(due))
	}
	calls := 0
	for {
		next, ok := w.Next()
		if !ok || next >= due {
			break
		}
		if got := w.Expire(next, 1000, nil); len(got) != 0 {
			t.Fatalf("%d timers fired at %d, early", len(got), next)
		}
		calls++
	}
	if atMost := Levels * crowd / cascadeBudget; calls > 2*atMost {
		t.Errorf("%d calls before due, want about %d at most", calls, atMost)
	}
	if got := w.Expire(due, crowd, nil); !slices.Equal(got, want) {
		t.Errorf("%d timers fired at due, or in the wrong order", len(got))
	}
}

// The first timer of a slot full of them is not late because of the others:
// the slot was cascaded ahead of time, so that the timer fires at once.
func TestEarlyCascade(t *testing.T) {
	const crowd = 100_000
	w := New(0)
	start := int64(1) << 40 // a slot of 18 minutes
	first := w.Add(start + 1)
	for i := range int64(crowd) {
		w.Add(start + 1<<32 + i*1e7)
	}
	for {
		next, _ := w.Next()
		if next >= start {
			break
		}
		w.Expire(next, 1, nil)
	}
	if got := w.Expire(start+1, 10, nil); !slices.Equal(got, []Timer{first}) {
		t.Errorf("one call at its due returns %v, want the first timer", got)
	}
}

// A timer added to a slot whose timers are on their way down does not take the
// cursor past them.
func TestAddToSlotBeingCascaded(t *testing.T) {
	const slot = 1 << 24
	w := New(0)
	for range cascadeBudget + 100 {
		w.Add(slot + 1)
	}
	for range 2 {
		w.Expire(slot, 1, nil)
	}
	w.Add(slot + 1<<20)
	w.Expire(slot, 1, nil)
	if err := w.check(); err != nil {
		t.Error(err)
	}
	if next, _ := w.Next(); next > slot+1 {
		t.Errorf("Next is %d", next)
	}
}

// Adding and cancelling for ever takes no more memory than twice what is pending
// and the slack, wherever the timers are, and whatever the order.
func TestCancelledMemory(t *testing.T) {
	const pending = 1000
	choose := source(1)
	for _, span := range []int64{0, 1 << 20, 1 << 30, 1 << 45} {
		w := New(1)
		held := make([]Timer, pending)
		for i := range 1_000_000 {
			h := &held[choose(pending)]
			if *h != (Timer{}) && !w.Cancel(*h) {
				t.Fatal("Cancel says false")
			}
			*h = w.Add(1 + span/1000*int64(i%1000))
		}
		if top := int(w.ids.top); top > 4*(pending+deadSlack) {
			t.Errorf("span %d: %d IDs", span, top)
		}
		if top := int(w.chunks.top); top > 4*(pending+deadSlack)/chunkCap+2*pending {
			t.Errorf("span %d: %d chunks", span, top)
		}
		if err := w.check(); err != nil {
			t.Error(err)
		}
	}
}

// What a million timers take, everything included, is at most 24 bytes each.
func TestBytesPerTimer(t *testing.T) {
	for _, n := range []int{100_000, 1_000_000} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := New(0)
		for i := range n {
			w.Add(int64(i) * 3600e9 / int64(n))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		perTimer := float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
		t.Logf("%d timers: %.1f B each", n, perTimer)
		if perTimer > 24 {
			t.Errorf("%d timers: %.1f B each, want 24 at most", n, perTimer)
		}
		runtime.KeepAlive(w)
	}
}
