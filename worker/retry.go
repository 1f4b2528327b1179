package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// standing is what an error says about the command that it answers.
type standing int

const (
	unknown  standing = iota // it may have happened; worth another try
	notDone                  // it has not happened; worth another try
	hopeless                 // it has not happened, and another try would not mend it
)

// standingOf reads an error of go-redis. What is no reply (a broken connection, a
// time-out) leaves open what happened.
func standingOf(err error) standing {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return unknown
	}
	text := reply.Error()
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "INDOUBT":
		return unknown
	case "LOADING", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "BUSY", "MISCONF", "OOM", "UNBLOCKED":
		return notDone
	}
	if strings.HasPrefix(text, "ERR max number of clients") {
		return notDone
	}
	return hopeless
}

// backoff is the pause between tries: 100 ms, twice as long each time, up to 5 s.
type backoff struct{ next time.Duration }

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// wait waits for the next pause; false = ctx has ended.
func (b *backoff) wait(ctx context.Context) bool {
	pause := max(b.next, firstPause)
	b.next = min(2*pause, longestPause)
	return !within(pause, ctx.Done()) && ctx.Err() == nil
}

// trouble logs the first of errors that follow each other, and their end.
type trouble struct {
	log  *slog.Logger
	what string
	on   bool
}

func (t *trouble) note(err error) {
	switch {
	case err != nil && !t.on:
		t.log.Warn("cannot "+t.what+", trying again", "err", err)
	case err == nil && t.on:
		t.log.Info("can " + t.what + " again")
	}
	t.on = err != nil
}
