package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	bulkProbe = 5 * time.Millisecond // how often each probe asks
	bulkTurns = 16                   // the connections of a probe, in turns: an answer does not wait for the one before it
	bulkBar   = 20                   // ms
	dead      = queue + ":dead"      // Redis: the ZSet of dead jobs
)

// A bulkWork is one thing that happens to all jobs of a server at once.
type bulkWork struct {
	servers []string
	// supported is a command that does nothing here, and that dqd answers with an
	// error if it cannot do the work at all.
	supported string
	prepare   func(ctx context.Context, b *bench, srv *server, c *conn) error
	// do returns once the work is done.
	do func(ctx context.Context, b *bench, srv *server, c *conn) error
}

var bulkPurge = bulkWork{
	servers:   []string{dqdServer, redisAlways},
	supported: "DQPURGE " + queue + " DRYRUN",
	prepare: func(ctx context.Context, b *bench, srv *server, _ *conn) error {
		return b.load(ctx, srv, 0, b.loaded)
	},
	do: func(_ context.Context, _ *bench, srv *server, c *conn) error {
		_, err := c.do(srv.words("DQPURGE "+queue, "DEL "+queue)...)
		return err
	},
}

var bulkRequeue = bulkWork{
	servers:   []string{dqdServer, redisAlways},
	supported: "DQREQUEUE " + queue + " ALL",
	prepare:   killAll,
	do: func(_ context.Context, _ *bench, srv *server, c *conn) error {
		if _, err := c.do(srv.words("DQREQUEUE "+queue+" ALL", "ZUNIONSTORE "+queue+" 2 "+queue+" "+dead)...); err != nil {
			return err
		}
		if !srv.isRedis() {
			return nil
		}
		_, err := c.do("DEL", dead)
		return err
	},
}

// bulkDue has no peer: in Redis nothing happens when a score has passed.
var bulkDue = bulkWork{
	servers:   []string{dqdServer},
	supported: "DQLEN " + queue + " STATE ready",
	prepare: func(ctx context.Context, b *bench, srv *server, _ *conn) error {
		due := b.dueTogether(srv)
		if err := b.loadDue(ctx, srv, 0, b.loaded, func(n int) int64 { return due.UnixMilli() + int64(n%1000) }); err != nil {
			return err
		}
		if time.Now().After(due) {
			return errors.New("the jobs fell due while they were loaded")
		}
		return sleepUntil(ctx, due)
	},
	do: func(ctx context.Context, b *bench, _ *server, c *conn) error {
		return waitLength(ctx, c, "ready", b.loaded)
	},
}

// dueTogether is the second in which the jobs of bulkDue fall due: late enough for
// them to be loaded.
func (b *bench) dueTogether(srv *server) time.Time {
	lead := time.Duration(b.loaded) * 50 * time.Microsecond
	if b.loaded > settleJobs {
		lead += 15 * time.Second
	}
	return srv.started.Add(lead + 2*time.Second).Truncate(time.Second)
}

// killAll makes dead jobs: they expire a ms after they were added, into the dead.
func killAll(ctx context.Context, b *bench, srv *server, c *conn) error {
	if srv.isRedis() { // the loaded ZSet becomes that of the dead
		if err := b.load(ctx, srv, 0, b.loaded); err != nil {
			return err
		}
		_, err := c.do("RENAME", queue, dead)
		return err
	}
	if _, err := c.do("DQCONFIG", "SET", queue, "expire-to", "dead", "ttl", "1ms"); err != nil {
		return err
	}
	past := time.Now().Add(-time.Second).UnixMilli()
	if err := b.loadDue(ctx, srv, 0, b.loaded, func(int) int64 { return past }); err != nil {
		return err
	}
	if err := waitLength(ctx, c, "dead", b.loaded); err != nil {
		return err
	}
	if _, err := c.do("DQCONFIG", "RESET", queue); err != nil {
		return err
	}
	return srv.settle(ctx)
}

// waitLength asks until so many jobs are in a state.
func waitLength(ctx context.Context, c *conn, state string, jobs int) error {
	for {
		reply, err := c.do("DQLEN", queue, "STATE", state)
		if err != nil {
			return err
		}
		if n, _ := strconv.Atoi(reply); n >= jobs {
			return nil
		}
		if err := sleepUntil(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
			return fmt.Errorf("%s of %d jobs are %s: %w", reply, jobs, state, err)
		}
	}
}

// parts are what others notice of the work.
func (w bulkWork) parts() []part {
	bars := []bar{below(figP99, bulkBar)}
	if len(w.servers) > 1 {
		bars = append(bars, beside(figP99, redisAlways), beside(figRate, redisAlways))
	}
	return []part{{"ping", bars}, {"add", bars}}
}

// bulkCase measures PING and adds of others while the work is done, on fresh
// servers every round.
func bulkCase(work bulkWork) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		return b.inParts(ctx, work.servers, work.parts(), func(ctx context.Context, round int, name string) ([]sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return nil, err
			}
			defer srv.stop()
			if err := srv.supports(ctx, work.supported); err != nil {
				return nil, err
			}
			return measureBulk(ctx, b, srv, work, round)
		})
	}
}

// measureBulk reports per probe how long its answers took, from the instant at
// which it was to ask, and as PerSecond what became of the jobs.
func measureBulk(ctx context.Context, b *bench, srv *server, work bulkWork, round int) ([]sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := dial(ctx, srv.addr)
	if err != nil {
		return nil, err
	}
	crew := newCrew(ctx)
	defer crew.stop()
	var probes [2][bulkTurns]*conn
	for i := range probes {
		for n := range probes[i] {
			if probes[i][n], err = dial(crew.ctx, srv.addr); err != nil {
				return nil, err
			}
		}
	}
	if err := work.prepare(ctx, b, srv, c); err != nil {
		return nil, err
	}
	start, done := time.Now(), make(chan struct{})
	var ping, add [bulkTurns]*hdrhistogram.Histogram
	d, seq := srv.dialect(), firstSeq(round)
	for n := range bulkTurns {
		ping[n], add[n] = newHist(), newHist()
		at := start.Add(time.Duration(n) * bulkProbe)
		crew.start(func(ctx context.Context) error {
			return probe(ctx, at, done, ping[n], func() error {
				_, err := probes[0][n].do("PING")
				return err
			})
		})
		c, p, seq := probes[1][n], new(payloads), seq+uint64(n)
		crew.start(func(ctx context.Context) error {
			return probe(ctx, at, done, add[n], func() error {
				c.out = d.addFar(c.out[:0], p, seq, start.Add(farDelay).UnixMilli())
				seq += bulkTurns
				if err := c.send(); err != nil {
					return err
				}
				ok, err := d.added(c)
				if err == nil && !ok {
					err = errNotAdded
				}
				return err
			})
		})
	}
	err = work.do(crew.ctx, b, srv, c)
	rate := float64(b.loaded) / time.Since(start).Seconds()
	close(done)
	if werr := crew.wait(); werr != nil {
		return nil, werr
	}
	if err != nil {
		return nil, err
	}
	samples := []sample{{PerSecond: rate}, {PerSecond: rate}}
	for n := 1; n < bulkTurns; n++ {
		ping[0].Merge(ping[n])
		add[0].Merge(add[n])
	}
	samples[0].percentiles(ping[0])
	samples[1].percentiles(add[0])
	return samples, nil
}

// probe asks at fixed instants until done. A late answer makes one behind it late as
// well only if it took all of a turn.
func probe(ctx context.Context, at time.Time, done chan struct{}, h *hdrhistogram.Histogram, ask func() error) error {
	for {
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		if err := ask(); err != nil {
			return err
		}
		record(h, time.Since(at))
		select {
		case <-done:
			return nil
		default:
		}
		at = at.Add(bulkTurns * bulkProbe)
	}
}
