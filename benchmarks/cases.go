package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

// A benchCase is one line of the figures: work, servers, bars.
type benchCase struct {
	name string
	work string
	long bool // runs only when -run contains its name
	run  func(context.Context, *bench) (*result, error)
}

// bench is what a case works with.
type bench struct {
	options
	launcher *launcher
	log      io.Writer
	name     string
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.log, "  "+format+"\n", args...)
}

// allCases is the table of cases and bars.
func allCases(o options) []benchCase {
	peers := []string{dqdServer, redisAlways, noopServer}
	pair := []string{dqdServer, redisAlways}
	lateness := func(rate, waiting int, p50 ...bar) func(context.Context, *bench) (*result, error) {
		bars := append(p50, atMost(figP99, redisAlways, 1), noneOf(figFaults))
		return latenessCase(rate, waiting, bars)
	}
	return []benchCase{
		{name: "add/50", work: "add, fsync before reply, 50 connections, unpipelined",
			run: addCase(50, 1, peers, atLeast(figRate, redisAlways, 0.9), atLeast(figRate, noopServer, 0.8))},
		{name: "add/256", work: "add, fsync before reply, 256 connections, unpipelined",
			run: addCase(256, 1, peers, atLeast(figRate, redisAlways, 0.9), atLeast(figRate, noopServer, 0.8))},
		{name: "add/4x32", work: "add, fsync before reply, 4 connections pipelining 32",
			run: addCase(4, 32, pair, atLeast(figRate, redisAlways, 1.2))},
		{name: "add/4x128", work: "add, fsync before reply, 4 connections pipelining 128",
			run: addCase(4, 128, pair, atLeast(figRate, redisAlways, 1))},
		{name: "add/sync", work: "add, fsync before reply, one synchronous client",
			run: addCase(1, 1, pair, atMost(figP50, redisAlways, 1.2))},
		{name: "multi", work: fmt.Sprintf("MULTI of %d adds, fsync before reply, 50 connections", multiAdds),
			run: multiCase(beside(figRate, redisAlways), beside(figP50, redisAlways), beside(figP99, redisAlways))},
		{name: "cancel/50", work: "cancel by id, fsync before reply, 50 connections, unpipelined",
			run: cancelCase(50, 1, atLeast(figRate, redisAlways, 0.9))},
		{name: "cancel/4x32", work: "cancel by id, fsync before reply, 4 connections pipelining 32",
			run: cancelCase(4, 32, atLeast(figRate, redisAlways, 1.2))},
		{name: "cycle", work: fmt.Sprintf("add, due, pop, ack in batches of %d, %d in flight", cycleBatch, o.inflight),
			run: cycleCase([]string{dqdServer, redisAlways, redisEverysec},
				atLeast(figRate, redisAlways, 1.5), atLeast(figRate, redisEverysec, 1).asAim(), noneOf(figFaults))},
		{name: "lateness/1k-100k", work: "lateness at 1,000 deliveries/s, 100 k other jobs waiting, fsync",
			run: lateness(1000, 100_000, atMost(figP50, redisAlways, 0.5))},
		{name: "lateness/5k-100k", work: "lateness at 5,000 deliveries/s, 100 k other jobs waiting, fsync",
			run: lateness(5000, 100_000, atMost(figP50, redisAlways, 0.75), atMost(figP50, redisAlways, 0.5).asAim())},
		{name: "lateness/1k-1M", work: "lateness at 1,000 deliveries/s, 1 M other jobs waiting, fsync",
			run: lateness(1000, 1_000_000, atMost(figP50, redisAlways, 0.5))},
		{name: "lateness/5k-1M", work: "lateness at 5,000 deliveries/s, 1 M other jobs waiting, fsync",
			run: lateness(5000, 1_000_000, atMost(figP50, redisAlways, 0.75), atMost(figP50, redisAlways, 0.5).asAim())},
		{name: "lateness/busy", work: fmt.Sprintf("lateness at 1,000 deliveries/s, 100 k other jobs waiting, fsync, others take %.0f %% of every CPU", burnShare*100),
			run: busy(latenessCase(1000, 100_000, []bar{beside(figP50, redisAlways), beside(figP99, redisAlways), noneOf(figFaults)}))},
		{name: "idle", work: fmt.Sprintf("server CPU with %d idle waiting workers", o.idlers),
			run: idleCase(atMost(figIdle, redisAlways, 0.1))},
		{name: "waiting", long: true, work: fmt.Sprintf("%d jobs waiting in dqd, beside an empty dqd", o.jobs),
			run: waitingCase},
		{name: "restart", long: true, work: fmt.Sprintf("kill -9 with %d jobs waiting, until it serves again", o.loaded),
			run: restartCase(atMost(figStart, redisAlways, 0.5))},
		{name: "store", long: true, work: fmt.Sprintf("disk taken by %d jobs waiting", o.loaded),
			run: storeCase(below(figDisk, storeBar), beside(figDisk, redisAlways))},
		{name: "look", long: true, work: fmt.Sprintf("ranges, counts and a walk, %d jobs waiting", o.loaded),
			run: lookCase},
		{name: "connections", long: true, work: fmt.Sprintf("%d idle connections", o.connections),
			run: connectionsCase(beside(figConn, redisAlways), beside(figRSS, redisAlways), beside(figIdle, redisAlways))},
		{name: "extend", long: true, work: fmt.Sprintf("renewal of %d leases, %d at a time, fsync", o.loaded, extendBatch),
			run: extendCase},
		{name: "bulk/purge", long: true, work: fmt.Sprintf("PING and adds while %d jobs are purged", o.loaded),
			run: bulkCase(bulkPurge)},
		{name: "bulk/requeue", long: true, work: fmt.Sprintf("PING and adds while %d dead jobs are requeued", o.loaded),
			run: bulkCase(bulkRequeue)},
		{name: "bulk/due", long: true, work: fmt.Sprintf("PING and adds while %d jobs fall due in one second", o.loaded),
			run: bulkCase(bulkDue)},
	}
}

// choose returns the cases whose name matches pattern. A long case must be
// named, at least up to its slash: `-run .` does not start it.
func choose(all []benchCase, pattern string) ([]benchCase, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var chosen []benchCase
	for _, c := range all {
		group, _, _ := strings.Cut(c.name, "/")
		if re.MatchString(c.name) && (!c.long || strings.Contains(pattern, group)) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

func printCases(w io.Writer, chosen, all []benchCase) {
	runs := map[string]bool{}
	for _, c := range chosen {
		runs[c.name] = true
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range all {
		mark := "-"
		if runs[c.name] {
			mark = "*"
		}
		note := ""
		if c.long {
			note = " (long: only when named)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s%s\n", mark, c.name, c.work, note)
	}
	tw.Flush()
}

// takeTurns runs one round after the other; within a round the servers take
// turns, and each round starts with the next one, so that no server always
// measures in another's wake.
func (b *bench) takeTurns(ctx context.Context, servers []string, measure func(ctx context.Context, round int, server string) (sample, error)) ([]sample, error) {
	all, err := b.turns(ctx, servers, []part{{}}, func(ctx context.Context, round int, server string) ([]sample, error) {
		s, err := measure(ctx, round, server)
		return []sample{s}, err
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// A part of a case has a table row and bars of its own.
type part struct {
	name string
	bars []bar
}

// inParts is takeTurns for measurements that return a sample for each part.
func (b *bench) inParts(ctx context.Context, servers []string, parts []part, measure func(ctx context.Context, round int, server string) ([]sample, error)) (*result, error) {
	all, err := b.turns(ctx, servers, parts, measure)
	if err != nil {
		return nil, err
	}
	var results []*result
	for i, p := range parts {
		r := newResult(servers, all[i], p.bars)
		r.part = p.name
		results = append(results, r)
	}
	results[0].more = results[1:]
	return results[0], nil
}

// turns returns the samples of each part.
func (b *bench) turns(ctx context.Context, servers []string, parts []part, measure func(ctx context.Context, round int, server string) ([]sample, error)) ([][]sample, error) {
	all := make([][]sample, len(parts))
	for round := range b.rounds {
		for i := range servers {
			server := servers[(round+i)%len(servers)]
			samples, err := measure(ctx, round, server)
			if err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", round+1, server, err)
			}
			for i, s := range samples {
				s.Server, s.Round = server, round+1
				b.logf("round %d  %-15s %s", round+1, server, strings.TrimSpace(parts[i].name+"  "+s.brief()))
				all[i] = append(all[i], s)
			}
		}
	}
	return all, nil
}

// notMeasured is why a case says nothing: not a failure of the run.
type notMeasured struct{ why string }

func (e notMeasured) Error() string { return e.why }

// supports asks a server for a command that does nothing here. An error reply is
// notMeasured: this server does not have what a case is about.
func (s *server) supports(ctx context.Context, command ...string) error {
	if s.isRedis() {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection
	c, err := dial(ctx, s.addr)
	if err != nil {
		return err
	}
	for _, words := range command {
		_, err := c.do(strings.Fields(words)...)
		if refused := replyError(""); errors.As(err, &refused) {
			return notMeasured{fmt.Sprintf("%s answers %s with %s", s.name, words, string(refused))}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// startLoaded starts servers that each hold so many waiting jobs, and live until
// the case is over. A server at rest costs the others nothing.
func (b *bench) startLoaded(ctx context.Context, names []string, jobs int) (map[string]*server, error) {
	running := map[string]*server{}
	for _, name := range names {
		srv, err := b.launcher.start(ctx, name)
		if err != nil {
			return nil, err
		}
		running[name] = srv
		if err := b.load(ctx, srv, 0, jobs); err != nil {
			return nil, err
		}
	}
	return running, nil
}

// roundTimeout bounds one measurement beyond the time it is meant to take.
const roundTimeout = 45 * time.Second

// addCase measures adds. Every round gets fresh servers: only the measured one
// is alive, and none carries the jobs of an earlier round.
func addCase(conns, pipeline int, servers []string, bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		samples, err := b.takeTurns(ctx, servers, func(ctx context.Context, round int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			return measureAdds(ctx, srv, addLoad{conns: conns, pipeline: pipeline, round: round, warmup: b.warmup, length: b.length()})
		})
		if err != nil {
			return nil, err
		}
		return newResult(servers, samples, bars), nil
	}
}

// multiAdds is how many adds are in a transaction.
const multiAdds = 10

// multiCase is addCase with transactions.
func multiCase(bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, round int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			if err := srv.supports(ctx, "MULTI", "EXEC"); err != nil {
				return sample{}, err
			}
			return measureAdds(ctx, srv, addLoad{conns: 50, pipeline: multiAdds, multi: true, round: round, warmup: b.warmup, length: b.length()})
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// cycleCase measures the whole life of jobs, on fresh servers every round.
func cycleCase(servers []string, bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		samples, err := b.takeTurns(ctx, servers, func(ctx context.Context, round int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			return measureCycle(ctx, srv, cycleLoad{
				producers: b.producers, workers: b.workers, inflight: b.inflight,
				round: round, warmup: b.warmup + cycleFill, length: b.length(),
			})
		})
		if err != nil {
			return nil, err
		}
		return newResult(servers, samples, bars), nil
	}
}

// latenessCase loads each server once and keeps it for all rounds: the waiting
// jobs are the point.
func latenessCase(rate, waiting int, bars []bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		running, err := b.startLoaded(ctx, names, waiting)
		if err != nil {
			return nil, err
		}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, round int, name string) (sample, error) {
			return measureLateness(ctx, running[name], latenessLoad{
				rate: rate, workers: b.consumers, round: round, warmup: b.warmup, length: b.length(),
			})
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// idleCase measures what waiting workers cost a server that has nothing due.
func idleCase(bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, round int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name)
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			if err := b.load(ctx, srv, 0, idleJobs); err != nil {
				return sample{}, err
			}
			if err := srv.settle(ctx); err != nil {
				return sample{}, err
			}
			return measureIdle(ctx, srv, b.idlers, b.warmup, b.length())
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}
