package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// addLoad is connections that add jobs due in an hour, each in a closed loop:
// send pipeline adds, read their replies, again.
type addLoad struct {
	conns    int
	pipeline int
	multi    bool // each pipeline is a transaction
	round    int
	warmup   time.Duration
	length   time.Duration
}

var errNotAdded = errors.New("an add with a new id was not accepted")

const farDelay = time.Hour

// measureAdds reports adds per second, and the time a pipeline takes.
func measureAdds(ctx context.Context, srv *server, load addLoad) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, load.warmup+load.length+roundTimeout)
	defer cancel()
	crew := newCrew(ctx)
	defer crew.stop()

	adders := make([]*adder, load.conns)
	hists := make([]*hdrhistogram.Histogram, load.conns)
	for i := range adders {
		c, err := dial(crew.ctx, srv.addr)
		if err != nil {
			return sample{}, err
		}
		hists[i] = newHist()
		adders[i] = &adder{c: c, d: srv.dialect(), p: new(payloads), hist: hists[i],
			seq: firstSeq(load.round) | uint64(i+1)<<32}
	}
	w := newWindow(load.warmup, load.length)
	for _, a := range adders {
		crew.start(func(context.Context) error { return a.run(load.pipeline, load.multi, w) })
	}
	server, client, err := w.cpu(crew.ctx, srv.pid())
	if werr := crew.wait(); werr != nil {
		return sample{}, werr
	}
	if err != nil {
		return sample{}, err
	}
	var adds int64
	for _, a := range adders {
		adds += a.adds
	}
	s := sample{PerSecond: float64(adds) / w.seconds()}
	s.percentiles(merged(hists))
	s.perMillion(server, client, adds)
	return s, nil
}

// An adder is one connection that adds.
type adder struct {
	c    *conn
	d    dialect
	p    *payloads
	seq  uint64
	adds int64 // acknowledged within the window
	hist *hdrhistogram.Histogram
}

const (
	multiHead = "*1\r\n$5\r\nMULTI\r\n"
	multiTail = "*1\r\n$4\r\nEXEC\r\n"
)

func (a *adder) run(pipeline int, multi bool, w window) error {
	for start := time.Now(); ; {
		dueMs := start.Add(farDelay).UnixMilli()
		b := a.c.out[:0]
		if multi {
			b = append(b, multiHead...)
		}
		for range pipeline {
			b = a.d.addFar(b, a.p, a.seq, dueMs)
			a.seq++
		}
		if multi {
			b = append(b, multiTail...)
		}
		a.c.out = b
		if err := a.c.send(); err != nil {
			return err
		}
		if multi {
			if err := queued(a.c, pipeline); err != nil {
				return err
			}
		}
		for range pipeline {
			ok, err := a.d.added(a.c)
			if err != nil {
				return err
			}
			if !ok {
				return errNotAdded
			}
		}
		end := time.Now()
		if w.holds(end) {
			a.adds += int64(pipeline)
			record(a.hist, end.Sub(start))
		} else if !end.Before(w.to) {
			return nil
		}
		start = end
	}
}

// queued reads what stands before the replies of a transaction of n commands.
func queued(c *conn, n int) error {
	for range 1 + n { // OK, QUEUED …
		if err := c.skip(); err != nil {
			return err
		}
	}
	got, err := c.array()
	if err == nil && got != int64(n) {
		err = fmt.Errorf("EXEC of %d commands answered %d replies", n, got)
	}
	return err
}
