package worker

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// task is a job whose handler runs. It is in runner.tasks until the handler has
// returned, or Run gives the job back without it; whoever takes it out settles the
// job, so that nothing is settled twice.
type task struct {
	*Job
	cancel context.CancelCauseFunc // of the handler's context
	end    *time.Timer             // fires when the lease has ended

	// Guarded by runner.mu.
	until    time.Time // when the lease ends, as far as is known
	extendAt time.Time // when to extend it; zero = not any more
	lost     bool
}

// hold enters a task. Its lease began when its job was received, at the latest.
func (r *runner) hold(t *task, received time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[t] = true
	t.until = received.Add(t.lease)
	t.extendAt = received.Add(t.lease / 2)
	t.end = time.AfterFunc(time.Until(t.until), func() { r.lose(t, true, "no extension got through before it ended") })
	if r.nextExtend.IsZero() || t.extendAt.Before(r.nextExtend) {
		wake(r.extend)
	}
}

// drop takes a task out; false = somebody else did.
func (r *runner) drop(t *task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.tasks[t] {
		return false
	}
	delete(r.tasks, t)
	t.end.Stop()
	return true
}

// lose tells a handler that its lease is lost, if it still runs; ended = because the
// time of the lease is over.
func (r *runner) lose(t *task, ended bool, why string) {
	r.mu.Lock()
	stale := !r.tasks[t] || t.lost
	if ended && time.Now().Before(t.until) {
		stale = true // it was extended while the timer's function waited for the lock
	}
	if !stale {
		t.lost, t.extendAt = true, time.Time{}
	}
	r.mu.Unlock()
	if stale {
		return
	}
	t.cancel(ErrLeaseLost)
	r.Metrics.leaseLost(t.Queue)
	r.Log.Warn("the lease of a job is lost", "why", why, "queue", t.Queue, "id", t.ID, "token", t.Token)
}

// keepLeases extends leases until Run ends.
func (r *runner) keepLeases() {
	trouble := trouble{log: r.Log, what: "extend leases"}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for _, batch := range r.dueForExtension(time.Now()) {
			trouble.note(r.extendBatch(batch))
		}
		r.mu.Lock()
		r.nextExtend = time.Time{}
		for t := range r.tasks {
			if !t.extendAt.IsZero() && (r.nextExtend.IsZero() || t.extendAt.Before(r.nextExtend)) {
				r.nextExtend = t.extendAt
			}
		}
		pause := time.Hour
		if !r.nextExtend.IsZero() {
			pause = time.Until(r.nextExtend)
		}
		r.mu.Unlock()
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-r.extend:
		case <-r.calls.Done():
			return
		}
	}
}

// maxBatch is how many leases are extended with one command.
const maxBatch = 1000

// dueForExtension returns the tasks whose lease is to be extended now, each batch
// of one queue and one length of leases. Those whose turn would come a little
// later, within a quarter of the lease, go along.
func (r *runner) dueForExtension(now time.Time) [][]*task {
	type kind struct {
		queue string
		lease time.Duration
	}
	groups := map[kind][]*task{}
	due := map[kind]bool{}
	r.mu.Lock()
	for t := range r.tasks {
		if t.extendAt.IsZero() || t.extendAt.After(now.Add(t.lease/4)) {
			continue
		}
		k := kind{t.Queue, t.lease}
		groups[k] = append(groups[k], t)
		due[k] = due[k] || !t.extendAt.After(now)
	}
	r.mu.Unlock()
	var batches [][]*task
	for k, tasks := range groups {
		if due[k] {
			batches = slices.AppendSeq(batches, slices.Chunk(tasks, maxBatch))
		}
	}
	// The shortest leases first: they have least time.
	slices.SortFunc(batches, func(a, b []*task) int { return cmp.Compare(a[0].lease, b[0].lease) })
	return batches
}

// Codes of the DQM… commands.
const (
	codeDone    = 1
	codeNoJob   = -2
	codeTooLong = -4
)

// extendBatch extends the leases of tasks of one queue by the length they have.
func (r *runner) extendBatch(tasks []*task) error {
	queue, lease := tasks[0].Queue, tasks[0].lease
	command := []any{"DQMEXTEND", queue, ms(lease), "JOBS", len(tasks)}
	for _, t := range tasks {
		command = append(command, t.ID, t.Token)
	}
	// From here on the new lease counts: the server gets it later.
	sent := time.Now()
	ctx, cancel := context.WithTimeout(r.calls, lease/2)
	codes, err := r.rdb.Do(ctx, command...).Int64Slice()
	cancel()
	if err == nil && len(codes) != len(tasks) {
		codes, err = nil, errCodes
	}
	if err != nil {
		r.Metrics.failed("extend")
		r.again(tasks)
		return err
	}
	for i, t := range tasks {
		switch codes[i] {
		case codeDone:
			r.Metrics.extended(queue)
			r.extended(t, sent)
		case codeTooLong:
			// Its lease runs on to its end, and cannot be made longer.
			r.mu.Lock()
			t.extendAt = time.Time{}
			r.mu.Unlock()
		default:
			r.lose(t, false, "the server refuses its token")
		}
	}
	return nil
}

// extended counts a lease anew.
func (r *runner) extended(t *task, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.tasks[t] || t.lost {
		return
	}
	t.until = sent.Add(t.lease)
	t.extendAt = sent.Add(t.lease / 2)
	t.end.Reset(time.Until(t.until))
}

// again lets leases be extended once more, some times until they have ended.
func (r *runner) again(tasks []*task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tasks {
		if !t.extendAt.IsZero() {
			t.extendAt = time.Now().Add(t.lease / 8)
		}
	}
}

// wake makes whoever waits for c look again.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
