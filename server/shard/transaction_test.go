package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dqd/raftfsm"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
)

// exec runs command lines as one transaction and returns what has been answered since.
func (b *bench) exec(c *shardtest.Client, lines ...string) string {
	queued := make([][]string, len(lines))
	for i, line := range lines {
		queued[i] = strings.Fields(line)
	}
	c.Exec(b.shard, queued...)
	return b.got(c)
}

// TestTransactionTakenBack: what a refused transaction did is not there any more: jobs,
// dead jobs and revived ones, large bodies, IDEM memories, counters, gauges, queues,
// tokens, and who waits gets nothing of it.
func TestTransactionTakenBack(t *testing.T) {
	large := strings.Repeat("p", 1000)
	for name, o := range map[string]func(*shard.Options){"alone": func(*shard.Options) {}, "in flight": early} {
		t.Run(name, func(t *testing.T) {
			runWith(t, o, func(b *bench) {
				c, worker := &shardtest.Client{}, &shardtest.Client{}
				b.want(b.do(c, "DQADD q over x AT 1799999999000 EXPIREAT 1799999999001 IDEM"), "$4 over") // it is remembered
				b.do(c, "DQADD q ready x")
				b.do(c, "DQADD q big "+large)
				b.do(c, "DQADD q idem x DELAY 1h IDEM")
				b.do(c, "DQADD q leased x PRI 0")
				b.do(c, "DQADD q dead x PRI 0 ATTEMPTS 1")
				b.want(b.do(c, "DQPOP q COUNT 2"), "*2 *6 $1 q $6 leased $1 x :1 :1 :1800000000000 *6 $1 q $4 dead $1 x :2 …")
				b.want(b.do(c, "DQNACK q dead 2 DEAD"), ":1")
				b.want(b.do(worker, "DQPOP new BLOCK 10s"), "")
				views := []string{"DQGET q ready", "DQGET q big", "DQGET q idem", "DQGET q leased", "DQGET q dead", "DQSTATS q", "DQSTATS", "DQSTATS new", "DQPEEK q", "DQPEEK q STATE dead"}
				var before []string
				for _, v := range views {
					before = append(before, b.do(c, v))
				}
				queues := b.shard.Gauges().Queues

				var release func()
				if name == "in flight" {
					release = b.log.Hold()
					b.do(c, "DQADD other a x")
				}
				all := []string{
					"DQADD new a x", "DQADD q more x", "DQADD q * x DELAY 5s", "DQPOP q COUNT 1",
					"DQRESCHEDULE q big DELAY 5s PAYLOAD " + strings.Repeat("P", 2000), "DQACK q leased 1",
					"DQCANCEL q idem", "DQADD q idem y IDEM", "DQPOP q COUNT 10 NOACK", "DQADD q dead x", "DQMADD newer JOBS 2 a x +1h b x +0",
					"DQADD q leased again PRI 0", "DQPOP q", "DQNACK q leased * DEAD", "DQADD q leased z",
				}
				if name == "in flight" {
					b.exec(c, append(all, "DQADD q leased x")...)
					// Right behind it, perhaps in the same batch: the id remembers what it did before.
					other := &shardtest.Client{}
					b.do(other, "DQADD q idem y IDEM")
					release()
					b.want(b.got(other), "-DUPID …")
					b.want(b.got(c), "$1 a | -EXECABORT Transaction discarded: command 16 (dqadd): DUPID …")
					b.do(c, "DQCANCEL other a")
				} else {
					b.want(b.exec(c, append(all, "DQADD q leased x")...), "-EXECABORT Transaction discarded: command 16 (dqadd): DUPID …")
				}
				for i, v := range views {
					if got := b.do(c, v); got != before[i] && (name == "alone" || v != "DQSTATS") {
						t.Errorf("%s after a refused transaction:\n%s\nbefore it:\n%s", v, got, before[i])
					}
				}
				if n := b.shard.Gauges().Queues; name == "alone" && n != queues {
					t.Errorf("%d queues, before %d", n, queues)
				}
				b.want(b.got(worker), "")
				// The next token is the one that was not given.
				b.want(b.do(c, "DQPOP q"), "*1 *6 $1 q $5 ready $1 x :3 :1 …")
				b.want(b.do(c, "DQADD q idem x DELAY 1h IDEM"), "$4 idem")
				b.want(b.do(c, "DQPOP q COUNT 5"), "*1 *6 $1 q $3 big $1000 "+large+" :4 …")
				// And the same takes place when nothing is wrong with it.
				if got := b.exec(c, all...); !strings.HasPrefix(got, fmt.Sprintf("*%d ", len(all))) {
					t.Error(got)
				}
				b.want(b.got(worker), "*1 *6 $3 new $1 a …")
			})
		})
	}
}

// TestTransactionPopsWhatItAdds: also when the queue's ready jobs are more than are read
// ahead, and behind them. Nothing of it is lost, or comes twice.
func TestTransactionPopsWhatItAdds(t *testing.T) {
	for _, o := range []func(*shard.Options){func(*shard.Options) {}, early} {
		runWith(t, o, func(b *bench) {
			c := &shardtest.Client{}
			const n = 9000
			for from := 0; from < n; from += 3000 {
				var jobs strings.Builder
				for i := range 3000 {
					fmt.Fprintf(&jobs, " %05d x +0", from+i)
				}
				b.do(c, "DQMADD q PRI 5 JOBS 3000"+jobs.String())
			}
			b.do(c, "DQPOP q COUNT 1") // reads ahead
			release := b.log.Hold()
			b.do(c, "DQADD other a x") // in flight
			lines := []string{"DQADD q last x PRI 9", "DQADD q first x PRI 0", "DQCANCEL q 00003 08000", "DQSTATS q"}
			for range 10 {
				lines = append(lines, "DQPOP q COUNT 1000")
			}
			lines = append(lines, "DQADD q new x PRI 9", "DQPOP q COUNT 1000", "DQLEN q STATE ready")
			b.exec(c, lines...)
			release()
			got := b.got(c)
			if !strings.Contains(got, "$15 oldest-ready-ms :0") {
				t.Errorf("%.300s", got)
			}
			i := strings.Index(got, "*1000 ")
			if i < 0 {
				t.Fatalf("%.300s", got)
			}
			var ids []string
			for _, tuple := range strings.Split(got[i:], "*6 $1 q $")[1:] {
				ids = append(ids, strings.Fields(tuple)[1])
			}
			want := []string{"first"}
			for i := 1; i < n; i++ {
				if i != 3 && i != 8000 {
					want = append(want, fmt.Sprintf("%05d", i))
				}
			}
			want = append(want, "last", "new")
			if fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Errorf("%d jobs came, want %d; %.200q", len(ids), len(want), ids)
			}
			b.want(got[len(got)-3:], " :0")
		})
	}
}

// TestTransactionAges: DQSTATS in a transaction shows what it did so far.
func TestTransactionAges(t *testing.T) {
	for line, want := range map[string]string{
		"DQCANCEL q nobody":          "$15 oldest-ready-ms :1000 $8 next-due :1800000010000",
		"DQCANCEL q old":             "$15 oldest-ready-ms :500 $8 next-due :1800000010000",
		"DQCANCEL q old young":       "$15 oldest-ready-ms :0 $8 next-due :1800000010000",
		"DQCANCEL q soon":            "$15 oldest-ready-ms :1000 $8 next-due :1800003600000",
		"DQCANCEL q soon later":      "$15 oldest-ready-ms :1000 $8 next-due $-1",
		"DQADD q a x DELAY 5s":       "$15 oldest-ready-ms :1000 $8 next-due :1800000005000",
		"DQADD q a x AT 1799999998s": "$15 oldest-ready-ms :2000 $8 next-due :1800000010000",
		"DQPOP q":                    "$15 oldest-ready-ms :500 $8 next-due :1800000010000",
		"DQRESCHEDULE q old NOW":     "$15 oldest-ready-ms :500 $8 next-due :1800000010000",
	} {
		run(t, func(b *bench) {
			c := &shardtest.Client{}
			b.do(c, "DQADD q soon x DELAY 10s")
			b.do(c, "DQADD q later x DELAY 1h")
			b.do(c, "DQADD q old x AT 1799999999000")
			b.do(c, "DQADD q young x AT 1799999999500 PRI 255")
			if got := b.exec(c, line, "DQSTATS q"); !strings.Contains(got, want) {
				t.Errorf("%s: got %s\nwant … %s …", line, got, want)
			}
		})
	}
}

// TestTransactionReplies: what the replies and the entry of a transaction may hold is
// bounded, and beyond it nothing happens.
func TestTransactionReplies(t *testing.T) {
	const each = 1 << 20
	for n := 15; n <= 17; n++ {
		run(t, func(b *bench) {
			c := &shardtest.Client{}
			payload := strings.Repeat("p", each)
			var lines []string
			for i := range n {
				b.do(c, fmt.Sprintf("DQADD q %d %s", i, payload))
				lines = append(lines, fmt.Sprintf("DQGET q %d payload", i))
			}
			got := b.exec(c, lines...)
			if n <= 16 && !strings.HasPrefix(got, fmt.Sprintf("*%d ", n)) || n > 16 && !strings.HasPrefix(got, "-EXECABORT Transaction discarded: command 17 (dqget): TOOBIG ") {
				t.Errorf("%d replies of 1 MiB: %.200s", n, got)
			}
		})
	}
}

// TestTransactionFails: an entry that fails is INDOUBT or TRYAGAIN as a whole, and what
// was evaluated behind it too.
func TestTransactionFails(t *testing.T) {
	for err, want := range map[error]string{raftfsm.ErrInDoubt: "-INDOUBT …", raftfsm.ErrNotProposed: "-TRYAGAIN …"} {
		run(t, func(b *bench) {
			c := &shardtest.Client{}
			b.log.Fail(err)
			b.want(b.exec(c, "DQADD q a x", "DQPOP q"), want)
			b.want(b.do(c, "DQLEN q"), ":0")
			b.want(b.exec(c, "DQADD q a x", "DQPOP q"), "*2 $1 a *1 *6 …")
		})
	}
}

// TestTransactionOfAGoneClient: it gets no job, and so nothing of a transaction with a pop
// takes place; one without may. Jobs whose reply is lost go back.
func TestTransactionOfAGoneClient(t *testing.T) {
	run(t, func(b *bench) {
		c, gone := &shardtest.Client{}, &shardtest.Client{}
		b.do(c, "DQADD q a x")
		gone.Leave(b.shard)
		for _, pop := range []string{"DQPOP q", "DQPOP empty", "DQMPOP 2 empty q", "DQPOP q NOACK"} {
			b.want(b.exec(gone, "DQADD q new x", pop, "DQADD q newer x"), "-EXECABORT Transaction discarded: command 2 (dq"+strings.ToLower(strings.Fields(pop)[0][2:])+"): "+ErrGone[1:])
		}
		b.want(b.do(c, "DQLEN q"), ":1")
		b.want(b.exec(gone, "DQADD q b x"), "*1 $1 b")
		c.Exec(b.shard, []string{"DQPOP", "q"}, []string{"DQLEN", "q"}, []string{"DQPOP", "q"})
		synctest.Wait()
		b.shard.Undelivered(c.Replies()[0])
		b.want(b.do(c, "DQPOP q COUNT 5"), "*2 *6 $1 q $1 a $1 x :3 :1 :1800000000000 *6 $1 q $1 b $1 x :4 :1 :1800000000000")
	})
}

// TestTransactionIsOneEntry, whatever it holds.
func TestTransactionIsOneEntry(t *testing.T) {
	limits := evaluate.DefaultLimits()
	runWith(t, func(o *shard.Options) { o.Limits = limits }, func(b *bench) {
		c := &shardtest.Client{}
		var lines []string
		for i := range 4096 {
			lines = append(lines, fmt.Sprintf("DQADD q%d a %s", i%7, strings.Repeat("p", 400)))
			lines[i] = strings.Replace(lines[i], " a ", fmt.Sprintf(" a%d ", i), 1)
		}
		before := b.log.Applied().Index
		if got := b.exec(c, lines...); !strings.HasPrefix(got, "*4096 ") {
			t.Fatalf("%.200s", got)
		}
		if n := b.log.Applied().Index - before; n != 1 {
			t.Errorf("%d entries", n)
		}
	})
}
