package shard

import (
	"slices"
	"sync"

	"dqd/commands"
	"dqd/server/shard/evaluate"
)

// windowsMax is how many windows are kept for walks by DQSCAN; each has at most
// Limits.WindowBytes, or one job.
const windowsMax = 4

// scanWindows keeps the windows of walks between their calls; see evaluate.ScanWindow.
type scanWindows struct {
	mu      sync.Mutex
	kept    []keptWindow // the latest used last
	reading []*scanPart  // calls at work
}

type keptWindow struct {
	queue  string
	window *evaluate.ScanWindow
}

// scanPart is a call at work, with the windows that it may go on in.
type scanPart struct {
	queue   string
	windows []*evaluate.ScanWindow
	old     bool // a walk over the queue began since: what it reads is not for that walk
}

// take begins a call. Calls are taken in the order of their snapshots. A walk that
// begins drops the windows of its queue: they may lack jobs that it must show.
func (w *scanWindows) take(r *commands.Scan) *scanPart {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &scanPart{queue: string(r.Queue)}
	if r.Cursor == 0 {
		w.kept = slices.DeleteFunc(w.kept, func(k keptWindow) bool { return k.queue == p.queue })
		for _, other := range w.reading {
			other.old = other.old || other.queue == p.queue
		}
	}
	for _, k := range w.kept {
		if k.queue == p.queue {
			p.windows = append(p.windows, k.window)
		}
	}
	w.reading = append(w.reading, p)
	return p
}

// give ends a call and keeps the window that it used, if any.
func (w *scanWindows) give(p *scanPart, used *evaluate.ScanWindow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = slices.DeleteFunc(w.reading, func(other *scanPart) bool { return other == p })
	if used == nil || p.old {
		return
	}
	w.kept = slices.DeleteFunc(w.kept, func(k keptWindow) bool { return k.window == used })
	w.kept = append(w.kept, keptWindow{p.queue, used})
	w.kept = w.kept[max(0, len(w.kept)-windowsMax):]
}
