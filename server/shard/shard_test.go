package shard_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/raftfsm"
	"dqd/server/resp"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
)

// bench is a shard in a bubble, over a state store in memory.
type bench struct {
	t     *testing.T
	clock *shardtest.Clock
	state *persist.State
	log   *shardtest.Log
	shard *shard.Shard
	start func() // anew, after a Close
}

// run runs f in a bubble with a shard that serves.
func run(t *testing.T, f func(b *bench)) {
	t.Helper()
	runWith(t, func(*shard.Options) {}, f)
}

// runWith is run with other options.
func runWith(t *testing.T, set func(*shard.Options), f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		state, err := persist.OpenState("state", persist.StateOptions{FS: persist.MemFS()})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, clock: shardtest.NewClock(1_800_000_000_000_000_000), state: state, log: shardtest.NewLog(state)}
		o := shard.Options{
			Log: b.log, State: state, Clock: b.clock, Logger: slog.New(slog.DiscardHandler),
			Limits: evaluate.DefaultLimits(), Fatal: func(err error) { panic(err) },
		}
		set(&o)
		b.start = func() {
			b.shard = shard.New(o)
			synctest.Wait()
		}
		b.start()
		f(b)
		b.shard.Close()
		b.log.Close()
		if err := persist.Verify(state); err != nil && b.log.Applied().Index > 0 {
			t.Error(err)
		}
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
}

// do runs a command line of plain words and returns what has been answered since.
func (b *bench) do(c *shardtest.Client, line string) string {
	c.Do(b.shard, strings.Fields(line)...)
	return b.got(c)
}

// after lets time pass.
func (b *bench) after(d time.Duration, c *shardtest.Client) string {
	time.Sleep(d)
	return b.got(c)
}

// got returns what the client has been answered since the last look, as RESP on one line.
func (b *bench) got(c *shardtest.Client) string {
	synctest.Wait()
	var out []string
	for _, call := range c.Replies() {
		w := &resp.Writer{}
		call.Reply.WriteReply(w)
		out = append(out, strings.TrimSpace(strings.ReplaceAll(string(w.Buf), "\r\n", " ")))
	}
	return strings.Join(out, " | ")
}

func (b *bench) want(got, want string) {
	b.t.Helper()
	if got != want && !(strings.HasSuffix(want, "…") && strings.HasPrefix(got, strings.TrimSuffix(want, "…"))) {
		b.t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// TestDueJobReachesTheWaitingPop at its very nanosecond, not one before.
func TestDueJobReachesTheWaitingPop(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.want(b.do(c, "DQADD q a hello DELAY 10s"), "$1 a")
		b.want(b.do(c, "DQPOP q BLOCK 15s"), "")
		b.want(b.after(10*time.Second-1, c), "")
		b.want(b.after(1, c), "*1 *6 $1 q $1 a $5 hello :1 :1 :1800000010…")
	})
}

// TestGoneClientGetsNothing: a waiting pop ends with its connection, before any lease.
func TestGoneClientGetsNothing(t *testing.T) {
	run(t, func(b *bench) {
		gone, there := &shardtest.Client{}, &shardtest.Client{}
		b.do(gone, "DQPOP q BLOCK 15s")
		b.do(there, "DQPOP q BLOCK 15s")
		gone.Leave(b.shard)
		producer := &shardtest.Client{}
		b.do(producer, "DQADD q a x")
		b.want(b.got(gone), ErrGone) // every call is answered, perhaps somebody reads it
		b.want(b.got(there), "*1 *6 $1 q $1 a $1 x :1 :1 …")
	})
}

// ErrGone is what a client is told that is gone. It is never null: there may be jobs.
const ErrGone = "-ERR the client closed its sending side before this could be done: nothing was done…"

// TestGoneClientIsRefused: no kind of pop tells a client that is gone that there are no
// jobs, and none takes one.
func TestGoneClientIsRefused(t *testing.T) {
	for _, line := range []string{
		"DQPOP q", "DQPOP q BLOCK 10s", "DQPOP q NOACK", "DQPOP q COUNT 10 FULL", "DQMPOP 2 empty q", "DQMPOP 2 empty q BLOCK 10s",
		"DQPOP empty", "DQPOP empty BLOCK 10s",
		"DQPURGE q", "DQDROP q FORCE", "DQRELEASE q WORKER w", "DQREQUEUE q ALL",
	} {
		run(t, func(b *bench) {
			c, gone := &shardtest.Client{}, &shardtest.Client{}
			b.do(c, "DQADD q a x")
			gone.Leave(b.shard)
			b.want(b.do(gone, line), ErrGone)
			b.want(b.after(20*time.Second, gone), "")
			b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $1 a $1 x :1 :1 …")
		})
	}
}

// TestUnnoticedLeaver: a client that has left, although nobody has read of it, gets nothing
// either; when it is read of, its pop is answered.
func TestUnnoticedLeaver(t *testing.T) {
	run(t, func(b *bench) {
		left, there := &shardtest.Client{}, &shardtest.Client{}
		b.do(left, "DQPOP q BLOCK 15s")
		b.do(there, "DQPOP q BLOCK 15s")
		left.HasLeft = true
		b.do(&shardtest.Client{}, "DQADD q a x")
		b.want(b.got(there), "*1 *6 $1 q $1 a $1 x :1 :1 …")
		left.Leave(b.shard)
		b.want(b.after(0, left), ErrGone)
	})
}

// TestUndeliveredComesBack: what could not be written is ready at once, and the
// attempt does not count; its token is stale.
func TestUndeliveredComesBack(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x")
		c.Do(b.shard, "DQPOP", "q")
		synctest.Wait()
		b.shard.Undelivered(c.Replies()[0])
		b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $1 a $1 x :2 :1 …")
		b.want(b.do(c, "DQMACK q JOBS 1 a 1"), "*1 :-1")
		b.want(b.do(c, "DQMACK q JOBS 1 a 2"), "*1 :1")
	})
}

// TestAnswersLeaveAfterTheirEntry: neither a write nor what a read saw of it is
// answered before the entry is committed.
func TestAnswersLeaveAfterTheirEntry(t *testing.T) {
	run(t, func(b *bench) {
		writer, reader := &shardtest.Client{}, &shardtest.Client{}
		release := b.log.Hold()
		b.want(b.do(writer, "DQADD q a x"), "")
		b.want(b.do(reader, "DQLEN q"), "")
		release()
		b.want(b.got(writer), "$1 a")
		b.want(b.got(reader), ":1")
	})
}

// TestFailedProposal: what certainly did not happen may be repeated, what may have
// happened is in doubt; then the shard goes on from committed state.
func TestFailedProposal(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{raftfsm.ErrNotProposed, "-TRYAGAIN…"},
		{raftfsm.ErrFenced, "-TRYAGAIN…"},
		{raftfsm.ErrInDoubt, "-INDOUBT…"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			run(t, func(b *bench) {
				client, waiting := &shardtest.Client{}, &shardtest.Client{}
				b.want(b.do(client, "DQADD q before x"), "$6 before")
				b.do(waiting, "DQPOP other BLOCK 10s")
				b.log.Fail(fmt.Errorf("the log: %w", c.err))
				b.want(b.do(client, "DQADD q lost x"), c.want)
				b.want(b.got(waiting), "-TRYAGAIN…")
				b.want(b.do(client, "DQLEN q"), ":1")
				b.want(b.do(client, "DQADD q after x"), "$5 after")
				b.want(b.do(client, "DQPOP q COUNT 10"), "*2 *6 $1 q $6 before $1 x :1 …")
			})
		})
	}
}

// TestLeadershipLost: calls wait while nobody leads; waiting pops are told. A second
// "leads" means that leadership was lost in between, and counts as that.
func TestLeadershipLost(t *testing.T) {
	run(t, func(b *bench) {
		waiting, client := &shardtest.Client{}, &shardtest.Client{}
		b.do(waiting, "DQPOP q BLOCK 10s")
		b.log.Lead(false)
		b.want(b.got(waiting), "-TRYAGAIN…")
		b.want(b.do(client, "DQADD q a x"), "")
		b.log.Lead(true)
		b.want(b.got(client), "$1 a")
		b.do(waiting, "DQPOP other BLOCK 10s")
		b.log.Lead(true)
		b.want(b.got(waiting), "-TRYAGAIN…")
		b.want(b.do(client, "DQLEN q"), ":1")
	})
}

// TestHeldStep: a forward step of the wall clock moves no AT job until an operator
// accepts it, and what was accepted is in the log when it is answered.
func TestHeldStep(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q at x AT 1800003600000")
		b.do(c, "DQADD q delay x DELAY 1h")
		b.clock.Step(2 * time.Hour)
		if got := b.do(c, "DQCLOCK"); !strings.Contains(got, "$4 held") {
			t.Fatal(got)
		}
		b.want(b.after(time.Minute, c), "")
		b.want(b.do(c, "DQLEN q STATE ready"), ":0")
		if got := b.do(c, "DQCLOCK ACCEPT"); !strings.Contains(got, "$2 ok") {
			t.Fatal(got)
		}
		if offset := b.log.Applied().WallOffset; offset < int64(2*time.Hour)-1e9 {
			t.Fatalf("answered, but the log has the offset %d", offset)
		}
		b.want(b.do(c, "DQPOP q COUNT 10"), "*1 *6 $1 q $2 at …")
	})
}

// TestBacklogLeavesInOrder: far more ready jobs than the head of a queue holds.
func TestBacklogLeavesInOrder(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		const n = 10_000
		for i := 0; i < n; i += 1000 {
			line := "DQMADD q JOBS 1000"
			for k := range 1000 {
				line += fmt.Sprintf(" %05d x +0", i+k)
			}
			b.do(c, line)
		}
		for i := 0; i < n; i += 500 {
			got := b.do(c, "DQPOP q COUNT 500 NOACK")
			want := i
			for _, word := range strings.Fields(got) {
				if len(word) == 5 && word[0] != ':' && word[0] != '*' && word[0] != '$' {
					if word != fmt.Sprintf("%05d", want) {
						t.Fatalf("got %s, want %05d", word, want)
					}
					want++
				}
			}
			if want != i+500 {
				t.Fatalf("%d jobs, want 500", want-i)
			}
		}
		b.want(b.do(c, "DQLEN q"), ":0")
	})
}

// TestDueAtTheEpoch: the instant 0 is as past as any other, and not "never".
func TestDueAtTheEpoch(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x AT 0s TTL 1s")
		b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $1 a $1 x :1 :1 :0")
		b.want(b.do(c, "DQNACK q a 1 AT 0ms"), ":1")
		b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $1 a $1 x :2 :2 :0")
		b.want(b.do(c, "DQACK q a 2"), ":1")
		b.do(c, "DQADD q b x DELAY 1h")
		b.want(b.do(c, "DQRESCHEDULE q b AT 0ns"), ":1")
		b.want(b.do(c, "DQPOP q NOACK"), "*1 *6 $1 q $1 b $1 x :3 :1 :0")
		b.do(c, "DQADD q c x AT 0s TTL 1s")
		b.want(b.after(time.Second, c), "")
		b.want(b.do(c, "DQLEN q"), ":0")
	})
}

// TestUnblockFindsAPopOnItsWay: the pop that an unblock is meant for may not have
// been evaluated yet, because an entry is in flight.
func TestUnblockFindsAPopOnItsWay(t *testing.T) {
	run(t, func(b *bench) {
		writer, waiting := &shardtest.Client{}, &shardtest.Client{}
		release := b.log.Hold()
		b.do(writer, "DQADD q a x")
		b.do(waiting, "DQPOP other BLOCK 10s")
		b.shard.Unblock(waiting, commands.NullArray{})
		release()
		b.want(b.got(waiting), "*-1")
	})
}

// TestPeekRunsBeside: it sees what was answered before it, and while it waits for
// what is in flight others do not wait for it.
func TestPeekRunsBeside(t *testing.T) {
	run(t, func(b *bench) {
		c, other := &shardtest.Client{}, &shardtest.Client{}
		b.do(c, "DQADD q a x AT 0s")
		release := b.log.Hold()
		b.do(other, "DQADD q b y AT 1ns")
		b.want(b.do(c, "DQPEEK q"), "")
		release()
		b.want(b.got(c), "*2 *4 $1 a :0 :0 $1 x *4 $1 b :1 :0 $1 y")
		b.want(b.got(other), "$1 b")
	})
}

// TestLeadershipReturnsDuringAnEntry: the shard begins anew once the entry in
// flight is settled, however it ends.
func TestLeadershipReturnsDuringAnEntry(t *testing.T) {
	for _, fail := range []error{nil, raftfsm.ErrInDoubt} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			run(t, func(b *bench) {
				c := &shardtest.Client{}
				release := b.log.Hold()
				if fail != nil {
					b.log.Fail(fail)
				}
				b.want(b.do(c, "DQADD q a x"), "")
				b.log.Lead(true)
				b.want(b.got(c), "")
				release()
				b.got(c)
				b.want(b.do(c, "DQADD q b x"), "$1 b")
			})
		})
	}
}

// TestHeldStepIsNoElapsedTime: a node that leads anew has its monotonic clock; a
// held step of the wall clock must not make DELAY jobs due (I1).
func TestHeldStepIsNoElapsedTime(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x DELAY 1h")
		b.clock.Step(2 * time.Hour)
		b.do(c, "DQCLOCK")
		b.log.Fail(raftfsm.ErrInDoubt)
		b.want(b.do(c, "DQADD q b x"), "-INDOUBT…")
		b.want(b.do(c, "DQPOP q"), "*-1")
		b.want(b.after(time.Hour-time.Minute, c), "")
		b.want(b.do(c, "DQPOP q"), "*-1")
		b.after(time.Minute, c)
		b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $1 a …")
	})
}

// TestBusy: what waits beyond the bound is refused, what is within it is done.
func TestBusy(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		release := b.log.Hold()
		b.do(c, "DQADD q first x")
		payload := strings.Repeat("p", 1<<20)
		const n = 70
		for i := range n {
			b.do(c, fmt.Sprintf("DQADD q %d %s", i, payload))
		}
		release()
		answers := strings.Split(b.got(c), " | ")
		busy := 0
		for _, a := range answers {
			if strings.HasPrefix(a, "-BUSY") {
				busy++
			}
		}
		if len(answers) != n+1 || busy == 0 || busy > 8 {
			t.Fatalf("%d answers, %d of them BUSY", len(answers), busy)
		}
	})
}

// early begins an entry for every request, as far as entries may be in flight.
func early(o *shard.Options) { o.Early = 1 }

// TestEntriesInFlight: what is evaluated while entries are in flight sees them, and
// is not answered before they are committed, also where it writes nothing itself.
func TestEntriesInFlight(t *testing.T) {
	runWith(t, early, func(b *bench) {
		c, reader := &shardtest.Client{}, &shardtest.Client{}
		release := b.log.Hold()
		b.do(c, "DQADD q a x")
		b.do(c, "DQPOP q")
		b.want(b.do(reader, "DQLEN q STATE leased"), "")
		b.want(b.do(reader, "DQADD q a y NX"), "")
		if n := b.log.Waiting(); n != 2 {
			t.Fatalf("%d entries are in flight, want 2", n)
		}
		b.do(c, "DQACK q a 1")
		b.want(b.got(c)+b.got(reader), "")
		release()
		b.want(b.got(c), "$1 a | *1 *6 $1 q $1 a $1 x :1 :1 :1800000000000 | :1")
		b.want(b.got(reader), ":1 | $-1")
	})
}

// TestEntriesInFlightFail: when one fails, all that was evaluated on top of it has
// not happened, and what only read it is refused too.
func TestEntriesInFlightFail(t *testing.T) {
	runWith(t, early, func(b *bench) {
		c, reader := &shardtest.Client{}, &shardtest.Client{}
		release := b.log.Hold()
		b.log.Fail(raftfsm.ErrNotProposed)
		b.do(c, "DQADD q a x")
		b.do(c, "DQADD q b x")
		b.do(reader, "DQLEN q")
		release()
		b.want(b.got(c), "-TRYAGAIN this node stopped leading: nothing was done | -TRYAGAIN this node stopped leading: nothing was done")
		b.want(b.got(reader), "-TRYAGAIN this node stopped leading: nothing was done")
		b.want(b.do(reader, "DQLEN q"), ":0")
		b.want(b.do(c, "DQADD q a x"), "$1 a")
	})
}

// TestStatsInFlight: what must read the store waits until all that was before it is there.
func TestStatsInFlight(t *testing.T) {
	runWith(t, early, func(b *bench) {
		c := &shardtest.Client{}
		release := b.log.Hold()
		b.do(c, "DQADD q a x DELAY 10s")
		b.do(c, "DQSTATS q")
		release()
		if got := b.got(c); !strings.Contains(got, "$8 next-due :1800000010000") {
			t.Error(got)
		}
	})
}

// TestLeadershipEndsDuringEntries: what waits, or has only read, is answered behind
// what is in flight: a client's replies are in the order of its commands.
func TestLeadershipEndsDuringEntries(t *testing.T) {
	runWith(t, early, func(b *bench) {
		c, waiting := &shardtest.Client{}, &shardtest.Client{}
		release := b.log.Hold()
		b.do(c, "DQADD q a x")
		b.do(waiting, "DQADD q c x")
		b.do(c, "DQGET q a state")
		b.do(waiting, "DQPOP other BLOCK 10s")
		b.log.Lead(false)
		b.want(b.got(c)+b.got(waiting), "")
		release()
		b.want(b.got(c), "$1 a | -TRYAGAIN this node stopped leading: nothing was done")
		b.want(b.got(waiting), "$1 c | -TRYAGAIN this node stopped leading: nothing was done")
		b.log.Lead(true)
		b.want(b.do(c, "DQLEN q"), ":2")
	})
}

// TestMadeIDsAvoidGivenOnes: an id that is made is none that the same command gives.
func TestMadeIDsAvoidGivenOnes(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.want(b.do(c, "DQADD q * x DELAY 1h"), "$15 1800000000000-1")
		b.want(b.do(c, "DQMADD q JOBS 3 * made +1h 1800000000000-2 given +1h * made +1h"), "*3 $15 1800000000000-3 $15 1800000000000-2 $15 1800000000000-5")
		b.want(b.do(c, "DQLEN q"), ":4")
		b.want(b.do(c, "DQGET q 1800000000000-2 payload"), "*1 $5 given")
	})
}
