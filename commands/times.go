package commands

import (
	"bytes"
	"math"
	"strings"
	"time"
)

// Times and durations are int64 nanoseconds inside. What cannot be read for
// certain is refused: a wrong time must never turn into "at once".

const (
	nsPerUs = int64(time.Microsecond)
	nsPerMs = int64(time.Millisecond)
	nsPerS  = int64(time.Second)

	// minBareMs is the smallest bare integer taken as Unix milliseconds (2001).
	// Below it somebody most likely meant seconds, which read as milliseconds
	// would be a day in 1970: due at once.
	minBareMs = 1_000_000_000_000
)

// MsUp turns nanoseconds ≥ 0 into milliseconds, rounded up: nobody who waits
// until a replied time is early.
func MsUp(ns int64) int64 {
	ms := ns / nsPerMs
	if ns%nsPerMs > 0 {
		ms++
	}
	return ms
}

// scanNumber reads the digits that s begins with. It returns n = -1 when they
// exceed int64, and the rest of s.
func scanNumber(s []byte) (n int64, rest []byte) {
	i := 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		digit := int64(s[i] - '0')
		if n < 0 || n > (math.MaxInt64-digit)/10 {
			n = -1
			continue
		}
		n = n*10 + digit
	}
	return n, s[i:]
}

// scanUnit reads the letters that s begins with and returns what they stand
// for in nanoseconds, 0 when they are no unit, and the rest of s.
func scanUnit(s []byte) (unit int64, rest []byte) {
	i := 0
	for i < len(s) && 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' {
		i++
	}
	var buf [keywordMax]byte
	switch string(keyword(&buf, s[:i])) {
	case "ns":
		unit = 1
	case "us":
		unit = nsPerUs
	case "ms":
		unit = nsPerMs
	case "s":
		unit = nsPerS
	case "m":
		unit = int64(time.Minute)
	case "h":
		unit = int64(time.Hour)
	case "d":
		unit = int64(24 * time.Hour)
	}
	return unit, s[i:]
}

// ParseDuration reads a setting's duration, written as in a command: bare
// milliseconds, or parts such as 1h30m; in ns, from 0 to 100 years.
func ParseDuration(s string) (ns int64, err error) {
	return parseDuration("duration", []byte(s), DefaultLimits())
}

// parseDuration reads a <dur>: bare milliseconds, or parts such as 1h30m, in ns
// from 0 to lim.MaxAhead. what names it in the error.
func parseDuration(what string, arg []byte, lim *Limits) (int64, error) {
	if ms, rest := scanNumber(arg); len(arg) > 0 && len(rest) == 0 {
		if ms < 0 || ms > lim.MaxAhead/nsPerMs {
			return 0, durationTooLong(what, arg, lim)
		}
		return ms * nsPerMs, nil
	}
	var sum int64
	tooLong := false
	for s := arg; ; {
		n, behind := scanNumber(s)
		if len(behind) == len(s) {
			return 0, badDuration(what, arg)
		}
		unit, rest := scanUnit(behind)
		if unit == 0 {
			return 0, badDuration(what, arg)
		}
		// Go on when it is too long: bad syntax behind is the better error.
		if n < 0 || n > (lim.MaxAhead-sum)/unit {
			tooLong = true
		} else if !tooLong {
			sum += n * unit
		}
		if s = rest; len(s) == 0 {
			break
		}
	}
	if tooLong {
		return 0, durationTooLong(what, arg, lim)
	}
	return sum, nil
}

func durationTooLong(what string, arg []byte, lim *Limits) Error {
	return errf("BADTIME %s %s is too long: at most %d days", what, quote(arg), lim.MaxAhead/int64(24*time.Hour))
}

func badDuration(what string, arg []byte) Error {
	const write = "write milliseconds, or parts with ns us ms s m h d such as 1h30m"
	switch {
	case len(arg) == 0:
		return errf("BADTIME %s is empty: %s", what, write)
	case arg[0] == '-':
		return errf("BADTIME %s %s is negative: %s", what, quote(arg), write)
	case bytes.IndexByte(arg, '.') >= 0:
		return errf("BADTIME %s %s has a fraction: write whole numbers in a smaller unit, such as 1500ms", what, quote(arg))
	}
	return errf("BADTIME %s %s is no duration: %s", what, quote(arg), write)
}

// parseTime reads a <time>: Unix milliseconds, an integer with the unit s ms us
// ns, or RFC 3339 with a zone, in ns since 1970. What lies in the past is legal.
func parseTime(what string, arg []byte, lim *Limits) (int64, error) {
	if len(arg) > 4 && arg[4] == '-' {
		return parseRFC3339(what, arg, lim)
	}
	n, behind := scanNumber(arg)
	if len(behind) == len(arg) {
		return 0, badTime(what, arg, lim)
	}
	unit := nsPerMs
	if len(behind) > 0 {
		var rest []byte
		unit, rest = scanUnit(behind)
		if unit == 0 || unit > nsPerS || len(rest) > 0 {
			return 0, badTime(what, arg, lim)
		}
	} else if 0 <= n && n < minBareMs {
		return 0, looksLikeSeconds(what, n)
	}
	if n < 0 || n > math.MaxInt64/unit {
		return 0, errf("BADTIME %s %s is too far ahead: the limit is %d days from now", what, quote(arg), lim.MaxAhead/int64(24*time.Hour))
	}
	return n * unit, nil
}

// looksLikeSeconds refuses a bare integer below minBareMs, with a hint that is
// not refused in its turn.
func looksLikeSeconds(what string, n int64) Error {
	switch {
	case n > math.MaxInt64/nsPerS:
		return errf("BADTIME %d looks like seconds: write %dms if it is milliseconds", n, n)
	case n >= minBareMs/1000:
		return errf("BADTIME %d looks like seconds: write %ds or %d000", n, n, n)
	case n == 0 && what == "EXPIREAT":
		return errExpireAt
	}
	return errf("BADTIME %d looks like seconds: write %ds for a Unix time, or %s%d for a duration in ms", n, n, durationFor(what), n)
}

// durationFor is what a duration needs before it where a time is read.
func durationFor(what string) string {
	switch what {
	case "EXPIREAT":
		return "TTL "
	case "UNTIL":
		return "FOR "
	case "due":
		return "+"
	}
	return "DELAY "
}

// parseRFC3339 takes YYYY-MM-DDTHH:MM:SS, up to nine digits of a fraction, and Z
// or ±HH:MM. Go alone would take more, such as a comma, and cut what it cannot
// hold: early.
func parseRFC3339(what string, arg []byte, lim *Limits) (int64, error) {
	const (
		form  = "0000-00-00T00:00:00"
		write = "write it as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00.5+02:00"
	)
	bad := func() (int64, error) {
		return 0, errf("BADTIME %s %s is no RFC 3339 time with a zone: %s", what, quote(arg), write)
	}
	if len(arg) <= len(form) || !hasForm(arg[:len(form)], form) {
		return bad()
	}
	zone, digits := arg[len(form):], 0
	if zone[0] == '.' {
		zone = zone[1:]
		for digits < len(zone) && '0' <= zone[digits] && zone[digits] <= '9' {
			digits++
		}
		if digits == 0 {
			return bad()
		}
		zone = zone[digits:]
	}
	if !isZone(zone) {
		return bad()
	}
	if digits > 9 {
		return 0, errf("BADTIME %s %s is finer than a nanosecond: write at most nine digits of a fraction", what, quote(arg))
	}
	var t time.Time
	if t.UnmarshalText(bytes.ToUpper(arg)) != nil { // no such day or hour
		return bad()
	}
	if t.Unix() < 0 {
		return 0, errf("BADTIME %s %s lies before 1970: times are from then on", what, quote(arg))
	}
	if t.Unix() >= math.MaxInt64/nsPerS {
		return 0, errf("BADTIME %s %s is too far ahead: the limit is %d days from now", what, quote(arg), lim.MaxAhead/int64(24*time.Hour))
	}
	return t.UnixNano(), nil
}

// hasForm reports whether s is like form, in which 0 stands for any digit and a
// letter for itself in either case.
func hasForm(s []byte, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i, c := range s {
		switch f := form[i]; {
		case f == '0':
			if c < '0' || c > '9' {
				return false
			}
		case f == 'T' || f == 'Z':
			if c != f && c != f+'a'-'A' {
				return false
			}
		case c != f:
			return false
		}
	}
	return true
}

// isZone reports whether s is Z or an offset of less than a day.
func isZone(s []byte) bool {
	if hasForm(s, "Z") {
		return true
	}
	return (hasForm(s, "+00:00") || hasForm(s, "-00:00")) && string(s[1:3]) <= "23" && s[4] <= '5'
}

func badTime(what string, arg []byte, lim *Limits) Error {
	const write = "write Unix milliseconds, an integer with s ms us ns, or 2030-01-31T09:00:00Z"
	switch {
	case len(arg) == 0:
		return errf("BADTIME %s is empty: %s", what, write)
	case arg[0] == '-':
		return errf("BADTIME %s %s is negative: %s", what, quote(arg), write)
	case bytes.IndexByte(arg, '.') >= 0:
		return errf("BADTIME %s %s has a fraction: write a whole number in a smaller unit, such as 1896080400500ms", what, quote(arg))
	}
	if duration := bytes.TrimPrefix(arg, []byte("+")); len(duration) <= quoteMax {
		if _, err := parseDuration(what, duration, lim); err == nil {
			return errf("BADTIME %s %s is a duration, not a time: write %s%s", what, quote(arg), durationFor(what), duration)
		}
	}
	return errf("BADTIME %s %s is no time: %s", what, quote(arg), write)
}

// parseLease reads a lease that a client asks for, of at most longest ns; what names
// it in the error.
func parseLease(what string, arg []byte, lim *Limits, longest int64) (int64, error) {
	ns, err := parseDuration(what, arg, lim)
	if err != nil {
		return 0, err
	}
	if ns < lim.LeaseMin || ns > longest {
		return 0, errf("BADTIME %s %s is out of range: use %s to %s", what, quote(arg), formatDuration(lim.LeaseMin), formatDuration(longest))
	}
	return ns, nil
}

// formatDuration writes a duration for people, as parseDuration reads it if it
// has no fraction: 12h, not 12h0m0s.
func formatDuration(ns int64) string {
	s := time.Duration(ns).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// parseDue reads the value of the option "delay" or "at".
func parseDue(option string, arg []byte, lim *Limits) (Due, error) {
	if option == "at" {
		ns, err := parseTime("AT", arg, lim)
		return Due{Kind: DueAt, Ns: ns}, err
	}
	ns, err := parseDuration("DELAY", arg, lim)
	return Due{Kind: DueDelay, Ns: ns}, err
}
