package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist"
	"dqd/raftfsm"
	"dqd/server/shard"
	"dqd/server/shard/shardtest"
)

// sliceJobs is how many jobs a slice has at most, as the reference says.
const sliceJobs = 128

// load adds n jobs, ready at once, with ids from 000000 on.
func (b *bench) load(queue string, n int) {
	c := &shardtest.Client{}
	for i := 0; i < n; i += 1000 {
		line := "DQMADD " + queue + " ATTEMPTS 1 JOBS 1000"
		for k := range 1000 {
			line += fmt.Sprintf(" %06d x +0", i+k)
		}
		b.do(c, line)
	}
}

// kill makes the ready jobs of a queue dead.
func (b *bench) kill(queue string, n int) {
	c := &shardtest.Client{}
	for range n / 1000 {
		b.do(c, "DQPOP "+queue+" COUNT 1000 LEASE 1s")
	}
	b.after(2*time.Second, c)
	b.want(b.do(c, "DQLEN "+queue+" STATE dead"), fmt.Sprintf(":%d", n))
}

// entry lets the log write one entry.
func (b *bench) entry() {
	b.log.Step()
	synctest.Wait()
}

// TestBulkInSlices: while 100,000 jobs are purged, requeued, released or dropped, the
// log gets slices, and each entry carries the commands of others too.
func TestBulkInSlices(t *testing.T) {
	for _, c := range []struct {
		line string
		n    int
		kill bool
	}{
		{"DQPURGE q", 100_000, false},
		{"DQPURGE q STATE dead", 20_000, true},
		{"DQREQUEUE q SPREAD 1h ALL", 100_000, true},
		{"DQREQUEUE q ALL", 20_000, true},
		{"DQDROP q FORCE", 20_000, true},
	} {
		n := c.n / volume
		want := fmt.Sprintf(":%d", n)
		if strings.HasPrefix(c.line, "DQDROP") {
			want = ":1"
		}
		t.Run(c.line, func(t *testing.T) {
			run(t, func(b *bench) {
				b.load("q", n)
				if c.kill {
					b.kill("q", n)
				}
				bulk, other := &shardtest.Client{}, &shardtest.Client{}
				b.log.Steps()
				b.want(b.do(bulk, c.line), "")
				entries := 0
				for ; ; entries++ {
					if entries > 2*n/sliceJobs+10 {
						t.Fatal("it does not come to an end")
					}
					id := fmt.Sprintf("other%d", entries)
					other.Do(b.shard, "DQADD", "other", id, "x")
					synctest.Wait()
					if got := b.got(bulk); got != "" {
						b.want(got, want)
						break
					}
					b.entry() // with a slice
					b.entry() // with the add, at the latest
					b.want(b.got(other), fmt.Sprintf("$%d %s", len(id), id))
				}
				if entries < n/sliceJobs/2 {
					t.Errorf("all was done with %d commands in between: the slices are too large", entries)
				}
				b.log.Flow()
			})
		})
	}
}

// TestBulkEndsInBetween: the shard stops in the middle, as by kill -9 each slice is
// done or not, what is left is in order, and the next command does the rest.
func TestBulkEndsInBetween(t *testing.T) {
	for _, c := range []struct{ line, left string }{
		{"DQPURGE q", ""}, {"DQPURGE q STATE dead", "dead"}, {"DQREQUEUE q ALL", "dead"}, {"DQDROP q FORCE", "dead"},
	} {
		t.Run(c.line, func(t *testing.T) {
			run(t, func(b *bench) {
				const n = 20_000 / volume
				b.load("q", n)
				if c.left == "dead" {
					b.kill("q", n)
				}
				client := &shardtest.Client{}
				b.log.Steps()
				b.want(b.do(client, c.line), "")
				for range 5 {
					b.entry()
				}
				b.log.Fail(raftfsm.ErrInDoubt) // the next slice; the ones before it are in the log
				b.entry()
				b.want(b.got(client), "-INDOUBT …")
				b.log.Flow()
				if err := persist.Verify(b.state); err != nil {
					t.Fatal(err)
				}
				got := b.do(client, "DQLEN q")
				if c.left == "dead" {
					got = b.do(client, "DQLEN q STATE dead")
				}
				var left int
				fmt.Sscanf(got, ":%d", &left)
				if left <= 0 || left >= n {
					t.Fatalf("%d of %d jobs are left", left, n)
				}
				want := fmt.Sprintf(":%d", left)
				if strings.HasPrefix(c.line, "DQDROP") {
					want = ":1"
				}
				b.want(b.do(client, c.line), want)
			})
		})
	}
}

// TestBulkFailsAtFirst: of a command whose first slice was certainly not written nothing was done.
func TestBulkFailsAtFirst(t *testing.T) {
	run(t, func(b *bench) {
		b.load("q", 1000)
		client := &shardtest.Client{}
		b.log.Fail(raftfsm.ErrNotProposed)
		b.want(b.do(client, "DQPURGE q LIMIT 10"), "-TRYAGAIN …")
		b.want(b.do(client, "DQLEN q"), ":1000")
	})
}

// TestBulkTakesWhatWasThere: a job that is added, replaced or taken while a purge is at
// work stays; one that only changes its place goes.
func TestBulkTakesWhatWasThere(t *testing.T) {
	run(t, func(b *bench) {
		purger, c := &shardtest.Client{}, &shardtest.Client{}
		b.do(c, "DQADD q moved x DELAY 1h PRI 255")
		b.do(c, "DQADD q replaced x DELAY 2h")
		b.do(c, "DQADD q taken x DELAY 2h")
		b.load("q", 5000)
		b.log.Steps()
		b.want(b.do(purger, "DQPURGE q"), "")
		for _, line := range []string{"DQRESCHEDULE q moved NOW", "DQADD q replaced y DELAY 2h UPSERT", "DQADD q added x DELAY 1h", "DQRESCHEDULE q taken NOW PRI 0", "DQPOP q"} {
			b.do(c, line)
		}
		b.log.Flow()
		synctest.Wait()
		b.want(b.got(purger), ":5001")
		b.got(c)
		b.want(b.do(c, "DQLEN q"), ":3")
		b.want(b.do(c, "DQGET q moved"), "$-1")
		b.want(b.do(c, "DQGET q taken state"), "*1 $6 leased")
	})
}

// TestBulkFollowsWhatMoves: a job that dies, or lives again, between the moment it was
// found and its slice is taken where it is then, also if it is the only one.
func TestBulkFollowsWhatMoves(t *testing.T) {
	for _, c := range []struct{ before, between, line, want string }{
		{"DQPOP q", "DQNACK q a 1 DEAD", "DQDROP q FORCE", ":1"},
		{"DQPOP q", "DQNACK q a 1 DEAD", "DQPURGE q STATE leased STATE dead", ":1"},
		{"DQPOP q|DQNACK q a 1 DEAD", "DQREQUEUE q IDS 1 a", "DQDROP q FORCE", ":1"},
		{"DQPOP q|DQNACK q a 1 DEAD", "DQREQUEUE q IDS 1 a", "DQPURGE q STATE dead STATE ready", ":1"},
	} {
		t.Run(c.line, func(t *testing.T) {
			run(t, func(b *bench) {
				bulk, other := &shardtest.Client{}, &shardtest.Client{}
				b.do(other, "DQADD q a x")
				for line := range strings.SplitSeq(c.before, "|") {
					b.do(other, line)
				}
				b.log.Steps()
				b.do(other, "DQADD x a z")
				b.do(bulk, c.line)
				b.do(other, "DQADD x b z")
				b.entry() // the first add; what follows is evaluated when the second is written
				b.do(other, c.between)
				b.log.Flow()
				b.want(b.got(bulk), c.want)
				b.want(b.got(other), "$1 b | :1")
				b.want(b.do(other, "DQLEN q"), ":0")
				b.want(b.do(other, "DQLEN q STATE dead"), ":0")
			})
		})
	}
}

// TestDropKeepsWhatComesLater: jobs that are added while a queue is dropped are the
// first of a new one.
func TestDropKeepsWhatComesLater(t *testing.T) {
	run(t, func(b *bench) {
		b.load("q", 5000)
		dropper, c := &shardtest.Client{}, &shardtest.Client{}
		b.log.Steps()
		b.want(b.do(dropper, "DQDROP q FORCE"), "")
		b.do(c, "DQADD q new x")
		b.log.Flow()
		synctest.Wait()
		b.want(b.got(dropper), ":1")
		b.want(b.got(c), "$3 new")
		b.want(b.do(c, "DQLEN q"), ":1")
		stats := b.do(c, "DQSTATS q")
		for _, want := range []string{"$5 added :1", "$6 purged :0", "$5 ready :1"} {
			if !strings.Contains(stats, want) {
				t.Errorf("%s is missing in %s", want, stats)
			}
		}
		b.want(b.do(c, "DQDROP q FORCE"), ":1")
		b.want(b.do(c, "DQSTATS q"), "*-1")
		if g := b.shard.Gauges(); g.Queues != 0 || g.Totals.Added != 0 {
			t.Errorf("%d queues, totals %+v", g.Queues, g.Totals)
		}
	})
}

// TestDropForgetsRequests: of jobs that had ended, whether the queue goes or stays with
// what came meanwhile, and also when it remembers others then. Live jobs keep theirs.
func TestDropForgetsRequests(t *testing.T) {
	for _, stays := range []bool{false, true} {
		t.Run(fmt.Sprint(stays), func(t *testing.T) {
			run(t, func(b *bench) {
				dropper, c := &shardtest.Client{}, &shardtest.Client{}
				b.do(c, "DQADD q a x IDEM")
				b.do(c, "DQPOP q NOACK")
				b.want(b.do(c, "DQADD q a x IDEM"), "$1 a")
				b.want(b.do(c, "DQLEN q"), ":0")
				b.load("q", 5000)
				b.log.Steps()
				b.want(b.do(dropper, "DQDROP q FORCE"), "")
				if stays {
					b.do(c, "DQADD q ended x PRI 0 IDEM")
					b.do(c, "DQPOP q NOACK")
					b.do(c, "DQADD q live x IDEM")
				}
				b.log.Flow()
				synctest.Wait()
				b.want(b.got(dropper), ":1")
				b.got(c)
				b.do(c, "DQADD q live x IDEM") // the same one, if it is there
				b.want(b.do(c, "DQLEN q"), ":1")
				b.do(c, "DQPOP q NOACK")
				b.do(c, "DQADD q live x IDEM") // remembered
				b.want(b.do(c, "DQLEN q"), ":0")
				b.do(c, "DQADD q a x IDEM")
				b.do(c, "DQADD q ended x PRI 0 IDEM")
				b.want(b.do(c, "DQLEN q"), ":2")
			})
		})
	}
}

// TestDropInFlight: a queue is dropped while the entry is on its way, and made anew in
// the next one.
func TestDropInFlight(t *testing.T) {
	runWith(t, func(o *shard.Options) { o.Early = 1 }, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q a x")
		b.do(c, "DQPURGE q")
		b.log.Steps()
		for _, line := range []string{"DQDROP q", "DQLEN q", "DQADD q b x", "DQLEN q"} {
			b.do(c, line)
		}
		if n := b.log.Waiting(); n < 2 {
			t.Errorf("%d entries are in flight: the test does not show what it should", n)
		}
		b.log.Flow()
		synctest.Wait()
		b.want(b.got(c), ":1 | :0 | $1 b | :1")
		b.want(b.do(c, "DQDROP q FORCE"), ":1")
		b.do(c, "DQADD q c x")
		b.want(b.do(c, "DQLEN q"), ":1")
	})
}

// TestDropAndTransaction: a transaction that is taken back, behind a drop that the store
// does not have yet, leaves the queue dropped.
func TestDropAndTransaction(t *testing.T) {
	for name, o := range map[string]func(*shard.Options){"in one entry": func(*shard.Options) {}, "in flight": early} {
		t.Run(name, func(t *testing.T) {
			runWith(t, o, func(b *bench) {
				c := &shardtest.Client{}
				b.do(c, "DQADD q a x")
				b.do(c, "DQPURGE q")
				b.log.Steps()
				if name == "in one entry" {
					b.do(c, "DQADD x y z") // what follows is evaluated when this is written
				}
				b.do(c, "DQDROP q")
				b.exec(c, "DQADD q b x", "DQCONFIG SET q lease 2h lease-max 1h")
				b.do(c, "DQLEN q")
				b.log.Flow()
				synctest.Wait()
				got := strings.TrimPrefix(b.got(c), "$1 y | ")
				if !strings.HasPrefix(got, ":1 | -EXECABORT ") || !strings.HasSuffix(got, " | :0") {
					t.Error(got)
				}
				b.want(b.do(c, "EXISTS q"), ":0")
			})
		})
	}
}

// TestDropForgets: a dropped queue is not among the largest any more, and its settings
// bind the defaults of all no more.
func TestDropForgets(t *testing.T) {
	run(t, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQCONFIG SET q lease 1h")
		b.want(b.do(c, "DQCONFIG SET * lease 1m lease-max 1m"), "-ERR lease 3600000 ms would be above lease-max 60000 ms of queue \"q\": nothing was changed, lower the one or raise the other in the same command")
		b.log.Steps()
		b.do(c, "DQADD x y z") // what follows is evaluated when this is written
		b.do(c, "DQDROP q")
		b.do(c, "DQCONFIG SET * lease 1m lease-max 1m")
		b.log.Flow()
		synctest.Wait()
		b.want(b.got(c), "$1 y | :1 | +OK")
		b.want(b.survey(), "x: 0 delayed, 1 ready, 0 leased, oldest 0s")
	})
}

// TestBulkCommandsWaitInLine: two are at work; of those behind them one whose client
// left is given up, and one at work goes on without its client.
func TestBulkCommandsWaitInLine(t *testing.T) {
	run(t, func(b *bench) {
		queues := []string{"a", "b", "c", "d"}
		clients := map[string]*shardtest.Client{}
		for _, q := range queues {
			b.load(q, 3000)
			clients[q] = &shardtest.Client{}
		}
		b.log.Steps()
		b.do(&shardtest.Client{}, "DQADD x y z") // what follows is evaluated when this is written
		for _, q := range queues {
			b.do(clients[q], "DQPURGE "+q)
		}
		b.entry()
		b.entry()
		clients["b"].Leave(b.shard)
		clients["c"].Leave(b.shard)
		synctest.Wait()
		b.log.Flow()
		synctest.Wait()
		b.want(b.got(clients["a"]), ":3000")
		b.want(b.got(clients["b"]), ":3000") // nobody reads it
		b.want(b.got(clients["c"]), ErrGone)
		b.want(b.got(clients["d"]), ":3000")
		c := &shardtest.Client{}
		for q, left := range map[string]string{"a": ":0", "b": ":0", "c": ":3000", "d": ":0"} {
			b.want(b.do(c, "DQLEN "+q), left)
		}
	})
}

// TestBulkAtShutdown: the answer of one that was at work says that a part is done.
func TestBulkAtShutdown(t *testing.T) {
	run(t, func(b *bench) {
		b.load("q", 5000)
		c := &shardtest.Client{}
		b.log.Steps()
		b.want(b.do(c, "DQPURGE q"), "")
		b.entry()
		go b.log.Flow()
		b.shard.Close()
		got := b.got(c)
		if got != ":5000" && !strings.HasPrefix(got, "-INDOUBT") {
			t.Fatal(got)
		}
		b.start()
	})
}

// Jobs that come and go do not keep a command at work that is about live and dead ones.
func TestBulkEndsOnABusyQueue(t *testing.T) {
	for _, line := range []string{"DQDROP q FORCE", "DQPURGE q STATE ready STATE dead"} {
		t.Run(line, func(t *testing.T) {
			run(t, func(b *bench) {
				const jobs = 1000
				b.load("q", jobs)
				bulk, other := &shardtest.Client{}, &shardtest.Client{}
				b.log.Steps()
				defer b.log.Flow()
				b.want(b.do(bulk, line), "")
				for i := 0; ; i++ {
					other.Do(b.shard, "DQADD", "q", fmt.Sprint("new", i), "x")
					if i == 0 {
						other.Do(b.shard, "DQCANCEL", "q", "000900") // was found, is gone
					}
					if i >= 5 {
						other.Do(b.shard, "DQCANCEL", "q", fmt.Sprint("new", i-5))
					}
					synctest.Wait()
					if b.got(bulk) != "" {
						return
					}
					if i > jobs {
						t.Fatal("it does not come to an end")
					}
					b.entry()
				}
			})
		})
	}
}
