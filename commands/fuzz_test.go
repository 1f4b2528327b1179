package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dqd/persist/record"
)

// parseLines returns the command lines of testdata/parse, good and bad ones.
func parseLines(t testing.TB) []string {
	files, err := filepath.Glob("testdata/parse/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata/parse", err)
	}
	var lines []string
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		input := false
		for _, line := range strings.Split(string(file), "\n") {
			switch {
			case line == "parse":
				input = true
			case line == "----":
				input = false
			case input:
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// FuzzParse feeds argument lists to all parsers: none panics, none changes its
// arguments, a refusal is one line that starts with a known code, and what is
// taken obeys the limits. The arguments are joined by 0xFE, which no test needs.
func FuzzParse(f *testing.F) {
	for _, line := range parseLines(f) {
		f.Add(bytes.Join(splitLine(f, line), []byte{0xFE}))
	}
	lim := DefaultLimits()
	codes := []string{"ERR", "BADID", "BADTIME", "TOOBIG", "DUPID", "NOPROTO"}
	f.Fuzz(func(t *testing.T, input []byte) {
		input = input[:min(len(input), 1<<16)]
		args := bytes.Split(input, []byte{0xFE})
		before := bytes.Clone(input)
		c, r, err := Parse(args, lim)
		if !bytes.Equal(before, bytes.Join(args, []byte{0xFE})) {
			t.Fatal("the arguments changed")
		}
		if err != nil {
			text := err.Error()
			code, _, _ := strings.Cut(text, " ")
			if !slices.Contains(codes, code) || strings.ContainsAny(text, "\r\n") || len(text) > 1024 || r != nil {
				t.Fatalf("%q, request %v", text, r)
			}
			return
		}
		if c == nil || !c.Fits(len(args)) {
			t.Fatal("taken without a fitting row")
		}
		checkRequest(t, r, lim)
		if q, ok := r.(*CommandQuery); ok {
			encode(CommandReply(q), false)
		}
	})
}

// checkRequest fails unless the request obeys the limits.
func checkRequest(t *testing.T, r Request, lim *Limits) {
	check := func(ok bool, what string) {
		if !ok {
			t.Helper()
			t.Fatalf("%s: %+v", what, r)
		}
	}
	name := func(b []byte, max int) { check(len(b) >= 1 && len(b) <= max, "name") }
	id := func(b []byte) { name(b, lim.MaxID); check(string(b) != "*", "id *") }
	duration := func(ns int64) { check(ns >= 0 && ns <= lim.MaxAhead, "duration") }
	lease := func(ns int64) { check(ns == 0 || ns >= lim.LeaseMin && ns <= lim.LeaseMax, "lease") }
	due := func(d Due) {
		check(d.Ns >= 0, "due")
		check(d.Kind != DueNone && d.Kind != DueNow || d.Ns == 0, "due without a time")
		if d.Kind == DueDelay {
			duration(d.Ns)
		}
	}
	pri := func(n int) { check(n >= -1 && n <= 255, "pri") }
	options := func(o *AddOptions) {
		duration(o.TTL)
		check(o.ExpireAt >= 0 && (o.ExpireAt == 0 || o.TTL == 0), "expiry")
		check(o.Compare == CompareNone || o.Cond == CondXX || o.Cond == CondUpsert, "compare")
		pri(o.Pri)
		check(o.Attempts >= -1 && o.Attempts <= 65535, "attempts")
		lease(o.Lease)
		check(o.MaxLen >= 0, "maxlen")
		if o.Backoff != nil {
			checkBackoff(t, o.Backoff, lim)
		}
		size := 0
		seen := map[string]bool{}
		for _, f := range o.Meta {
			size += len(f.Name) + len(f.Value)
			check(!seen[string(f.Name)], "meta twice")
			seen[string(f.Name)] = true
		}
		check(len(o.Meta) <= lim.MaxMetaPairs && size <= lim.MaxMetaBytes, "meta")
	}
	job := func(j *NewJob, o *AddOptions) {
		if j.ID != nil {
			id(j.ID)
		}
		check(j.ID != nil || o.Cond == CondNone, "flags with *")
		check(len(j.Payload) <= lim.MaxPayload, "payload")
		due(j.Due)
		check(j.Due.Kind != DueAt || o.ExpireAt == 0 || o.ExpireAt > j.Due.Ns, "expires before due")
		check((j.Digest != record.Digest{}) == (o.Cond == CondIdem), "digest")
	}
	tokens := func(jobs []JobToken) {
		check(len(jobs) >= 1 && len(jobs) <= lim.MaxIDs, "number of jobs")
		for _, j := range jobs {
			id(j.ID)
			check(j.Token <= 1<<63-1 || j.Token == noToken, "token")
		}
	}
	switch r := r.(type) {
	case *Add:
		name(r.Queue, lim.MaxQueue)
		options(&r.Options)
		job(&r.Job, &r.Options)
	case *MAdd:
		name(r.Queue, lim.MaxQueue)
		options(&r.Options)
		check(len(r.Jobs) >= 1 && len(r.Jobs) <= lim.MaxBatchJobs, "number of jobs")
		seen := map[string]bool{}
		for i := range r.Jobs {
			job(&r.Jobs[i], &r.Options)
			check(r.Jobs[i].ID == nil || !seen[string(r.Jobs[i].ID)], "id twice")
			seen[string(r.Jobs[i].ID)] = true
		}
	case *Cancel:
		name(r.Queue, lim.MaxQueue)
		check(len(r.IDs) >= 1 && len(r.IDs) <= lim.MaxIDs, "number of ids")
		for _, b := range r.IDs {
			id(b)
		}
	case *Reschedule:
		name(r.Queue, lim.MaxQueue)
		id(r.ID)
		due(r.Due)
		check(r.Due.Kind != DueNone, "no due")
		pri(r.Pri)
		check(len(r.Payload) <= lim.MaxPayload, "payload")
	case *Pop:
		for _, q := range r.Queues {
			name(q, lim.MaxQueue)
		}
		check(r.Count >= 1 && r.Count <= lim.MaxPopCount, "count")
		check(r.Block >= 0 && r.Block <= lim.MaxBlock, "block")
		check(len(r.Queues) >= 1 && len(r.Queues) <= lim.MaxPopQueues, "queues")
		if !r.CutLease {
			lease(r.Lease)
		}
		check(len(r.Worker) <= lim.MaxWorker, "worker")
	case *Ack:
		name(r.Queue, lim.MaxQueue)
		tokens(r.Jobs)
	case *Nack:
		name(r.Queue, lim.MaxQueue)
		tokens([]JobToken{r.Job})
		due(r.Due)
		check(len(r.Reason) <= lim.MaxReason, "reason")
	case *Extend:
		name(r.Queue, lim.MaxQueue)
		tokens(r.Jobs)
		check(r.Lease >= lim.LeaseMin && r.Lease <= lim.MaxAhead, "lease")
	case *Get:
		name(r.Queue, lim.MaxQueue)
		id(r.ID)
		check(len(r.Fields) <= lim.MaxFields, "fields")
	case *Peek:
		name(r.Queue, lim.MaxQueue)
		check(r.Count >= 1 && r.Count <= lim.MaxList, "count")
	case *Len:
		name(r.Queue, lim.MaxQueue)
	case *Range:
		name(r.Queue, lim.MaxQueue)
		check(r.Count >= 1 && r.Count <= lim.MaxList && r.Offset >= 0, "limit")
		check(r.Min.Ms >= -1 && r.Max.Ms >= -1, "bounds")
	case *Count:
		name(r.Queue, lim.MaxQueue)
		check(r.Min.Ms >= -1 && r.Max.Ms >= -1, "bounds")
	case *Scan:
		name(r.Queue, lim.MaxQueue)
		check(r.Count >= 1 && r.Count <= lim.MaxList && len(r.Match) <= lim.MaxPattern, "count")
		check(len(r.Worker) <= lim.MaxWorker, "worker")
	case *Queues:
		check(r.Count >= 1 && r.Count <= lim.MaxList && len(r.Match) <= lim.MaxPattern, "count")
	case *DeadJobs:
		name(r.Queue, lim.MaxQueue)
		check(r.Count >= 1 && r.Count <= lim.MaxList, "count")
	case *Exists:
		check(len(r.Keys) >= 1 && len(r.Keys) <= lim.MaxIDs, "keys")
	case *SetConfig:
		name(r.Queue, lim.MaxQueue)
		s := &r.Set
		check(s.Given != 0 && s.Given&^record.AllFields == 0, "given")
		for _, ns := range []int64{s.TTL, s.IdemMemory, s.MaxDelay, s.DeadKeep} {
			duration(ns)
		}
		lease(s.Lease)
		lease(s.LeaseMax)
		check(s.Attempts >= 0 && s.Attempts <= 65535 && s.MaxLen >= 0 && s.MaxInflight >= 0 && s.DeadCount >= 0, "number")
		check(s.MaxPayload >= 0 && s.MaxPayload <= int64(lim.MaxPayload), "max-payload")
		check(s.Rate >= 0 && s.Rate <= maxRate && s.Burst >= 0 && s.Burst <= maxRate, "rate")
		if s.Given.Has(record.FieldBackoff) {
			checkBackoff(t, &s.Backoff, lim)
		}
	case *GetConfig:
		name(r.Queue, lim.MaxQueue)
	case *ResetConfig:
		name(r.Queue, lim.MaxQueue)
		check(r.Fields != 0 && r.Fields&^record.AllFields == 0, "fields")
	case *Pause:
		name(r.Queue, lim.MaxQueue)
		due(r.Until)
		check(r.Until.Kind != DueNow && (r.Until.Kind != DueDelay || r.Until.Ns > 0), "until")
		check(r.Ways&^(WayIn|WayOut) == 0 && r.Ways != 0, "ways")
	case *Resume:
		name(r.Queue, lim.MaxQueue)
		check(r.Ways&^(WayIn|WayOut) == 0 && r.Ways != 0, "ways")
	case *Stats:
		if r.Queue != nil {
			name(r.Queue, lim.MaxQueue)
		}
	}
}

func checkBackoff(t *testing.T, b *record.Backoff, lim *Limits) {
	ok := len(b.Steps) >= 1 && len(b.Steps) <= maxBackoffSteps
	for _, step := range b.Steps {
		ok = ok && step >= 0 && step <= lim.MaxAhead
	}
	switch b.Kind {
	case record.BackoffFixed:
		ok = ok && len(b.Steps) == 1 && b.Factor == 0 && b.Jitter == 0
	case record.BackoffExp:
		ok = ok && len(b.Steps) == 2 && b.Steps[0] <= b.Steps[1] && b.Factor >= 1000 && b.Factor <= 1_000_000 && b.Jitter <= 100
	case record.BackoffList:
		ok = ok && b.Factor == 0 && b.Jitter == 0
	default:
		ok = false
	}
	if !ok {
		t.Fatalf("backoff %+v", b)
	}
}

// FuzzDuration: no panic, in the limits, the value is what a slow reading with
// big steps says, and a bare number is milliseconds.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"0", "1500", "1h30m", "1d2h3m4s5ms6us7ns", "36525d", "36525d1ns", "-1", "1.5s", "9223372036854775807ns", "", "1H"} {
		f.Add([]byte(s))
	}
	lim := DefaultLimits()
	f.Fuzz(func(t *testing.T, input []byte) {
		ns, err := parseDuration("D", input, lim)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "BADTIME ") || ns != 0 {
				t.Fatalf("%q: %d, %v", input, ns, err)
			}
			return
		}
		if ns < 0 || ns > lim.MaxAhead {
			t.Fatalf("%q: %d", input, ns)
		}
		again, err := parseDuration("D", appendNs(nil, ns), DefaultLimits())
		if err != nil || again != ns {
			t.Fatalf("%q: %d, then %d, %v", input, ns, again, err)
		}
		if want := slowDuration(input); want != ns {
			t.Fatalf("%q: %d, want %d", input, ns, want)
		}
	})
}

func appendNs(b []byte, ns int64) []byte {
	if ns >= 10 {
		b = appendNs(b, ns/10)
		return append(b[:len(b)-2], byte('0'+ns%10), 'n', 's')
	}
	return append(b, byte('0'+ns), 'n', 's')
}

// slowDuration reads a duration that is known to be good.
func slowDuration(s []byte) (ns int64) {
	units := map[string]int64{"": 1e6, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9, "d": 86400e9}
	for len(s) > 0 {
		n := int64(0)
		for len(s) > 0 && s[0] <= '9' {
			n = n*10 + int64(s[0]-'0')
			s = s[1:]
		}
		i := 0
		for i < len(s) && s[i] > '9' {
			i++
		}
		ns += n * units[strings.ToLower(string(s[:i]))]
		s = s[i:]
	}
	return ns
}

// FuzzTime: no panic, never negative, and the same instant in ns is the same.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"1800000000000", "1800000900", "0s", "1800000000s", "9223372036854775807ns", "2027-01-15T08:00:00Z",
		"2027-01-15t08:00:00.123456789+02:00", "2262-04-11T23:47:16.854775807Z", "-1", "1.5s", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		ns, err := parseTime("AT", input, DefaultLimits())
		if err != nil {
			if !strings.HasPrefix(err.Error(), "BADTIME ") || ns != 0 {
				t.Fatalf("%q: %d, %v", input, ns, err)
			}
			return
		}
		if ns < 0 {
			t.Fatalf("%q: %d", input, ns)
		}
		if bare := bytes.IndexFunc(input, func(r rune) bool { return r < '0' || r > '9' }) < 0; bare && ns < minBareMs*nsPerMs {
			t.Fatalf("%q: taken as milliseconds", input)
		}
		again, err := parseTime("AT", appendNs(nil, ns), DefaultLimits())
		if err != nil || again != ns {
			t.Fatalf("%q: %d, then %d, %v", input, ns, again, err)
		}
	})
}

// FuzzBackoff: no panic, in the limits, and its full form reads back as itself
// with delays rounded up to milliseconds.
func FuzzBackoff(f *testing.F) {
	for _, s := range []string{"fixed:5s", "exp:1s:1h", "exp:1s:1h:1.5:10%", "exp:0:0:1000:100%", "exp:1s:1h:10%", "list:10s,1m,10m", "list:1ns,1ns", "exp:1s:1h:2.", ""} {
		f.Add([]byte(s))
	}
	lim := DefaultLimits()
	f.Fuzz(func(t *testing.T, input []byte) {
		b, err := ParseBackoff(input, lim)
		if err != nil {
			if code, _, _ := strings.Cut(err.Error(), " "); b != nil || code != "ERR" && code != "BADTIME" {
				t.Fatalf("%q: %v, %v", input, b, err)
			}
			return
		}
		checkBackoff(t, b, lim)
		full := FormatBackoff(b)
		again, err := ParseBackoff([]byte(full), lim)
		if err != nil {
			t.Fatalf("%q: %q: %v", input, full, err)
		}
		if FormatBackoff(again) != full || again.Kind != b.Kind || again.Factor != b.Factor || again.Jitter != b.Jitter || len(again.Steps) != len(b.Steps) {
			t.Fatalf("%q: %q reads back as %+v, not %+v", input, full, again, b)
		}
		for i, step := range b.Steps {
			if up := again.Steps[i]; up < step || up >= step+nsPerMs {
				t.Fatalf("%q: step %d is %d, then %d", input, i, step, up)
			}
		}
	})
}

// FuzzMatchGlob: no panic and no endless loop, whatever the pattern.
func FuzzMatchGlob(f *testing.F) {
	f.Add([]byte("a*[^b-c]?\\*"), []byte("abcd*"))
	f.Fuzz(func(t *testing.T, pattern, s []byte) {
		MatchGlob(pattern[:min(len(pattern), 200)], s[:min(len(s), 200)])
	})
}
