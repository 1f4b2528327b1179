package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	extendBatch  = 1000 // leases per command
	extendSingle = 5    // batches of which every lease is renewed by a command of its own
)

var errNotExtended = errors.New("the lease of a running job was not extended")

// extendParts: what a batch takes. The bar is what it takes in the usual design
// on Redis, 12 ms; one by one it takes 210 ms there.
var extendParts = []part{
	{"batch", []bar{below(figP50, 12), below(figP99, 12).asAim(), beside(figP50, redisAlways), beside(figP99, redisAlways)}},
	{"one by one", []bar{beside(figP50, redisAlways), beside(figP99, redisAlways)}},
}

// extendCase loads jobs that are due, takes all of them, and renews their leases
// again and again.
func extendCase(ctx context.Context, b *bench) (*result, error) {
	names := []string{dqdServer, redisAlways}
	running, leases := map[string]*server{}, map[string][]*inbox{}
	for _, name := range names {
		srv, err := b.launcher.start(ctx, name)
		if err != nil {
			return nil, err
		}
		running[name] = srv
		if leases[name], err = b.leaseAll(ctx, srv); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.inParts(ctx, names, extendParts, func(ctx context.Context, _ int, name string) ([]sample, error) {
		return measureExtends(ctx, running[name], leases[name])
	})
}

// leaseAll loads due jobs and pops them, in batches of extendBatch.
func (b *bench) leaseAll(ctx context.Context, srv *server) ([]*inbox, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection
	c, err := dial(ctx, srv.addr)
	if err != nil {
		return nil, err
	}
	if !srv.isRedis() {
		if _, err := c.do("DQCONFIG", "SET", queue, "lease", "1h"); err != nil {
			return nil, err
		}
	}
	past := time.Now().Add(-time.Second).UnixMilli()
	if err := b.loadDue(ctx, srv, 0, b.loaded, func(int) int64 { return past }); err != nil {
		return nil, err
	}
	d := srv.dialect()
	if err := d.prepare(c); err != nil {
		return nil, err
	}
	var all []*inbox
	for left := b.loaded; left > 0; {
		c.out = d.pop(c.out[:0], time.Now().UnixMilli(), extendBatch)
		if err := c.send(); err != nil {
			return nil, err
		}
		in := new(inbox)
		if err := d.popped(c, in); err != nil {
			return nil, err
		}
		if len(in.jobs) == 0 {
			return nil, fmt.Errorf("%d of %d due jobs were not delivered", left, b.loaded)
		}
		left -= len(in.jobs)
		all = append(all, in)
	}
	return all, srv.settle(ctx)
}

// measureExtends renews every lease once, a batch per command, then those of a
// few batches one by one; one connection, one command at a time.
func measureExtends(ctx context.Context, srv *server, leases []*inbox) ([]sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(leases))*time.Second+roundTimeout)
	defer cancel()
	c, err := dial(ctx, srv.addr)
	if err != nil {
		return nil, err
	}
	d := srv.dialect()
	extend := func(in *inbox, from, to int) error {
		c.out = d.extend(c.out[:0], in, from, to, time.Now().UnixMilli())
		if err := c.send(); err != nil {
			return err
		}
		n, err := d.extended(c, to-from)
		if err == nil && n != to-from {
			err = errNotExtended
		}
		return err
	}
	batch, single := newHist(), newHist()
	begin := time.Now()
	for _, in := range leases {
		start := time.Now()
		if err := extend(in, 0, len(in.jobs)); err != nil {
			return nil, err
		}
		record(batch, time.Since(start))
	}
	samples := []sample{{PerSecond: float64(len(leases)*extendBatch) / time.Since(begin).Seconds()}, {}}
	for _, in := range leases[:min(extendSingle, len(leases))] {
		start := time.Now()
		for i := range in.jobs {
			if err := extend(in, i, i+1); err != nil {
				return nil, err
			}
		}
		record(single, time.Since(start))
	}
	samples[0].percentiles(batch)
	samples[1].percentiles(single)
	return samples, nil
}
