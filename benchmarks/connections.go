package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// connectionsCase measures what connections cost that do nothing, on fresh
// servers every round.
func connectionsCase(bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		const spare = 200 // files and clients besides the idle ones
		if err := allowFiles(uint64(b.connections + spare)); err != nil {
			return nil, err
		}
		names := []string{dqdServer, redisAlways}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, _ int, name string) (sample, error) {
			srv, err := b.launcher.start(ctx, name, "--maxclients", strconv.Itoa(b.connections+spare/2))
			if err != nil {
				return sample{}, err
			}
			defer srv.stop()
			if err := srv.settle(ctx); err != nil {
				return sample{}, err
			}
			return measureConnections(ctx, srv, b.connections, b.warmup, b.length())
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// measureConnections opens connections, each of which sends one PING and no more,
// and reports the server's memory and its CPU.
func measureConnections(ctx context.Context, srv *server, conns int, warmup, length time.Duration) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, warmup+length+roundTimeout)
	defer cancel() // closes them
	before, _, err := residentMiB(srv.pid())
	if err != nil {
		return s, err
	}
	for i := range conns {
		c, err := dial(ctx, srv.addr)
		if err == nil {
			_, err = c.do("PING")
			c.r, c.out = nil, nil // its buffers
		}
		if err != nil {
			return s, fmt.Errorf("connection %d: %w", i+1, err)
		}
	}
	w := newWindow(warmup, length)
	cpu, _, err := w.cpu(ctx, srv.pid())
	if err != nil {
		return s, err
	}
	s.BusyCPU = cpu / w.seconds() * 100
	s.RSS, s.HighRSS, err = residentMiB(srv.pid())
	s.RSSPerConn = (s.RSS - before) * (1 << 20) / float64(conns)
	return s, err
}
