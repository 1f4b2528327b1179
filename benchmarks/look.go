package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const lookScan = 1000 // COUNT of the walk

// lookParts are the reads of the look case, one at a time on one connection.
var lookParts = []part{
	{"first 10", []bar{beside(figP50, redisAlways), beside(figP99, redisAlways)}},
	{"10 from the middle", []bar{beside(figP50, redisAlways), beside(figP99, redisAlways)}},
	{"count", []bar{beside(figP50, redisAlways), beside(figP99, redisAlways)}},
	{"scan", []bar{beside(figRate, redisAlways), beside(figP50, redisAlways), beside(figP99, redisAlways)}},
}

// lookCase measures reads of a queue whose jobs wait, on servers loaded once.
func lookCase(ctx context.Context, b *bench) (*result, error) {
	names := []string{dqdServer, redisAlways}
	running, err := b.startLoaded(ctx, names, b.loaded)
	if err != nil {
		return nil, err
	}
	return b.inParts(ctx, names, lookParts, func(ctx context.Context, round int, name string) ([]sample, error) {
		return measureLooks(ctx, running[name], round, b.loaded, b.length()/time.Duration(len(lookParts)))
	})
}

// measureLooks reports how long each kind of read takes, each repeated for length.
func measureLooks(ctx context.Context, srv *server, round, jobs int, length time.Duration) ([]sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(lookParts))*length+5*roundTimeout)
	defer cancel()
	c, err := dial(ctx, srv.addr)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(uint64(round), 0))
	middle := func() int64 { // a due in the second or third quarter of them
		quarter := int64(loadDueMax-loadDueMin) / 4
		return srv.started.Add(loadDueMin + time.Duration(quarter+random.Int64N(2*quarter))).UnixMilli()
	}
	quarter := (loadDueMax - loadDueMin).Milliseconds() / 4
	lowest := srv.started.Add(loadDueMin).UnixMilli() + quarter
	var samples []sample
	for _, ask := range []func() []string{
		func() []string {
			return srv.words("DQRANGE bench -inf +inf LIMIT 0 10", "ZRANGEBYSCORE bench -inf +inf WITHSCORES LIMIT 0 10")
		},
		func() []string {
			from := middle()
			return srv.words(fmt.Sprintf("DQRANGE bench %d +inf LIMIT 0 10", from), fmt.Sprintf("ZRANGEBYSCORE bench %d +inf WITHSCORES LIMIT 0 10", from))
		},
		func() []string { // half of all, with ends that differ
			from := lowest + random.Int64N(1000)
			return srv.words(fmt.Sprintf("DQCOUNT bench %d %d", from, from+2*quarter), fmt.Sprintf("ZCOUNT bench %d %d", from, from+2*quarter))
		},
	} {
		h := newHist()
		for end := time.Now().Add(length); h.TotalCount() == 0 || time.Now().Before(end); {
			words, start := ask(), time.Now()
			if _, err := c.do(words...); err != nil {
				return nil, fmt.Errorf("%q: %w", words, err)
			}
			record(h, time.Since(start))
		}
		var s sample
		s.percentiles(h)
		samples = append(samples, s)
	}
	walk, err := measureWalk(c, srv, jobs)
	return append(samples, walk), err
}

// measureWalk scans the whole queue once: names per second, and the time of a call.
func measureWalk(c *conn, srv *server, jobs int) (s sample, err error) {
	h := newHist()
	seen, start := int64(0), time.Now()
	for cursor := ""; cursor != "0"; {
		if cursor == "" {
			cursor = "0"
		}
		n := int64(0)
		if cursor, n, err = scanOnce(c, srv, cursor, h); err != nil {
			return s, err
		}
		seen += n
	}
	if seen < int64(jobs) {
		return s, fmt.Errorf("a walk saw %d of %d jobs", seen, jobs)
	}
	s.PerSecond = float64(seen) / time.Since(start).Seconds()
	s.percentiles(h)
	return s, nil
}

func scanOnce(c *conn, srv *server, cursor string, h *hdrhistogram.Histogram) (next string, jobs int64, err error) {
	words := srv.words("DQSCAN bench "+cursor, "ZSCAN bench "+cursor)
	start := time.Now()
	c.out = appendCommand(c.out[:0], append(words, "COUNT", fmt.Sprint(lookScan))...)
	if err := c.send(); err != nil {
		return "", 0, err
	}
	if _, err := c.array(); err != nil { // of two
		return "", 0, err
	}
	b, err := c.bulk()
	if err != nil {
		return "", 0, err
	}
	next = string(b)
	jobs, err = c.array()
	for range jobs {
		if err := c.skip(); err != nil {
			return "", 0, err
		}
	}
	record(h, time.Since(start))
	if srv.isRedis() { // member, score, …
		jobs /= 2
	}
	return next, jobs, err
}
