package model

import (
	"math"
	"strconv"
	"strings"
	"time"
)

var unitNs = map[string]int64{"ns": 1, "us": 1000, "ms": ms, "s": second, "m": 60 * second, "h": hour, "d": day}

// parseDur reads `<dur>`: bare milliseconds, or one or more numbers with units.
func parseDur(s string) (ns int64, ok bool) {
	if s == "" {
		return 0, false
	}
	rest, parts := strings.ToLower(s), 0
	for rest != "" {
		var n int64
		var unit string
		if n, unit, rest, ok = numberAndUnit(rest); !ok {
			return 0, false
		}
		factor := unitNs[unit]
		if unit == "" && parts == 0 && rest == "" {
			factor = ms
		}
		if factor == 0 || n > (math.MaxInt64-ns)/factor {
			return 0, false
		}
		ns += n * factor
		parts++
	}
	return ns, ns <= maxAhead
}

// parseTime reads `<time>` as nanoseconds since 1970.
func parseTime(s string) (ns int64, ok bool) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UnixNano(), t.UnixNano() >= 0
	}
	if s == "" {
		return 0, false
	}
	n, unit, rest, ok := numberAndUnit(strings.ToLower(s))
	if !ok || rest != "" {
		return 0, false
	}
	factor := unitNs[unit]
	switch unit {
	case "":
		if n < 1e12 {
			return 0, false
		}
		factor = ms
	case "s", "ms", "us", "ns":
	default:
		return 0, false
	}
	if n > math.MaxInt64/factor {
		return 0, false
	}
	return n * factor, true
}

// numberAndUnit takes digits and the letters behind them off the front of s.
func numberAndUnit(s string) (n int64, unit, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil {
		return 0, "", "", false
	}
	k := i
	for k < len(s) && s[k] >= 'a' && s[k] <= 'z' {
		k++
	}
	if k == i && k < len(s) {
		return 0, "", "", false
	}
	return n, s[i:k], s[k:], true
}

// parseInt reads a decimal between lo and hi.
func parseInt(s string, lo, hi int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= lo && n <= hi
}

// parseBackoff reads `fixed:5s`, `exp:1s:1h[:factor][:jitter%]`, `list:10s,1m`.
func parseBackoff(s string) (b Backoff, ok bool) {
	parts := strings.Split(strings.ToLower(s), ":")
	b.Kind = parts[0]
	switch {
	case b.Kind == "fixed" && len(parts) == 2:
		b.First, ok = parseDur(parts[1])
		return b, ok
	case b.Kind == "list" && len(parts) == 2:
		for _, item := range strings.Split(parts[1], ",") {
			d, ok := parseDur(item)
			if !ok {
				return b, false
			}
			b.List = append(b.List, d)
		}
		return b, true
	case b.Kind == "exp" && len(parts) >= 3 && len(parts) <= 5:
		var ok1, ok2 bool
		b.First, ok1 = parseDur(parts[1])
		b.Max, ok2 = parseDur(parts[2])
		b.Factor, ok = 2, true
		rest := parts[3:]
		if n := len(rest); n > 0 && strings.HasSuffix(rest[n-1], "%") {
			ok, rest = rest[n-1] == "0%", rest[:n-1]
		}
		if len(rest) == 1 {
			b.Factor, ok = parseInt(rest[0], 1, 1000)
		}
		return b, ok && ok1 && ok2 && len(rest) <= 1
	}
	return b, false
}

// words walks over the arguments of one command and remembers which options it has seen.
type words struct {
	args []string
	seen map[string]bool
}

func (w *words) empty() bool { return len(w.args) == 0 }

func (w *words) next() (string, bool) {
	if w.empty() {
		return "", false
	}
	s := w.args[0]
	w.args = w.args[1:]
	return s, true
}

// option takes the next word as an option's name. It is refused when its slot was taken before: options of one slot exclude each other.
func (w *words) option(slots map[string]string) (name string, ok bool) {
	s, _ := w.next()
	name = strings.ToUpper(s)
	slot, known := slots[name]
	if !known {
		return name, false
	}
	if slot == "" {
		return name, true
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	ok = !w.seen[slot]
	w.seen[slot] = true
	return name, ok
}

func ceilDiv(ns, unit int64) int64 {
	q := ns / unit
	if ns%unit > 0 {
		q++
	}
	return q
}

func validName(s string, limit int) bool { return len(s) >= 1 && len(s) <= limit }
