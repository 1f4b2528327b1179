package main

import (
	"context"
	"fmt"
)

// emptyServer is a dqd without waiting jobs, the peer of the waiting case.
const emptyServer = "dqd-empty"

const (
	waitingRate  = 1000 // deliveries per second
	waitingConns = 50   // connections that add, unpipelined
)

// waitingCase loads one dqd with many jobs and holds it beside an empty one:
// lateness, add rate, memory, disk. The tenth part of the jobs is loaded first, so that
// memory per job can be told from what any dqd needs. The disk is looked at last, when
// the server has ended: while it runs a part of the jobs is in memory and in the log only.
func waitingCase(ctx context.Context, b *bench) (*result, error) {
	full, err := b.launcher.start(ctx, dqdServer)
	if err != nil {
		return nil, err
	}
	defer full.stop()
	part := b.jobs / 10
	var resident [2]float64
	for i, upTo := range []int{part, b.jobs} {
		if err := b.load(ctx, full, i*part, upTo); err != nil {
			return nil, err
		}
		now, high, err := residentMiB(full.pid())
		if err != nil {
			return nil, err
		}
		b.logf("RSS %.0f MiB with %s jobs (highest so far %.0f MiB)", now, thousands(float64(upTo)), high)
		resident[i] = now
	}
	growth := (resident[1] - resident[0]) * (1 << 20) / float64(b.jobs-part)

	names := []string{dqdServer, emptyServer}
	samples, err := b.takeTurns(ctx, names, func(ctx context.Context, round int, name string) (sample, error) {
		srv := full
		if name == emptyServer {
			fresh, err := b.launcher.start(ctx, dqdServer)
			if err != nil {
				return sample{}, err
			}
			defer fresh.stop()
			srv = fresh
		}
		return b.measureWaiting(ctx, srv, round)
	})
	if err != nil {
		return nil, err
	}
	disk, err := full.diskPerJob(ctx)
	if err != nil {
		return nil, err
	}
	b.logf("%.0f B/job on disk, the server having ended", disk)
	most := resident[1] // the bar is on the highest, not on the median
	for _, s := range samples {
		if s.Server == dqdServer {
			most = max(most, s.RSS)
		}
	}
	for i := range samples {
		if s := &samples[i]; s.Server == dqdServer {
			s.RSS, s.RSSPerJob, s.DiskPerJob = most, growth, disk
		}
	}
	return newResult(names, samples, []bar{
		atMost(figP50, emptyServer, 1.3), atMost(figP99, emptyServer, 1.3), atLeast(figAddRate, emptyServer, 1/1.3),
		below(figRSS, 512), below(figGrowth, 16), below(figDisk, storeBar), noneOf(figFaults),
	}), nil
}

// measureWaiting is one round on one server: lateness, then adds, then memory.
func (b *bench) measureWaiting(ctx context.Context, srv *server, round int) (sample, error) {
	s, err := measureLateness(ctx, srv, latenessLoad{
		rate: waitingRate, workers: b.consumers, round: round, warmup: b.warmup, length: b.length(),
	})
	if err != nil {
		return s, fmt.Errorf("lateness: %w", err)
	}
	adds, err := measureAdds(ctx, srv, addLoad{
		conns: waitingConns, pipeline: 1, round: round, warmup: b.warmup, length: b.length(),
	})
	if err != nil {
		return s, fmt.Errorf("adds: %w", err)
	}
	s.AddRate = adds.PerSecond
	if err := srv.settle(ctx); err != nil {
		return s, err
	}
	s.RSS, s.HighRSS, err = residentMiB(srv.pid())
	return s, err
}
