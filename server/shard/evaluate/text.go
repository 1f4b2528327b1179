package evaluate

import (
	"strconv"
	"time"

	"dqd/persist/record"
)

// quoteMax is how much of a name or id an error text shows.
const quoteMax = 64

// quote shows a binary-safe name or id in an error text.
func quote(b []byte) string {
	if len(b) > quoteMax {
		return strconv.Quote(string(b[:quoteMax])) + "…"
	}
	return strconv.Quote(string(b))
}

// ms rounds wall nanoseconds up to milliseconds, as all replies do.
func ms(ns int64) int64 {
	const unit = int64(time.Millisecond)
	if ns <= 0 {
		return ns / unit
	}
	return (ns-1)/unit + 1
}

func stateName(s record.State) string {
	switch s {
	case record.Delayed:
		return "delayed"
	case record.Ready:
		return "ready"
	case record.Leased:
		return "leased"
	default:
		return "dead"
	}
}
