package client

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestSpan(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0ms", 999: "999ms", 1000: "1.0s", 59_999: "59.9s", 60_000: "1m00s", 3_599_999: "59m59s",
		3_600_000: "1h00m", 86_399_999: "23h59m", 86_400_000: "1d00h", 40 * 86_400_000: "40d00h", -1500: "-1.5s",
	} {
		if got := span(ms); got != want {
			t.Errorf("%d ms is shown as %s, want %s", ms, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", 1<<20 - 1: "1.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d bytes are shown as %s, want %s", n, got, want)
		}
	}
}

// Nothing that a client put into a name or a payload reaches a terminal as a command.
func TestShown(t *testing.T) {
	for s, want := range map[string]string{
		"mail": "mail", "größe 東": "größe 東", "": `""`, "a\x1b[2Jb": `"a\x1b[2Jb"`, "\xff": `"\xff"`, "a\nb": `"a\nb"`, `"quoted"`: `"\"quoted\""`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := shown(s, false); got != want {
			t.Errorf("%q is shown as %s, want %s", s, got, want)
		}
	}
	if got := shown("{\n\t\"a\": 1\n}", true); got != "{\n\t\"a\": 1\n}" {
		t.Errorf("lines of a payload are shown as %s", got)
	}
	if got := shown("a\rb\x1b", true); got != `"a\rb\x1b"` {
		t.Error(got)
	}
}

// sample is what a server said.
func sample(at time.Time, added int64) *view {
	stats := func(ready, late, leased, delayed, next, dead, blocked int64, paused string) fields {
		f := fields{
			"ready": ready, "oldest-ready-ms": late, "leased": leased, "delayed": delayed, "dead": dead, "blocked": blocked, "paused": paused,
			"bytes": int64(5000), "added": added, "delivered": int64(7), "late-p50-us": int64(310), "late-p99-us": int64(2400), "late-max-us": int64(250_000),
		}
		if next > 0 {
			f["next-due"] = next
		}
		return f
	}
	const now = 1_800_000_000_000
	return &view{
		addr: "127.0.0.1:7711", at: at, now: now,
		info:  fields{"dqd_version": "1.0.0", "uptime_in_seconds": "4000", "connected_clients": "12", "disk_guard": "ok", "maxmemory_guard": "ok"},
		clock: fields{"state": "ok"},
		all:   stats(1234567, 65_000, 3, 20, now+1, 4, 2, ""),
		queues: []queue{
			{"orders", 10, stats(1234567, 65_000, 3, 0, 0, 4, 2, "none")},
			{"a\nb", 10, stats(0, 0, 0, 20, now+90_000, 0, 0, "all")},
		},
	}
}

const wantView = `
dqd 1.0.0 at 127.0.0.1:7711   up 1h06m   clients 12, waiting pops 2   clock ok
jobs    ready 1234567   late 1m05s   leased 3   delayed 20   dead 4   payloads 4.9 KiB
lateness of deliveries   p50 0.31ms   p99 2.40ms   max 250ms
totals since the first job   added 100   delivered 7   acked 0   nacked 0   lease-timeouts 0   cancelled 0   expired 0

QUEUE     READY   LATE  LEASED  DELAYED   NEXT  DEAD  WAITING  PAUSED
orders  1234567  1m05s       3        0      -     4        2  -
"a\nb"        0      -       0       20  1m30s     0        0  all
`

// What docs/operations.md shows of dqd top is what it prints.
func TestTopIsAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	v := sample(time.Unix(1_800_000_000, 0), 100)
	v.all["ready"], v.queues[0].fields["ready"], v.queues[1].name = int64(310), int64(310), "mail"
	if want := strings.Join(v.lines(v.totals(), 0, 0), "\n"); !strings.Contains(string(text), "\n```\n"+want+"\n```\n") {
		t.Errorf("docs/operations.md does not show\n%s", want)
	}
}

func TestView(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	v := sample(begin, 100)
	text := func(lines []string) string { return "\n" + strings.Join(lines, "\n") + "\n" }
	if got := text(v.lines(v.totals(), 0, 0)); got != wantView {
		t.Errorf("got%s\nwant%s", got, wantView)
	}
	// Rates need two readings: until then nothing is shown that might be taken for one.
	if got, want := v.lines(v.rates(nil), 0, 0)[3], "added -   delivered -   acked -   nacked -   lease-timeouts -   cancelled -   expired -"; got != want {
		t.Errorf("the first reading has %s", got)
	}
	later := sample(begin.Add(2*time.Second), 350)
	later.info["disk_guard"], later.clock["state"] = "refuses-adds", "held"
	lines := later.lines(later.rates(v), 0, 0)
	if !strings.HasPrefix(lines[3], "added 125/s   delivered 0/s") || !strings.HasSuffix(lines[0], "clock held!   adds refused: disk!") {
		t.Error(text(lines))
	}
	if got := paint(lines[0], 0, true); got != red+lines[0]+plain {
		t.Errorf("%q", got)
	}
	if got := paint(lines[headLines], headLines, true); !strings.HasPrefix(got, bold+"QUEUE ") {
		t.Errorf("%q", got)
	}
	if got := paint(lines[0], 0, false); got != lines[0] {
		t.Errorf("%q", got)
	}
	// A small terminal.
	lines = later.lines(later.rates(v), 7, 30)
	if len(lines) != 7 || lines[6] != "… 2 more queues: dqd queue ls" {
		t.Error(text(lines))
	}
	// Not all queues were looked at.
	later.others, later.more = 9000, true
	all := later.lines(later.rates(v), 0, 0)
	if got := all[len(all)-1]; got != "… at least 9001 more queues, these are of the first 10000: dqd queue ls" {
		t.Error(got)
	}
	for _, l := range append(lines, later.lines(later.rates(v), 7, 30)...) {
		if n := len([]rune(l)); n > 30 {
			t.Errorf("%d characters: %s", n, l)
		}
	}
}

// On a narrow terminal less is shown, and a mark says so, but no number is cut, and what is
// wrong stays. Only a queue's name is shortened.
func TestNarrowView(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	before, v := sample(begin, 0), sample(begin.Add(time.Second), 12_345_678)
	v.info["disk_guard"], v.clock["state"] = "refuses-adds", "held"
	for i, name := range []string{"ready", "leased", "delayed", "dead", "delivered", "acked", "nacked", "lease-timeouts", "cancelled", "expired"} {
		v.all[name] = int64(1_234_567_890 + i)
	}
	for i, name := range []string{"ready", "leased", "delayed", "dead", "blocked"} {
		v.queues[0].fields[name] = int64(123_456_789 + i)
	}
	v.queues[0].name = strings.Repeat("name", 20)
	cells := func(line string) []string { return regexp.MustCompile(` {2,}`).Split(line, -1) }
	wide := v.lines(v.rates(before), 0, 0)
	for columns := 60; columns <= 300; columns++ {
		lines := v.lines(v.rates(before), 0, columns)
		if len(lines) != len(wide) {
			t.Fatalf("%d columns: %d lines, not %d", columns, len(lines), len(wide))
		}
		for i, line := range lines {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns: %d in %s", columns, n, line)
			}
			shown := cells(line)
			if last := len(shown) - 1; i <= headLines && shown[last] == omitted {
				shown = shown[:last]
			}
			if whole := len(shown) == len(cells(wide[i])); i <= headLines && whole == strings.HasSuffix(line, omitted) {
				t.Errorf("%d columns: whether something is left out is not to be seen in %s", columns, line)
			}
			for at, cell := range shown {
				name := at == 0 && i > headLines
				if !name && !slices.Contains(cells(wide[i]), cell) {
					t.Errorf("%d columns: %q is no part of %q", columns, cell, wide[i])
				}
			}
		}
		if !strings.Contains(lines[0], "clock held!   adds refused: disk!") || !strings.Contains(lines[3], "added 12345678/s") {
			t.Errorf("%d columns: %s", columns, lines)
		}
	}
	for columns, want := range map[int]string{
		80: `
dqd 1.0.0 at 127.0.0.1:7711   up 1h06m   clients 12, waiting pops 2   clock ok
jobs    ready 0   late -   leased 3   delayed 20   dead 4   payloads 4.9 KiB
lateness of deliveries   p50 0.31ms   p99 2.40ms   max 250ms
added -   delivered -   acked -   nacked -   lease-timeouts -   cancelled -   …

QUEUE     READY   LATE  LEASED  DELAYED   NEXT  DEAD  WAITING  PAUSED
orders  1234567  1m05s       3        0      -     4        2  -
"a\nb"        0      -       0       20  1m30s     0        0  all
`,
		60: `
dqd 1.0.0 at 127.0.0.1:7711   clock ok   …
jobs    ready 0   late -   leased 3   dead 4   …
lateness of deliveries   p50 0.31ms   p99 2.40ms   max 250ms
added -   delivered -   acked -   nacked -   …

QUEUE     READY   LATE  LEASED  DELAYED  DEAD  PAUSED  …
orders  1234567  1m05s       3        0     4  -
"a\nb"        0      -       0       20     0  all
`,
	} {
		v := sample(begin, 100)
		v.all["ready"], v.all["oldest-ready-ms"] = int64(0), int64(0)
		if got := "\n" + strings.Join(v.lines(v.rates(nil), 0, columns), "\n") + "\n"; got != want {
			t.Errorf("%d columns:%s\nwant%s", columns, got, want)
		}
	}
}
