package evaluate

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/bits"

	"dqd/persist/record"
)

// backoff returns the retry delay after the given number of deliveries (at least
// 1), in ns: by the job's own policy, else the queue's.
func (b *Batch) backoff(j *job, attempt uint32) int64 {
	policy := b.body(j).Backoff
	if policy == nil {
		policy = &j.q.set.Backoff
	}
	n := int(max(1, attempt)) - 1
	switch policy.Kind {
	case record.BackoffList:
		return policy.Steps[min(n, len(policy.Steps)-1)]
	case record.BackoffExp:
		return jitter(exponential(policy, n), policy.Jitter, j.is)
	default:
		return policy.Steps[0]
	}
}

// exponential returns first × factor^n, at most the policy's maximum.
func exponential(policy *record.Backoff, n int) int64 {
	d, limit := policy.Steps[0], policy.Steps[1]
	for ; n > 0 && d < limit && d > 0; n-- {
		hi, lo := bits.Mul64(uint64(d), uint64(policy.Factor))
		if hi >= 1000 {
			return limit
		}
		q, _ := bits.Div64(hi, lo, 1000)
		if q > math.MaxInt64 || int64(q) <= d && policy.Factor > 1000 {
			return limit
		}
		if int64(q) == d {
			break // a factor of 1
		}
		d = int64(q)
	}
	return min(d, limit)
}

// jitter takes up to percent off the delay, by a hash of id and token: spread
// out, and yet the same on every replica and in every replay.
func jitter(d int64, percent uint8, rec *record.Job) int64 {
	if percent == 0 || d == 0 {
		return d
	}
	h := fnv.New64a()
	h.Write(rec.ID)
	h.Write(binary.BigEndian.AppendUint64(nil, rec.Token))
	hi, lo := bits.Mul64(uint64(d), uint64(percent))
	span, _ := bits.Div64(hi, lo, 100)
	return d - int64(h.Sum64()%(span+1))
}
