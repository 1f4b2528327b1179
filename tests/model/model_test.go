package model

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A scenario is a talk with the model, one line per command:
//
//	DQADD q a x DELAY 5 -> "a"      the answer must be this
//	c1: DQPOP q BLOCK 5s -> waits   by this client; its answer comes later
//	c1 <- [["q" "a" …]]             and now it came
//	+5ms                            time passes
//	wall -10s                       the wall steps
//
// @5 is the wall time 5 ms after the start, as a reply shows it; t1 the first token given; "" an empty argument.
func scenario(t *testing.T, settings Settings, script string) {
	t.Helper()
	const start = 1_800_000_000_000
	at := regexp.MustCompile(`@-?[0-9]+`)
	script = at.ReplaceAllStringFunc(script, func(s string) string {
		n, _ := strconv.ParseInt(s[1:], 10, 64)
		return strconv.FormatInt(start+n, 10)
	})
	m := New(settings)
	m.at(second, start*ms)
	arrived := map[int]Reply{}
	for _, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " # ")
		line = strings.TrimSpace(line)
		for _, a := range m.Arrived() {
			arrived[a.Client] = a.Reply
		}
		if line == "" {
			continue
		}
		if d, ok := strings.CutPrefix(line, "+"); ok {
			step, err := time.ParseDuration(d)
			if err != nil {
				t.Fatal(err)
			}
			m.Advance(m.nowNs + int64(step))
			continue
		}
		if d, ok := strings.CutPrefix(line, "wall "); ok {
			step, err := time.ParseDuration(d)
			if err != nil {
				t.Fatal(err)
			}
			m.StepWall(int64(step))
			continue
		}
		if who, want, ok := strings.Cut(line, " <- "); ok {
			client, _ := strconv.Atoi(who[1:])
			got, came := arrived[client]
			if want == "nothing" && !came {
				continue
			}
			if !came || got.String() != want {
				t.Errorf("%s\n got %v (came: %v)", line, got, came)
			}
			delete(arrived, client)
			continue
		}
		command, want, ok := strings.Cut(line, " -> ")
		if !ok {
			t.Fatalf("no answer in %q", line)
		}
		client := 0
		if who, rest, ok := strings.Cut(command, ": "); ok {
			client, _ = strconv.Atoi(who[1:])
			command = rest
		}
		args := strings.Fields(command)
		for i := range args {
			if args[i] == `""` {
				args[i] = ""
			}
			if n, ok := strings.CutPrefix(args[i], "t"); ok && i > 2 {
				if _, err := strconv.Atoi(n); err == nil {
					args[i] = n
				}
			}
		}
		var got Reply
		parked := false
		if strings.HasSuffix(args[0], "POP") {
			got, parked = m.Park(client, m.nowNs, m.wallNs(), args...)
		} else {
			got = m.Do(m.nowNs, m.wallNs(), args...)
		}
		text := got.String()
		if got.Kind == Error {
			text = got.Word()
		}
		if parked {
			text = "waits"
		}
		if text != want {
			t.Errorf("%s\n got %s", line, text)
		}
	}
}

func play(t *testing.T, script string) {
	t.Helper()
	scenario(t, DefaultSettings(), script)
}

// ---- §2 producing ----

// A job without a time is ready at once; one with DELAY or AT is not, until its nanosecond.
func TestAddDue(t *testing.T) {
	play(t, `
		DQADD q a x -> "a"
		DQADD q b x DELAY 5 -> "b"
		DQADD q c x AT @7 -> "c"
		DQLEN q STATE ready -> 1
		DQPOP q COUNT 9 -> [["q" "a" "x" t1 1 @0]]
		+4ms999us999ns
		DQPOP q -> (nil)
		+1ns
		DQPOP q -> [["q" "b" "x" t2 1 @5]]
		+2ms
		DQPOP q -> [["q" "c" "x" t3 1 @7]]
	`)
}

// A due inside a millisecond is shown rounded up, never down.
func TestDueRoundsUp(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 1ns -> "a"
		DQGET q a due due-ns -> [@1 "1800000000000000001"]
	`)
}

// An id made by the server is <unix-ms>-<sequence>, and a flag needs an id of the client's own.
func TestAddStar(t *testing.T) {
	play(t, `
		DQADD q * x -> made:@0-1
		DQADD q * x -> made:@0-2
		DQADD q * x NX -> ERR|BADID
		DQLEN q -> 2
	`)
}

// An add under a live id never makes a second job, whatever its state.
func TestAddLiveID(t *testing.T) {
	play(t, `
		DQADD q a x -> "a"
		DQADD q a y -> DUPID
		DQADD q a y NX -> (nil)
		DQADD q b y XX -> (nil)
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQADD q a y -> DUPID
		DQADD q a y UPSERT -> LEASED
		DQADD q a y XX -> LEASED
		DQADD q a y NX -> (nil)
		DQADD other a y -> "a"
	`)
}

// UPSERT replaces payload, due and options, starts the attempts anew, makes tokens stale and takes a new place in the order.
func TestUpsert(t *testing.T) {
	play(t, `
		DQADD q a x PRI 3 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQNACK q a t1 DELAY 0 -> 1
		DQADD q b x PRI 3 -> "b"
		DQADD q a y PRI 3 UPSERT -> "a"
		DQNACK q a t1 -> -1
		DQGET q a attempt payload pri -> [0 "y" 3]
		DQPOP q COUNT 2 -> [["q" "b" "x" t2 1 @0] ["q" "a" "y" t3 1 @0]]
		DQSTATS q -> `+stats("leased 2 added 2 delivered 3 nacked 1")+`
	`)
}

// GT replaces only with a later due, LT only with an earlier one; equal is neither.
func TestUpsertThan(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 10 -> "a"
		DQADD q a y DELAY 10 UPSERT GT -> (nil)
		DQADD q a y DELAY 10 UPSERT LT -> (nil)
		DQADD q a y DELAY 11 UPSERT LT -> (nil)
		DQADD q a y DELAY 11 UPSERT GT -> "a"
		DQADD q a z AT @10 XX LT -> "a"
		DQGET q a due payload -> [@10 "z"]
		DQADD q n z UPSERT LT -> "n"
		DQADD q a z GT -> ERR
	`)
}

// An id that is only dead can be used again; the dead record stays, its tokens do not.
func TestAddDeadID(t *testing.T) {
	play(t, `
		DQADD q a x ATTEMPTS 1 LEASE 5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+5ms
		DQGET q a state -> ["dead"]
		DQADD q a y DELAY 5 -> "a"
		DQLEN q STATE dead -> 1
		DQACK q a t1 -> 0
		DQCANCEL q a -> 1
		DQMACK q JOBS 1 a t1 -> [-1]
		DQGET q a state payload -> ["dead" "x"]
	`)
}

// The same IDEM request is answered as the first time for id-memory, whatever became of the job, however it is spelled.
func TestIdem(t *testing.T) {
	play(t, `
		DQADD q a x IDEM DELAY 5000us META k v PRI 5 -> "a"
		DQADD q a x PRI 5 META k u META k v DELAY 5 IDEM -> "a"
		DQMADD q PRI 5 META k v IDEM JOBS 1 a x +5ms -> ["a"]
		DQADD q a x PRI 5 META k v DELAY 6 IDEM -> DUPID
		DQADD q a x PRI 5 META k v IDEM -> DUPID
		DQADD q a x META k v DELAY 5 IDEM -> DUPID
		DQLEN q -> 1
		+5ms
		DQPOP q -> [["q" "a" "x" t1 1 @5]]
		DQACK q a t1 -> 1
		DQADD q a x IDEM DELAY 5 META k v PRI 5 -> "a"
		DQLEN q -> 0
		DQADD q b x MAXLEN 1 -> "b"
		DQADD q a x IDEM DELAY 5 META k v PRI 5 -> "a"
		+59s994ms999us999ns
		DQADD q a x IDEM DELAY 5 META k v PRI 5 -> "a"
		DQLEN q -> 1
		+1ns
		DQADD q a x IDEM DELAY 5 META k v PRI 5 -> "a"
		DQLEN q -> 2
	`)
}

// Another IDEM request under an id whose job is gone is a new job, and is what the id remembers from then on.
func TestIdemOther(t *testing.T) {
	play(t, `
		DQADD q a x IDEM -> "a"
		DQPOP q NOACK -> [["q" "a" "x" (anything) 1 @0]]
		DQADD q a y IDEM -> "a"
		DQLEN q -> 1
		DQADD q a y IDEM -> "a"
		DQADD q a x IDEM -> DUPID
	`)
}

// A cancel, UPSERT or XX that took effect makes the id forget; one that did not, and a reschedule, do not.
func TestIdemForgets(t *testing.T) {
	play(t, `
		DQADD q a x IDEM -> "a"
		DQCANCEL q a -> 1
		DQADD q a x IDEM -> "a"
		DQLEN q -> 1
		DQADD q a y DELAY 1 UPSERT LT -> (nil)
		DQRESCHEDULE q a DELAY 9 -> 1
		DQADD q a x IDEM -> "a"
		DQADD q a y XX -> "a"
		DQADD q a x IDEM -> DUPID
		DQADD q b x IDEM -> "b"
		DQPOP q COUNT 2 -> [["q" "a" "y" t1 1 @0] ["q" "b" "x" t2 1 @0]]
		DQMCANCEL q FORCE IDS 1 b -> [1]
		DQADD q b x IDEM -> "b"
		DQLEN q -> 2
	`)
}

// A past AT is ready now, keeps its due, and goes before what is due now.
func TestPastAT(t *testing.T) {
	play(t, `
		DQADD q a x -> "a"
		DQADD q b x AT @-5000 -> "b"
		DQPOP q COUNT 2 -> [["q" "b" "x" t1 1 @-5000] ["q" "a" "x" t2 1 @0]]
	`)
}

// TTL counts from the due, for a past due from acceptance, anew from a reschedule, and not from a retry.
func TestTTL(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 5 TTL 10 -> "a"
		DQADD q b x AT @-5000 TTL 10 -> "b"
		DQGET q a expire-at -> [@15]
		+9ms999us999ns
		DQLEN q -> 2
		+1ns
		DQGET q b -> (nil)
		DQRESCHEDULE q a DELAY 0 -> 1
		DQGET q a expire-at -> [@20]
		DQPOP q -> [["q" "a" "x" t1 1 @10]]
		DQNACK q a t1 DELAY 4 -> 1
		DQGET q a expire-at -> [@20]
		+10ms
		DQSTATS q -> `+stats("added 2 delivered 1 nacked 1 expired 2")+`
	`)
}

// EXPIREAT is after due or refused, never ends a running lease, but ends the job when the lease runs out behind it.
func TestExpireAt(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 5 EXPIREAT @5 -> BADTIME
		DQADD q a x DELAY 5 EXPIREAT @6 TTL 5 -> ERR
		DQADD q a x DELAY 5 EXPIREAT @6 -> "a"
		+5ms
		DQPOP q LEASE 10 -> [["q" "a" "x" t1 1 @5]]
		+9ms
		DQGET q a state -> ["leased"]
		+1ms
		DQGET q a -> (nil)
		DQSTATS q -> `+stats("added 1 delivered 1 expired 1 lease-timeouts 1")+`
	`)
}

// With expire-to dead a job that nobody took dies, and does not count as expired.
func TestExpireToDead(t *testing.T) {
	play(t, `
		DQCONFIG SET q expire-to dead -> OK
		DQADD q a x TTL 5 -> "a"
		+5ms
		DQGET q a state attempt -> ["dead" 0]
		DQSTATS q -> `+stats("dead 1 added 1")+`
	`)
}

// ATTEMPTS n: n deliveries, then dead; 0 is without end.
func TestAttempts(t *testing.T) {
	play(t, `
		DQADD q a x ATTEMPTS 2 BACKOFF fixed:0 LEASE 1 -> "a"
		DQADD q b x ATTEMPTS 0 BACKOFF fixed:0 LEASE 1 -> "b"
		DQPOP q COUNT 2 -> [["q" "a" "x" t1 1 @0] ["q" "b" "x" t2 1 @0]]
		+1ms
		DQPOP q COUNT 2 -> [["q" "a" "x" t3 2 @1] ["q" "b" "x" t4 2 @1]]
		+1ms
		DQPOP q COUNT 2 -> [["q" "b" "x" t5 3 @2]]
		DQGET q a state attempt -> ["dead" 2]
	`)
}

// The delay before attempt n+1: always the same, doubling to a limit, or the n-th of a list whose last repeats.
func TestBackoff(t *testing.T) {
	for spec, want := range map[string][]int64{
		"fixed:5s":            {5000, 5000, 5000},
		"exp:1s:5s":           {1000, 2000, 4000, 5000, 5000},
		"exp:1s:1h:3:0%":      {1000, 3000, 9000, 27000},
		"EXP:2s:2s":           {2000, 2000},
		"list:10s,1m,1h30m1s": {10_000, 60_000, 5_401_000, 5_401_000},
	} {
		b, ok := parseBackoff(spec)
		if !ok {
			t.Errorf("%s is refused", spec)
		}
		for i, n := range want {
			if got := b.After(i + 1); got != n*ms {
				t.Errorf("%s after attempt %d: %d ms, want %d", spec, i+1, got/ms, n)
			}
		}
	}
}

// MAXLEN counts live jobs, not dead ones, and what replaces a job is no new one.
func TestMaxLen(t *testing.T) {
	play(t, `
		DQADD q a x MAXLEN 2 -> "a"
		DQADD q b x MAXLEN 2 -> "b"
		DQADD q c x MAXLEN 2 -> QUEUEFULL
		DQADD q b y MAXLEN 2 UPSERT -> "b"
		DQMADD q MAXLEN 3 JOBS 2 c x +5 d x +5 -> QUEUEFULL
		DQMADD q MAXLEN 4 JOBS 2 c x +5 d x +5 -> ["c" "d"]
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQADD q e x MAXLEN 4 -> QUEUEFULL
		DQNACK q a t1 DEAD -> 1
		DQADD q e x MAXLEN 4 -> "e"
	`)
}

// DQMADD takes all or none, answers null where a condition was not met, and knows times and delays.
func TestMadd(t *testing.T) {
	play(t, `
		DQMADD q PRI 7 JOBS 2 a x +5 b y @9 -> ["a" "b"]
		DQMADD q JOBS 2 c x +5 a y +5 -> DUPID
		DQMADD q JOBS 2 c x +5 c y +5 -> DUPID
		DQMADD q JOBS 2 c x +5 d y 5 -> BADTIME
		DQMADD q DELAY 5 JOBS 1 c x +5 -> ERR
		DQMADD q NX JOBS 2 c x +5 a y +5 -> ["c" (nil)]
		DQMADD q JOBS 2 * x +5 * y +5 -> [made:@0-1 made:@0-2]
		DQGET q b due pri -> [@9 7]
		DQLEN q -> 5
	`)
}

// DQCANCEL counts the delayed and ready jobs it removed; DQMCANCEL says why not; FORCE takes a leased one.
func TestCancel(t *testing.T) {
	play(t, `
		DQADD q a x -> "a"
		DQADD q b x DELAY 5 -> "b"
		DQADD q l x PRI 0 -> "l"
		DQADD q d x PRI 1 -> "d"
		DQPOP q COUNT 2 -> [["q" "l" "x" t1 1 @0] ["q" "d" "x" t2 1 @0]]
		DQNACK q d t2 DEAD -> 1
		DQCANCEL q a b l d u a -> 2
		DQMCANCEL q IDS 3 l d u -> [-3 -3 -2]
		DQMCANCEL q FORCE IDS 2 l d -> [1 -3]
		DQACK q l t1 -> 0
		DQMACK q JOBS 1 l t1 -> [-2]
		DQSTATS q -> `+stats("dead 1 added 4 delivered 2 nacked 1 cancelled 3")+`
	`)
}

// DQRESCHEDULE moves a delayed or ready job, keeps id, attempt, meta and place in the order, and makes tokens stale.
func TestReschedule(t *testing.T) {
	play(t, `
		DQADD q a x META k v -> "a"
		DQADD q b x -> "b"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQRESCHEDULE q a NOW -> -3
		DQNACK q a t1 DELAY 5 -> 1
		DQRESCHEDULE q a DELAY 5 GT -> 0
		DQRESCHEDULE q a DELAY 5 LT PRI 1 -> 0
		DQRESCHEDULE q a AT @6 GT PAYLOAD new -> 1
		DQNACK q a t1 -> -1
		DQGET q a attempt meta payload pri -> [1 {"k" "v"} "new" 128]
		DQRESCHEDULE q a NOW LT -> 1
		DQPOP q COUNT 2 -> [["q" "a" "new" t2 2 @0] ["q" "b" "x" t3 1 @0]]
		DQNACK q a t2 DEAD -> 1
		DQRESCHEDULE q a NOW -> -3
		DQRESCHEDULE q u NOW -> -2
		DQRESCHEDULE q b PRI 1 -> ERR
	`)
}

// ---- §3 consuming ----

// A backward step of the wall makes AT jobs wait for the corrected wall and moves nothing else.
func TestWallStep(t *testing.T) {
	play(t, `
		DQADD q at x AT @10 -> "at"
		DQADD q rel x DELAY 10 -> "rel"
		DQADD q now x LEASE 10 BACKOFF fixed:0 -> "now"
		DQADD q old x PRI 200 -> "old"
		DQPOP q -> [["q" "now" "x" t1 1 @0]]
		wall -1s
		DQGET q old due -> [@0]
		+10ms
		DQPEEK q STATE ready -> [["rel" @-990 0 "x"] ["now" @-990 1 "x"] ["old" @0 0 "x"]]
		+999ms999us999ns
		DQGET q at state -> ["delayed"]
		+1ns
		DQGET q at state due -> ["ready" @10]
	`)
}

// ---- §4 looking ----

// DQGET shows the live job, else the newest dead one, else null; an unknown field is null.
func TestGet(t *testing.T) {
	play(t, `
		DQGET q a -> (nil)
		DQADD q a one -> "a"
		DQPOP q -> [["q" "a" "one" t1 1 @0]]
		DQNACK q a t1 DEAD -> 1
		DQADD q a two -> "a"
		DQGET q a payload state nonsense PAYLOAD -> ["two" "ready" (nil) "two"]
		DQPOP q -> [["q" "a" "two" t2 1 @0]]
		DQNACK q a t2 DEAD -> 1
		DQGET q a payload state -> ["two" "dead"]
	`)
}

// DQPEEK lists ready jobs, then delayed ones, in the order in which they leave; DQLEN counts live jobs.
func TestPeekLen(t *testing.T) {
	play(t, `
		DQMADD q JOBS 3 c x +7 b x +5 a x +0 -> ["c" "b" "a"]
		DQPEEK q -> [["a" @0 0 "x"] ["b" @5 0 "x"] ["c" @7 0 "x"]]
		DQPEEK q COUNT 2 -> [["a" @0 0 "x"] ["b" @5 0 "x"]]
		DQPEEK q STATE delayed COUNT 1 -> [["b" @5 0 "x"]]
		DQPEEK q COUNT 0 -> ERR
		DQPEEK u -> []
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQPEEK q STATE leased -> (in any order ["a" @0 1 "x"])
		DQLEN q -> 3
		DQLEN q STATE leased -> 1
		DQLEN q STATE lost -> ERR
		DQLEN u -> 0
	`)
}

// A queue is unknown until it holds something, and keeps its counters afterwards.
func TestStats(t *testing.T) {
	play(t, `
		DQPOP q -> (nil)
		DQADD q a x XX -> (nil)
		DQADD q a x PRI 256 -> ERR
		DQSTATS q -> (nil)
		DQADD q a x -> "a"
		c1: DQPOP other BLOCK 1s -> waits
		DQCANCEL q a -> 1
		DQSTATS q -> `+stats("added 1 cancelled 1")+`
	`)
}

// stats is the answer of DQSTATS with the given values, everything else 0.
func stats(given string) string {
	values := map[string]string{"next-due": "(nil)", "paused": `"none"`}
	for _, name := range []string{"bytes", "oldest-ready-ms", "late-p50-us", "late-p99-us", "late-max-us", "run-p50-us", "run-p99-us"} {
		values[name] = "(anything)"
	}
	words := strings.Fields(given)
	for i := 0; i < len(words); i += 2 {
		values[words[i]] = words[i+1]
		if words[i] == "delayed" {
			values["next-due"] = "@7"
		}
	}
	var b strings.Builder
	for i, name := range strings.Fields(`delayed ready leased dead bytes oldest-ready-ms next-due added delivered acked noack nacked expired cancelled purged
		pruned lease-timeouts paused blocked late-p50-us late-p99-us late-max-us run-p50-us run-p99-us`) {
		if i > 0 {
			b.WriteByte(' ')
		}
		value := values[name]
		if value == "" {
			value = "0"
		}
		b.WriteString(quote(name) + " " + value)
	}
	return "{" + b.String() + "}"
}

// ---- the parts ----

// Every spelling of a duration or time that the contract allows is read, everything else is refused: a bad time must never mean "at once".
func TestParse(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "5": 5 * ms, "5ms": 5 * ms, "5MS": 5 * ms, "7ns": 7, "7us": 7000, "1h30m": 90 * 60 * second, "1d": day, "36500d": maxAhead, "1s5ms3ns": second + 5*ms + 3} {
		if got, ok := parseDur(s); !ok || got != want {
			t.Errorf("duration %q: %d %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-5", "+5", "1.5", "1e3", "ms", "5x", "5 ", " 5", "36501d", "99999999999999999999", "1h30", "5ms5"} {
		if got, ok := parseDur(s); ok {
			t.Errorf("duration %q is read as %d", s, got)
		}
	}
	const at = 1_800_000_000_000 * ms
	for s, want := range map[string]int64{"1800000000000": at, "1800000000s": at, "1800000000000000us": at, "1800000000000000000NS": at, "1000000000000": 1_000_000_000_000 * ms,
		"2027-01-15T08:00:00Z": at, "2027-01-15T10:30:00+02:30": at, "2027-01-15T08:00:00.000000001Z": at + 1, "5s": 5 * second} {
		if got, ok := parseTime(s); !ok || got != want {
			t.Errorf("time %q: %d %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "0", "999999999999", "1800000900", "-1", "1.5", "5m", "soon", "2027-01-15T08:00:00", "1800000000000 ", "99999999999999999s"} {
		if got, ok := parseTime(s); ok {
			t.Errorf("time %q is read as %d", s, got)
		}
	}
}

// What the model leaves open accepts what it should and nothing else.
func TestDiff(t *testing.T) {
	lease := func(n int64) Reply { return Reply{Kind: Lease, Num: n, Str: "job"} }
	made := func(s string) Reply { return Reply{Kind: MadeID, Str: s} }
	n := NewNames()
	for _, c := range []struct {
		want, got Reply
		equal     bool
	}{
		{null(), null(), true},
		{null(), number(0), false},
		{none(), number(0), true},
		{none(), bulk(""), true},
		{none(), bulk("x"), false},
		{number(5), bulk("5"), false},
		{fail("DUPID|QUEUEFULL", "x"), fail("QUEUEFULL", "y"), true},
		{fail("DUPID|QUEUEFULL", "x"), fail("ERR", "x"), false},
		{fail("ERR", "x"), status("ERR x"), false},
		{oneOf(number(1), null()), null(), true},
		{oneOf(number(1), null()), number(2), false},
		{array(number(1)), array(number(1), number(2)), false},
		{Reply{Kind: Map, Items: []Reply{bulk("a"), number(1), bulk("b"), none()}}, Reply{Kind: Array, Items: []Reply{bulk("x"), null(), bulk("a"), number(1)}}, true},
		{Reply{Kind: Map, Items: []Reply{bulk("a"), number(1)}}, Reply{Kind: Map, Items: []Reply{bulk("a"), number(2)}}, false},
		{Reply{Kind: Map, Items: []Reply{bulk("a"), number(1)}}, Reply{Kind: Map}, false},
		{Reply{Kind: Bag, Items: []Reply{number(1), number(2)}}, array(number(2), number(1)), true},
		{Reply{Kind: Bag, Items: []Reply{number(1), number(1)}}, array(number(2), number(1)), false},
		{lease(1), number(40), true},
		{lease(1), number(40), true},
		{lease(1), number(41), false},
		{lease(2), number(40), false},
		{lease(2), number(39), false},
		{lease(2), number(44), true},
		{lease(3), number(1 << 53), false},
		{made("m-1"), bulk("1800000000000-0"), true},
		{made("m-1"), bulk("1800000000000-1"), false},
		{made("m-2"), bulk("1800000000000-0"), false},
		{made("m-2"), bulk("whatever"), false},
	} {
		if d := n.Diff(c.want, c.got); (d == "") != c.equal {
			t.Errorf("want %v, got %v: %q", c.want, c.got, d)
		}
	}
}
