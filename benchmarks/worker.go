package main

import (
	"context"
	"time"
)

// A worker is one connection that pops and acks, one batch after the other.
type worker struct {
	c     *conn
	d     dialect
	in    inbox
	batch int           // jobs per pop, at most
	many  bool          // ack with a code per job
	poll  time.Duration // after finding nothing due, on a server that cannot block
}

func newWorker(ctx context.Context, srv *server, batch int, many bool) (*worker, error) {
	c, err := dial(ctx, srv.addr)
	if err != nil {
		return nil, err
	}
	w := &worker{c: c, d: srv.dialect(), batch: batch, many: many, poll: srv.launcher.options.poll}
	return w, w.d.prepare(c)
}

// run works until its connection is closed. taken is called with what was
// delivered and when it had arrived, settled with the answer to the ack.
func (w *worker) run(taken func(time.Time, []delivery), settled func(at time.Time, jobs, acked int)) error {
	for {
		w.c.out = w.d.pop(w.c.out[:0], time.Now().UnixMilli(), w.batch)
		if err := w.c.send(); err != nil {
			return err
		}
		if err := w.d.popped(w.c, &w.in); err != nil {
			return err
		}
		received := time.Now()
		if len(w.in.jobs) == 0 {
			if w.d.polls() {
				time.Sleep(w.poll)
			}
			continue
		}
		taken(received, w.in.jobs)

		w.c.out = w.d.ack(w.c.out[:0], &w.in, w.many)
		if err := w.c.send(); err != nil {
			return err
		}
		acked, err := w.d.acked(w.c, &w.in, w.many)
		if err != nil {
			return err
		}
		settled(time.Now(), len(w.in.jobs), acked)
	}
}
