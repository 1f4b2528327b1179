package commands

import (
	"bytes"
	"strconv"

	"dqd/persist/record"
)

const (
	// maxBackoffSteps bounds a list, and so the record that holds it.
	maxBackoffSteps  = 32
	minBackoffFactor = 1_000     // thousandths: 1
	maxBackoffFactor = 1_000_000 // thousandths: 1000
	defaultFactor    = 2_000
)

// ParseBackoff reads a retry policy:
//
//	fixed:5s                          always the same delay
//	exp:1s:1h[:factor][:jitter%]      from the first delay to the longest
//	list:10s,1m,10m                   one by one, the last repeats
func ParseBackoff(arg []byte, lim *Limits) (*record.Backoff, error) {
	kind, rest, _ := bytes.Cut(arg, []byte(":"))
	var buf [keywordMax]byte
	switch string(keyword(&buf, kind)) {
	case "fixed":
		delay, err := parseDuration("BACKOFF", rest, lim)
		if err != nil {
			return nil, err
		}
		return &record.Backoff{Kind: record.BackoffFixed, Steps: []int64{delay}}, nil
	case "exp":
		return parseExp(arg, rest, lim)
	case "list":
		n := bytes.Count(rest, []byte(",")) + 1
		if n > maxBackoffSteps {
			return nil, errf("ERR BACKOFF %s lists %d delays: at most %d, the last repeats", quote(arg), n, maxBackoffSteps)
		}
		b := &record.Backoff{Kind: record.BackoffList, Steps: make([]int64, 0, n)}
		for more := true; more; {
			var step []byte
			step, rest, more = bytes.Cut(rest, []byte(","))
			delay, err := parseDuration("BACKOFF", step, lim)
			if err != nil {
				return nil, err
			}
			b.Steps = append(b.Steps, delay)
		}
		return b, nil
	}
	return nil, badBackoff(arg)
}

func parseExp(arg, rest []byte, lim *Limits) (*record.Backoff, error) {
	parts := bytes.Split(rest, []byte(":"))
	if len(parts) < 2 || len(parts) > 4 {
		return nil, badBackoff(arg)
	}
	first, err := parseDuration("BACKOFF", parts[0], lim)
	if err != nil {
		return nil, err
	}
	longest, err := parseDuration("BACKOFF", parts[1], lim)
	if err != nil {
		return nil, err
	}
	if first > longest {
		return nil, errf("ERR BACKOFF %s starts above its longest delay: write exp:first:longest", quote(arg))
	}
	b := &record.Backoff{Kind: record.BackoffExp, Steps: []int64{first, longest}, Factor: defaultFactor}
	parts = parts[2:]
	if len(parts) > 0 && !bytes.HasSuffix(parts[0], []byte("%")) {
		if b.Factor, err = parseFactor(arg, parts[0]); err != nil {
			return nil, err
		}
		parts = parts[1:]
	}
	if len(parts) > 0 {
		percent, ok := bytes.CutSuffix(parts[0], []byte("%"))
		n, isInt := parseInt(percent)
		if !ok || len(parts) > 1 || !isInt || n < 0 || n > 100 {
			return nil, errf("ERR BACKOFF %s has a bad jitter: write 0%% to 100%% at its end", quote(arg))
		}
		b.Jitter = uint8(n)
	}
	return b, nil
}

// parseFactor reads a decimal of up to three places as thousandths.
func parseFactor(arg, factor []byte) (uint32, error) {
	whole, places, dot := bytes.Cut(factor, []byte("."))
	n, ok := parseInt(whole)
	ok = ok && n >= 0 && n <= maxBackoffFactor/1000 && len(places) <= 3 && dot == (len(places) > 0)
	for i := range 3 {
		digit := byte('0')
		if i < len(places) {
			digit = places[i]
		}
		ok = ok && '0' <= digit && digit <= '9'
		n = n*10 + int64(digit-'0')
	}
	if !ok || n < minBackoffFactor || n > maxBackoffFactor {
		return 0, errf("ERR BACKOFF %s has a bad factor: write 1 to 1000, with up to three decimal places", quote(arg))
	}
	return uint32(n), nil
}

func badBackoff(arg []byte) Error {
	return errf("ERR BACKOFF %s is no retry policy: write fixed:5s, exp:1s:1h[:factor][:jitter%%] or list:10s,1m,10m", quote(arg))
}

// FormatBackoff writes a retry policy in full, with delays in milliseconds
// rounded up: exp:1000:3600000:2:0%.
func FormatBackoff(b *record.Backoff) string {
	s := make([]byte, 0, 48)
	switch b.Kind {
	case record.BackoffFixed:
		s = append(s, "fixed:"...)
		s = strconv.AppendInt(s, MsUp(b.Steps[0]), 10)
	case record.BackoffExp:
		s = append(s, "exp:"...)
		s = strconv.AppendInt(s, MsUp(b.Steps[0]), 10)
		s = append(s, ':')
		s = strconv.AppendInt(s, MsUp(b.Steps[1]), 10)
		s = append(s, ':')
		s = strconv.AppendUint(s, uint64(b.Factor/1000), 10)
		if places := b.Factor % 1000; places > 0 {
			s = append(s, '.', byte('0'+places/100), byte('0'+places/10%10), byte('0'+places%10))
			s = bytes.TrimRight(s, "0")
		}
		s = append(s, ':')
		s = strconv.AppendUint(s, uint64(b.Jitter), 10)
		s = append(s, '%')
	case record.BackoffList:
		s = append(s, "list:"...)
		for i, step := range b.Steps {
			if i > 0 {
				s = append(s, ',')
			}
			s = strconv.AppendInt(s, MsUp(step), 10)
		}
	default:
		panic("commands: no such backoff")
	}
	return string(s)
}
