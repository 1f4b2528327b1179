package raftfsm

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"dqd/persist/record"
	"dqd/raftfsm/effect"
)

// jobsEntry seals an entry with n new jobs of 100 bytes, leased, and deleted again:
// a third of the commands each.
func jobsEntry(n *testNode, b *effect.Batch, commands int, id *int) []byte {
	for range commands / 3 {
		*id++
		j := &record.Job{
			Queue: 1, ID: fmt.Appendf(nil, "job-%016d", *id), Seq: uint64(*id), State: record.Ready,
			Created: 1_800_000_000_000_000_000, Due: record.Instant{Domain: record.Wall, Ns: 1_800_000_000_000_000_000},
		}
		j.SetBody(&record.Body{Payload: make([]byte, 100)})
		b.PutJob(nil, j, true)
		leased := *j
		leased.State, leased.Wake, leased.Token, leased.Attempt = record.Leased, record.Instant{Ns: j.Due.Ns + 3e10}, 7, 1
		b.PutJob(j, &leased, false)
		b.DeleteJob(&leased)
	}
	if b.Empty() {
		b.Set([]byte("\xf0k"), make([]byte, 150))
	}
	n.next.NextSeq = uint64(*id) + 1
	return n.entry(b)
}

// BenchmarkPropose measures the way from Propose to the answer, on the disk, one
// entry at a time as the actor does it. It shows nothing of the server around it.
func BenchmarkPropose(b *testing.B) {
	for _, commands := range []int{1, 513} {
		b.Run(fmt.Sprintf("commands=%d", commands), func(b *testing.B) {
			var syncNs, applyNs, count atomic.Int64
			n := lead(b, Options{
				Dir: b.TempDir(), NodeID: "a",
				Observe: func(kind ObserveKind, ns int64) {
					switch kind {
					case ObserveLogSync:
						syncNs.Add(ns)
						count.Add(1)
					case ObserveApply:
						applyNs.Add(ns)
					}
				},
			})
			defer n.shut()
			syncNs.Store(0)
			applyNs.Store(0)
			count.Store(0)
			var batch effect.Batch
			id, took := 0, make([]time.Duration, 0, b.N)
			for b.Loop() {
				entry := jobsEntry(n, &batch, commands, &id)
				start := time.Now()
				if err := n.propose(entry); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			b.ReportMetric(float64(percentile(took, 50).Microseconds()), "p50-µs")
			b.ReportMetric(float64(percentile(took, 99).Microseconds()), "p99-µs")
			b.ReportMetric(float64(syncNs.Load())/float64(count.Load())/1e3, "sync-µs")
			b.ReportMetric(float64(applyNs.Load())/float64(count.Load())/1e3, "apply-µs")
			b.ReportMetric(float64(commands)*float64(len(took))/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

func percentile(d []time.Duration, p int) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)*p/100]
}
