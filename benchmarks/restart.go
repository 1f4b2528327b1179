package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// restartTimeout bounds one start with the loaded jobs.
const restartTimeout = 5 * time.Minute

// restartCase loads each server once, and in every round ends it by kill -9 and
// starts it again on what it left.
func restartCase(bars ...bar) func(context.Context, *bench) (*result, error) {
	return func(ctx context.Context, b *bench) (*result, error) {
		names := []string{dqdServer, redisAlways}
		running, err := b.startLoaded(ctx, names, b.loaded)
		if err != nil {
			return nil, err
		}
		samples, err := b.takeTurns(ctx, names, func(ctx context.Context, _ int, name string) (sample, error) {
			took, err := running[name].restart(ctx, b.loaded)
			if err != nil {
				return sample{}, err
			}
			return sample{StartMs: took.Seconds() * 1000}, running[name].settle(ctx)
		})
		if err != nil {
			return nil, err
		}
		return newResult(names, samples, bars), nil
	}
}

// restart kills the server and returns how long the next process took from its
// start to its first answers: PONG, and that it holds so many jobs.
func (s *server) restart(ctx context.Context, jobs int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	s.kill()
	start := time.Now()
	if err := s.launch(); err != nil {
		return 0, err
	}
	for {
		n, err := s.length(ctx)
		took := time.Since(start)
		switch {
		case err == nil && n != jobs:
			return 0, fmt.Errorf("holds %d jobs after the restart, %d before", n, jobs)
		case err == nil:
			return took, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("does not serve after the restart: %w", err)
		case <-s.exited:
			return 0, errors.New("exited after the restart" + s.logTail())
		case <-time.After(time.Millisecond):
		}
	}
}

// length is how many jobs the server holds, once PING is answered with PONG.
func (s *server) length(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection
	c, err := dial(ctx, s.addr)
	if err != nil {
		return 0, err
	}
	if reply, err := c.do("PING"); err != nil || reply != "PONG" {
		return 0, fmt.Errorf("PING answered %q: %w", reply, err)
	}
	reply, err := c.do(s.words("DQLEN "+queue, "ZCARD "+queue)...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(reply)
}
