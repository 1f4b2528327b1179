package server

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dqd/commands"
	"dqd/server/shard"
)

// latencyEvents keeps, for each kind of event, when it took long. As in Redis a
// second has one sample, the longest, and a kind has the latest samples.
type latencyEvents struct {
	threshold atomic.Int64 // ns; 0 or less = none is kept
	wall      func() int64
	times     [latencyKinds]times // of all that come by an observer, long or not

	mu    sync.Mutex
	kinds [latencyKinds]latencySamples
}

type latencySamples struct {
	list    []latencySample // the oldest first
	longest int64
}

// latencySample is a second and how many ms the event took in it.
type latencySample struct{ at, ms int64 }

// samplesMax is how many samples a kind keeps, as in Redis.
const samplesMax = 160

// latencyKind is what took long.
type latencyKind int

const (
	latencyCommand latencyKind = iota // from the arrival of a command to its reply
	latencyFsync                      // a write of the log to the disk
	latencyApply                      // a log entry's way into the store
	latencyTimer                      // from the time for which the timer was set to its waking
	latencyKinds                      // their number
)

func (k latencyKind) String() string {
	return [...]string{latencyCommand: "command", latencyFsync: "fsync", latencyApply: "apply", latencyTimer: "timer"}[k]
}

// note notes an event if it took long.
func (l *latencyEvents) note(k latencyKind, ns int64) {
	if t := l.threshold.Load(); t <= 0 || ns < t {
		return
	}
	at, ms := l.wall()/1e9, ns/1e6
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.kinds[k]
	s.longest = max(s.longest, ms)
	if n := len(s.list); n > 0 && s.list[n-1].at == at {
		s.list[n-1].ms = max(s.list[n-1].ms, ms)
		return
	}
	if len(s.list) == samplesMax {
		copy(s.list, s.list[1:])
		s.list = s.list[:samplesMax-1]
	}
	s.list = append(s.list, latencySample{at, ms})
}

// observer returns f followed by note, and counts all events.
func (l *latencyEvents) observer(k latencyKind, f func(ns int64)) func(ns int64) {
	return func(ns int64) {
		f(ns)
		l.times[k].add(time.Duration(ns))
		l.note(k, ns)
	}
}

// latencyReply is LATENCY.
func (s *Server) latencyReply(r *commands.Latency) commands.Reply {
	if r.Sub == "histogram" {
		return s.latencyHistogram(r.Names)
	}
	l := &s.latency
	l.mu.Lock()
	defer l.mu.Unlock()
	named := func(k latencyKind) bool {
		for _, name := range r.Names {
			if name == k.String() {
				return true
			}
		}
		return len(r.Names) == 0
	}
	reply, removed := commands.Array{}, commands.Int(0)
	for k := range latencyKinds {
		samples := &l.kinds[k]
		if !named(k) || len(samples.list) == 0 {
			continue
		}
		last := samples.list[len(samples.list)-1]
		switch r.Sub {
		case "latest":
			reply = append(reply, commands.Array{commands.Bulk(k.String()), commands.Int(last.at), commands.Int(last.ms), commands.Int(samples.longest)})
		case "history":
			for _, sample := range samples.list {
				reply = append(reply, commands.Array{commands.Int(sample.at), commands.Int(sample.ms)})
			}
		case "reset":
			*samples = latencySamples{}
			removed++
		}
	}
	switch r.Sub {
	case "reset":
		return removed
	case "doctor":
		return commands.Bulk(l.doctor())
	}
	return reply
}

// doctor says in words what was noted. Called with mu held.
func (l *latencyEvents) doctor() string {
	threshold := time.Duration(l.threshold.Load())
	if threshold <= 0 {
		return "No events are noted: CONFIG SET latency-monitor-threshold <milliseconds> has them noted.\n"
	}
	var b strings.Builder
	advice := [...]string{
		latencyCommand: "SLOWLOG GET shows the commands. Most of the time of a command that changes something is the disk's, see fsync.",
		latencyFsync:   "The disk is slow to sync, and every change waits for it: give the data folder a disk of its own, or a faster one.",
		latencyApply:   "The store is slow to take entries: the disk or the processor is busy.",
		latencyTimer:   "The server was woken late: the processor is busy, or the machine was paused.",
	}
	for k := range latencyKinds {
		if s := &l.kinds[k]; len(s.list) > 0 {
			fmt.Fprintf(&b, "%s: %d seconds with events of %d ms and more, the longest of %d ms. %s\n", k, len(s.list), threshold.Milliseconds(), s.longest, advice[k])
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "Nothing took %d ms or more.\n", threshold.Milliseconds())
	}
	return b.String()
}

// latencyHistogram is LATENCY HISTOGRAM: for each command that was called, how
// many calls took at most so many µs.
func (s *Server) latencyHistogram(names []string) commands.Reply {
	reply := fields{}
	for _, row := range s.sortedRows() {
		n := row.times.n.Load()
		if n == 0 || len(names) > 0 && !namesRow(names, row.name) {
			continue
		}
		reply = append(reply, field{row.name, fields{{"calls", commands.Int(n)}, {"histogram_usec", row.times.cumulative()}}})
	}
	return reply
}

// namesRow reports whether one of the names is the row's or its container's.
func namesRow(names []string, row string) bool {
	container, _, _ := strings.Cut(row, "|")
	for _, name := range names {
		if name == row || name == container {
			return true
		}
	}
	return false
}

// times counts how long the calls of a command took.
type times struct {
	n, ns   atomic.Int64
	buckets [shard.LatencyBuckets]atomic.Uint32
}

func (t *times) add(took time.Duration) {
	t.n.Add(1)
	t.ns.Add(int64(took))
	t.buckets[shard.LatencyBucket(int64(took))].Add(1)
}

// observer returns f followed by add.
func (t *times) observer(f func(ns int64)) func(ns int64) {
	return func(ns int64) {
		f(ns)
		t.add(time.Duration(ns))
	}
}

func (t *times) reset() {
	t.n.Store(0)
	t.ns.Store(0)
	for i := range t.buckets {
		t.buckets[i].Store(0)
	}
}

// permille returns in µs what so many of a thousand calls did not exceed, at most
// 12.5 % too high.
func (t *times) permille(p int64) int64 {
	var n int64
	for i := range t.buckets {
		n += int64(t.buckets[i].Load())
	}
	rank := (n*p + 999) / 1000
	for i := range t.buckets {
		if rank -= int64(t.buckets[i].Load()); rank <= 0 {
			return shard.LatencyUpper(i)
		}
	}
	return shard.LatencyUpper(len(t.buckets) - 1)
}

// usecCounts is a map of numbers of µs and how many calls took at most that.
type usecCounts [][2]int64

// WriteReply appends the map to w.
func (c usecCounts) WriteReply(w commands.Writer) {
	w.Map(len(c))
	for _, pair := range c {
		w.Int(pair[0])
		w.Int(pair[1])
	}
}

// cumulative has a pair for each power of two below which there are more calls
// than below the one before.
func (t *times) cumulative() usecCounts {
	counts := usecCounts{}
	sum, last := int64(0), int64(0)
	for i := range t.buckets {
		sum += int64(t.buckets[i].Load())
		if upper := shard.LatencyUpper(i); upper&(upper+1) == 0 && sum > last { // 0, 1, 3, 7 …
			counts, last = append(counts, [2]int64{upper, sum}), sum
		}
	}
	return counts
}
