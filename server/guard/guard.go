// Package guard refuses adds before disk or memory run out, so that what is needed
// to finish the accepted jobs, acks, cancels and pops, goes on. It looks once a
// second, more often when the disk is nearly full; lets the store give back the room
// of what was deleted; and recovers by itself when there is room again.
package guard

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dqd/commands"
)

// Options configure a guard. The zero value watches nothing.
type Options struct {
	// Disk returns the free and all bytes of the disk with the data; nil = no guard.
	Disk func() (free, total int64, err error)
	// MinFree is what must stay free.
	MinFree MinFree
	// Ballast is kept while there is room for it; nil = none.
	Ballast Ballast
	// Store is what has its tables on the disk; nil = none.
	Store Store
	// Memory returns the bytes of the process that are in memory; nil = no guard.
	Memory func() int64
	// MaxMemory is the most that Memory may be.
	MaxMemory int64
	// Release gives unused memory back to the system; nil = nothing can be.
	Release func()
	// Log takes the changes; nil = discard.
	Log *slog.Logger
}

// Ballast is a file that holds space. persist.Ballast is one.
type Ballast interface {
	Size() int64
	Make(size int64) error
}

const (
	// every is the time between two looks, while nothing is near its bound.
	every = time.Second
	// soonest is the least time between two looks.
	soonest = 20 * time.Millisecond
	// fastest is what is written to a disk within every, at most.
	fastest = 1 << 30
	// ballastMost bounds the ballast: enough for the tables of a few memory tables.
	ballastMost = 256 << 20
	// ballastPause is how many looks pass after a failure.
	ballastPause = 60
)

// Guard decides whether adds are accepted. The zero value accepts them. Its methods
// are safe for concurrent use.
type Guard struct {
	opt    Options
	look   chan struct{} // one place: look now
	cancel context.CancelFunc
	done   sync.WaitGroup

	refusal atomic.Pointer[refusal] // nil = adds are accepted
	status  atomic.Pointer[Status]
	refused [reasons]atomic.Int64

	// Of the goroutine.
	failing map[string]bool // what could not be done, and was logged
	made    bool            // the ballast, by this process
	pause   int             // looks until it is tried again

	reclaiming   atomic.Bool // a goroutine does, and has reclaimAfter meanwhile
	reclaimAfter time.Time

	memoryAt   time.Time // of the last look, which may collect garbage
	memoryText commands.Error
}

// Reason is what runs short.
type Reason int

// The reasons.
const (
	Disk Reason = iota
	Memory
	reasons
)

// String returns the name of the reason in metrics.
func (r Reason) String() string { return [...]string{"disk", "memory"}[r] }

type refusal struct {
	reason Reason
	text   commands.Error
}

// Status is what the last look saw. Sizes are bytes; 0 = not known.
type Status struct {
	DiskFree, DiskTotal, DiskMinFree, Ballast int64
	Memory                                    int64
	// Short says what runs short.
	Short [reasons]bool
}

// New returns a guard that accepts adds until Start.
func New(o Options) *Guard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{opt: o, look: make(chan struct{}, 1), failing: map[string]bool{}}
}

// Start takes the first look and begins to watch, until Stop.
func (g *Guard) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.check()
	g.done.Go(func() { g.watch(ctx) })
}

// Stop ends the watching. It may be called without Start.
func (g *Guard) Stop() {
	if g.cancel != nil {
		g.cancel()
		g.done.Wait()
	}
}

func (g *Guard) watch(ctx context.Context) {
	timer := time.NewTimer(g.pace())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.look:
		case <-timer.C:
		}
		g.check()
		g.reclaim(ctx)
		timer.Reset(g.pace())
	}
}

// pace is the time to the next look: sooner than the fastest disk can write what
// is left above the demand.
func (g *Guard) pace() time.Duration {
	s := g.Status()
	if g.opt.Disk == nil || s.Short[Disk] || s.DiskTotal == 0 {
		return every
	}
	room := time.Duration(min(s.DiskFree-s.DiskMinFree, fastest))
	return max(every*room/fastest, soonest)
}

// BallastGiven tells the guard that the disk was found full.
func (g *Guard) BallastGiven() {
	select {
	case g.look <- struct{}{}:
	default:
	}
}

// Refuse returns why an add is refused, and counts it; "" = it is accepted. It
// costs one atomic load.
func (g *Guard) Refuse() commands.Error {
	r := g.refusal.Load()
	if r == nil {
		return ""
	}
	g.refused[r.reason].Add(1)
	return r.text
}

// Refused returns how many adds were refused.
func (g *Guard) Refused(r Reason) int64 { return g.refused[r].Load() }

// MinFree returns what must stay free of the disk.
func (g *Guard) MinFree() MinFree { return g.opt.MinFree }

// Status returns what the last look saw.
func (g *Guard) Status() Status {
	if s := g.status.Load(); s != nil {
		return *s
	}
	return Status{}
}

// check looks at everything and decides.
func (g *Guard) check() {
	was := g.Status()
	now := was
	var r *refusal
	if at := time.Now(); at.Sub(g.memoryAt) >= every {
		g.memoryAt = at
		g.memoryText = g.checkMemory(&now)
	}
	if g.memoryText != "" {
		r = &refusal{Memory, g.memoryText}
	}
	if text := g.checkDisk(&now); text != "" {
		r = &refusal{Disk, text}
	}
	g.status.Store(&now)
	g.refusal.Store(r)
	for reason := range reasons {
		switch {
		case now.Short[reason] && !was.Short[reason]:
			g.opt.Log.Error("adds are refused; acks, cancels and pops go on", append(now.facts(reason, &g.opt), "reason", reason)...)
		case !now.Short[reason] && was.Short[reason]:
			g.opt.Log.Info("adds are accepted again", append(now.facts(reason, &g.opt), "was", reason)...)
		}
	}
}

func (s *Status) facts(r Reason, o *Options) []any {
	if r == Memory {
		return []any{"memory", Bytes(s.Memory), "maxmemory", Bytes(o.MaxMemory)}
	}
	return []any{"free", Bytes(s.DiskFree), "of", Bytes(s.DiskTotal), "min-disk-free", Bytes(s.DiskMinFree), "ballast", Bytes(s.Ballast)}
}

// checkDisk refuses from MinFree on, until an eighth more is free, and keeps the
// ballast as long as it does not cost the adds.
func (g *Guard) checkDisk(s *Status) commands.Error {
	if g.opt.Disk == nil || g.opt.MinFree.Off() {
		return ""
	}
	free, total, err := g.opt.Disk()
	if !g.worked("the free space of the disk cannot be read; what was decided last stays", err) {
		if free, total = s.DiskFree, s.DiskTotal; total == 0 {
			return ""
		}
	}
	least := g.opt.MinFree.Of(total)
	resume := least + least/8
	s.DiskFree, s.DiskTotal, s.DiskMinFree = free, total, least
	s.Short[Disk] = free < least || s.Short[Disk] && free < resume
	if g.opt.Ballast != nil {
		g.keepBallast(min(least/4, ballastMost), free-resume)
		s.Ballast = g.opt.Ballast.Size()
	}
	if !s.Short[Disk] {
		return ""
	}
	return commands.Error(fmt.Sprintf("MISCONF adds are refused, the disk is nearly full: %s of %s are free, and %s must be (min-disk-free). Acks, cancels and pops go on. Make room on the disk of the data; adds are then accepted again.",
		Bytes(free), Bytes(total), Bytes(least)))
}

// keepBallast makes the ballast if it is not there, or may be without its space, as
// in a folder that was copied, and if there is room.
func (g *Guard) keepBallast(size, room int64) {
	b := g.opt.Ballast
	if g.pause > 0 {
		g.pause--
		return
	}
	if size == 0 || g.made && b.Size() == size || room+b.Size() < size {
		return
	}
	g.made = g.worked("the ballast file cannot be made; without it a full disk ends the process at once", b.Make(size))
	if g.made {
		g.opt.Log.Info("ballast", "size", Bytes(size))
	} else {
		g.pause = ballastPause
	}
}

// checkMemory refuses above MaxMemory, until a sixteenth of it is free.
func (g *Guard) checkMemory(s *Status) commands.Error {
	most := g.opt.MaxMemory
	if g.opt.Memory == nil || most == 0 {
		return ""
	}
	if s.Short[Memory] {
		most -= most / 16
	}
	used := g.opt.Memory()
	if used > most && g.opt.Release != nil {
		g.opt.Release() // what is not in use is no reason
		used = g.opt.Memory()
	}
	s.Memory = used
	if s.Short[Memory] = used > most; !s.Short[Memory] {
		return ""
	}
	return commands.Error(fmt.Sprintf("OOM command not allowed when used memory > 'maxmemory': %s are used, %s are allowed. Acks, cancels and pops go on.",
		Bytes(used), Bytes(g.opt.MaxMemory)))
}

// worked logs an error once, until it is over.
func (g *Guard) worked(what string, err error) bool {
	if err != nil && !g.failing[what] {
		g.opt.Log.Warn(what, "error", err)
	}
	g.failing[what] = err != nil
	return err == nil
}
