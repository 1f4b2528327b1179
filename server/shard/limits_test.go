package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
)

// TestWaitingPops: so many may wait, one more is BUSY, and who leaves makes room.
// The gauge follows, although none of it writes anything.
func TestWaitingPops(t *testing.T) {
	limits := evaluate.DefaultLimits()
	limits.MaxWaits = 3
	runWith(t, func(o *shard.Options) { o.Limits = limits }, func(b *bench) {
		waiting := func(want int64) {
			t.Helper()
			if got := b.shard.Gauges().Waiting; got != want {
				t.Errorf("the gauge says %d pops wait, want %d", got, want)
			}
		}
		waiting(0)
		clients := make([]*shardtest.Client, limits.MaxWaits)
		for i := range clients {
			clients[i] = &shardtest.Client{}
			b.want(b.do(clients[i], "DQPOP q BLOCK 10s"), "")
			waiting(int64(i) + 1)
		}
		late := &shardtest.Client{}
		b.want(b.do(late, "DQPOP q BLOCK 10s"), "-BUSY 3 pops are waiting already, …")
		b.want(b.do(late, "DQPOP q"), "*-1")
		clients[1].Leave(b.shard)
		synctest.Wait()
		waiting(2)
		b.want(b.do(late, "DQPOP q BLOCK 20s"), "")
		b.want(b.after(10*time.Second, clients[0]), "*-1")
		b.want(b.got(late), "")
		waiting(1)
		b.do(clients[0], "DQADD q a x")
		b.want(b.got(late), "*1 *6 $1 q $1 a …")
		waiting(0)
	})
}

// TestMaxQueues: one queue more than the limit is refused and leaves nothing; the
// queues that exist take jobs.
func TestMaxQueues(t *testing.T) {
	limits := evaluate.DefaultLimits()
	limits.MaxQueues = 3
	runWith(t, func(o *shard.Options) { o.Limits = limits }, func(b *bench) {
		c := &shardtest.Client{}
		for i := range limits.MaxQueues {
			b.want(b.do(c, fmt.Sprintf("DQADD q%d a x", i)), "$1 a")
		}
		b.want(b.do(c, "DQADD more a x"), "-ERR …")
		b.want(b.do(c, "DQMADD more JOBS 1 a x +0"), "-ERR …")
		b.want(b.do(c, "DQSTATS more"), "*-1")
		b.want(b.do(c, "DQADD q2 b x"), "$1 b")
		if n := b.shard.Gauges().Queues; n != limits.MaxQueues {
			t.Errorf("%d queues", n)
		}
	})
}

// TestProposalsInFlight: 64 MiB of commands may wait for the log. With one byte more
// the first that is looked at is refused, and did not happen; the others did.
func TestProposalsInFlight(t *testing.T) {
	const n, each = 64, 1 << 20
	for _, over := range []int{-1, 0, 1} {
		runWith(t, func(o *shard.Options) { o.Early = 1 << 40 }, func(b *bench) { // else some are evaluated at once
			c := &shardtest.Client{}
			release := b.log.Hold()
			b.do(c, "DQADD q first x")
			for i := range n {
				id, size := fmt.Sprintf("%02d", i), each
				if i == n-1 {
					size += over
				}
				c.Do(b.shard, "DQADD", "q", id, strings.Repeat("p", size-len("DQADDq00")))
			}
			release()
			got, busy := strings.Split(b.got(c), " | "), max(over, 0)
			for i, answer := range got {
				if refused := i == 1 && busy == 1; refused != strings.HasPrefix(answer, "-BUSY ") {
					t.Errorf("%d bytes beyond: answer %d is %q", over, i, answer)
				}
			}
			b.want(b.do(c, "DQLEN q"), fmt.Sprint(":", 1+n-busy))
		})
	}
}

// TestReplyMax: a pop ends at reply-max, to the byte, and has one job at least.
func TestReplyMax(t *testing.T) {
	payload := strings.Repeat("x", 1000)
	size := (&commands.Delivery{Queue: []byte("q"), ID: []byte("a"), Payload: []byte(payload)}).EncodedSize()
	for _, test := range []struct{ replyMax, jobs int }{{1, 1}, {2*size - 1, 1}, {2 * size, 2}, {2*size + 1, 2}, {3 * size, 3}} {
		limits := evaluate.DefaultLimits()
		limits.ReplyMax = test.replyMax
		runWith(t, func(o *shard.Options) { o.Limits = limits }, func(b *bench) {
			c := &shardtest.Client{}
			for _, id := range []string{"a", "b", "c"} {
				b.do(c, "DQADD q "+id+" "+payload)
			}
			got := b.do(c, "DQPOP q COUNT 3")
			if jobs := strings.Count(got, payload); jobs != test.jobs || jobs > 1 && len(got) > test.replyMax {
				t.Errorf("reply-max %d: %d jobs in %d bytes, want %d jobs", test.replyMax, jobs, len(got), test.jobs)
			}
			b.want(b.do(c, "DQLEN q STATE ready"), fmt.Sprint(":", 3-test.jobs))
		})
	}
}

// TestDueAhead: a due lies at most 100 years from now, to the nanosecond, whoever
// sets it.
func TestDueAhead(t *testing.T) {
	limits := evaluate.DefaultLimits()
	for _, line := range []string{
		"DQADD q ID x AT TIME", "DQMADD q JOBS 1 ID x TIME", "DQRESCHEDULE q there AT TIME", "DQNACK q leased * AT TIME",
	} {
		for _, over := range []int64{-1, 0, 1} {
			run(t, func(b *bench) {
				c := &shardtest.Client{}
				b.do(c, "DQADD q leased x")
				b.do(c, "DQPOP q")
				b.do(c, "DQADD q there x DELAY 1h")
				at := fmt.Sprintf("%dns", b.clock.Wall()+limits.MaxAhead+over)
				got := b.do(c, strings.NewReplacer("ID", "id", "TIME", at).Replace(line))
				if refused := strings.HasPrefix(got, "-"); refused != (over > 0) || refused && !strings.HasPrefix(got, "-BADTIME ") {
					t.Errorf("%s, %d ns beyond: %s", line, over, got)
				}
			})
		}
	}
}
