package shard

import (
	"math/bits"

	"dqd/commands"
)

// statsQueues is how many queues have histograms: the busiest.
const statsQueues = 1000

// stats keeps lateness and run times of this node's deliveries, per queue and over all.
type stats struct {
	queues map[string]*times
	all    times
	missed int // deliveries of queues that have no histogram, since one made room
}

type times struct{ late, run histogram }

func newStats() stats { return stats{queues: map[string]*times{}} }

func (s *stats) of(queue []byte) *times {
	if t := s.queues[string(queue)]; t != nil {
		return t
	}
	if len(s.queues) >= statsQueues {
		// Now and then the least busy one makes room; to look for it each time would cost
		// more than the delivery.
		if s.missed++; s.missed < statsQueues {
			return &times{}
		}
		s.missed = 0
		var least string
		n := int64(-1)
		for name, t := range s.queues {
			if n < 0 || t.late.n < n {
				least, n = name, t.late.n
			}
		}
		delete(s.queues, least)
	}
	t := &times{}
	s.queues[string(queue)] = t
	return t
}

func (s *stats) delivered(queue []byte, lateNs int64) {
	s.of(queue).late.add(lateNs)
	s.all.late.add(lateNs)
}

func (s *stats) ran(queue []byte, ns int64) {
	s.of(queue).run.add(ns)
	s.all.run.add(ns)
}

// fill adds the node's own figures to DQSTATS; a nil queue = over all.
func (s *stats) fill(q *commands.QueueStats, queue []byte) {
	t := &s.all
	if queue != nil {
		if t = s.queues[string(queue)]; t == nil {
			return
		}
	}
	q.LateP50Us, q.LateP99Us, q.LateMaxUs = t.late.quantile(50), t.late.quantile(99), us(t.late.max)
	q.RunP50Us, q.RunP99Us = t.run.quantile(50), t.run.quantile(99)
}

func us(ns int64) int64 { return (ns + 999) / 1000 }

// histogram counts durations in logarithmic buckets, eight per power of two: a
// quantile is at most 12.5 % too high, and never too low.
type histogram struct {
	buckets [LatencyBuckets]uint32
	n, max  int64
}

func (h *histogram) add(ns int64) {
	ns = max(ns, 0)
	h.buckets[LatencyBucket(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

// LatencyBuckets is how many buckets a histogram has.
const LatencyBuckets = 40 * 8

// LatencyBucket returns the bucket of a duration; the last one takes all that is longer.
func LatencyBucket(ns int64) int {
	v := uint64(us(ns))
	if v < 8 {
		return int(v)
	}
	exp := bits.Len64(v) - 4
	return min((exp+1)*8+int(v>>exp)&7, LatencyBuckets-1)
}

// quantile returns the p-th percentile in µs; 0 if nothing was counted.
func (h *histogram) quantile(p int64) int64 {
	rank := (h.n*p + 99) / 100
	for i, c := range h.buckets {
		if rank -= int64(c); rank <= 0 && h.n > 0 {
			return min(LatencyUpper(i), us(h.max))
		}
	}
	return us(h.max)
}

// LatencyUpper returns a bucket's largest duration in µs.
func LatencyUpper(i int) int64 {
	if i < 8 {
		return int64(i)
	}
	exp := i/8 - 1
	return int64(8+i%8+1)<<exp - 1
}
