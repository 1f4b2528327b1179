package shardtest

import (
	"sync/atomic"
	"time"

	"dqd/tsc"
)

// Clock is virtual time whose wall clock can step.
type Clock struct {
	*tsc.Go
	wall atomic.Int64 // Unix ns at Mono 0
}

// NewClock returns a clock whose wall shows wall, in Unix ns.
func NewClock(wall int64) *Clock {
	c := &Clock{Go: tsc.NewGo()}
	c.wall.Store(wall)
	return c
}

// Wall implements tsc.Source.
func (c *Clock) Wall() int64 { return c.wall.Load() + c.Mono() }

// Step moves the wall alone.
func (c *Clock) Step(d time.Duration) { c.wall.Add(int64(d)) }
