package guard

import (
	"context"
	"time"
)

// Store keeps jobs in tables, in which what was deleted takes room until they are merged.
type Store interface {
	// Sizes returns the bytes of the tables, and about what of them is in use; 0 = not known.
	Sizes() (tables, used int64)
	// Reclaim merges the tables, about piece bytes at a time, until ctx ends.
	Reclaim(ctx context.Context, piece int64) error
}

const (
	// reclaimPause is the least time from the end of a merge to the next,
	// uselessPause that after one that gave back less than an eighth: a backup may
	// hold what was deleted, or what takes the room is no job.
	reclaimPause = time.Minute
	uselessPause = 15 * time.Minute
	// reclaimLeast is what must be to gain.
	reclaimLeast = 16 << 20
)

// reclaim lets the store merge its tables in the background if adds are refused for
// the disk while most of the tables is deleted: new writes, which would make a merge
// needed, do not come. With less left than a ballast has, none begins: it would take
// what the log needs.
func (g *Guard) reclaim(ctx context.Context) {
	s := g.Status()
	if g.opt.Store == nil || !s.Short[Disk] || s.DiskFree < s.DiskMinFree/4 || g.reclaiming.Load() || time.Now().Before(g.reclaimAfter) {
		return
	}
	before, used := g.opt.Store.Sizes()
	if before < 2*used+reclaimLeast {
		return
	}
	g.reclaiming.Store(true)
	g.done.Go(func() {
		defer g.reclaiming.Store(false)
		g.opt.Log.Info("tables are merged to make room on the disk", "tables", Bytes(before), "jobs", Bytes(used))
		err := g.opt.Store.Reclaim(ctx, s.DiskFree/2)
		after, _ := g.opt.Store.Sizes()
		pause := reclaimPause
		if err == nil && after > before-before/8 {
			pause = uselessPause
		}
		g.reclaimAfter = time.Now().Add(pause)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			g.opt.Log.Warn("tables could not be merged; it is tried again later", "in", pause, "error", err)
		default:
			g.opt.Log.Info("tables were merged", "tables", Bytes(after), "before", Bytes(before))
		}
	})
}
