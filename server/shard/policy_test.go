package shard_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dqd/server/shard/shardtest"
)

// fill adds n ready jobs to q.
func (b *bench) fill(c *shardtest.Client, n int) {
	for i := 0; i < n; i += 1000 {
		line := "DQMADD q JOBS 1000"
		for k := range 1000 {
			line += fmt.Sprintf(" %05d x +0", i+k)
		}
		b.do(c, line)
	}
}

// TestReleaseInSlices: the end of a connection that has more leases than one
// batch takes ends them all.
func TestReleaseInSlices(t *testing.T) {
	run(t, func(b *bench) {
		c, worker := &shardtest.Client{}, &shardtest.Client{}
		b.do(c, "DQCONFIG SET q on-disconnect release backoff fixed:0")
		b.fill(c, 3000)
		for range 3 {
			b.do(worker, "DQPOP q COUNT 1000")
		}
		b.want(b.do(c, "DQLEN q STATE leased"), ":3000")
		worker.Leave(b.shard)
		synctest.Wait()
		b.want(b.do(c, "DQLEN q STATE ready"), ":3000")
	})
}

// TestTrimInSlices: a lowered dead-count prunes more than one batch takes.
func TestTrimInSlices(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQCONFIG SET q attempts 1")
		b.fill(c, 3000)
		for range 3 {
			b.do(c, "DQPOP q COUNT 1000 LEASE 1s")
		}
		b.after(time.Second, c)
		b.want(b.do(c, "DQLEN q STATE dead"), ":3000")
		b.do(c, "DQCONFIG SET * dead-count 5")
		synctest.Wait()
		b.want(b.do(c, "DQLEN q STATE dead"), ":5")
		b.want(b.do(c, "DQGET q 02994"), "$-1")
		b.want(b.do(c, "DQGET q 02995 state"), "*1 $4 dead")
	})
}

// TestUndeliveredAfterItsLease: that a reply could not be written is known after
// the lease was over, by its end or that of the connection. The attempt does not
// count then either, also when it was the last.
func TestUndeliveredAfterItsLease(t *testing.T) {
	for attempts := 1; attempts <= 2; attempts++ {
		run(t, func(b *bench) {
			c, worker := &shardtest.Client{}, &shardtest.Client{}
			b.do(c, fmt.Sprintf("DQCONFIG SET q on-disconnect release attempts %d", attempts))
			b.do(c, "DQADD q a x")
			worker.Do(b.shard, "DQPOP", "q")
			synctest.Wait()
			lost := worker.Replies()[0]
			worker.Leave(b.shard)
			b.want(b.do(c, "DQPOP q"), "*-1")
			b.shard.Undelivered(lost)
			b.want(b.do(c, "DQPOP q LEASE 1s"), "*1 *6 $1 q $1 a $1 x :2 :1 …")
			b.after(time.Second, c)
			b.shard.Undelivered(lost) // it is not its turn any more
			b.want(b.do(c, "DQPOP q"), "*-1")
		})
	}
}
