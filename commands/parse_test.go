package commands

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dqd/persist/record"
)

// Protects the translation from command lines to requests: each file holds
// sessions, one command a line, and what each is parsed to.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				_, r, err := Parse(splitLine(t, line), DefaultLimits())
				switch {
				case err != nil:
					out.WriteString("-" + err.Error() + "\n")
				default:
					out.WriteString(dump(reflect.ValueOf(r)) + "\n")
				}
			}
			return out.String()
		})
	})
}

// splitLine splits a line as redis-cli does: words, or "strings" with \xNN, \n,
// \" in them.
func splitLine(t testing.TB, line string) [][]byte {
	var args [][]byte
	for s := strings.TrimSpace(line); s != ""; s = strings.TrimLeft(s, " ") {
		if s[0] != '"' {
			word, rest, _ := strings.Cut(s, " ")
			args = append(args, []byte(word))
			s = rest
			continue
		}
		end := 1
		for s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		word, err := strconv.Unquote(s[:end+1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		args = append(args, []byte(word))
		s = s[end+1:]
	}
	return args
}

// dump writes a request without the fields that are zero or say "not given".
func dump(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []byte:
		return strconv.Quote(string(x))
	case record.Backoff:
		return FormatBackoff(&x)
	case record.State:
		return StateName(x)
	case record.Digest:
		return "…" // tested by TestDigest
	}
	switch v.Kind() {
	case reflect.Pointer:
		return dump(v.Elem())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = dump(v.Index(i))
		}
		return "[" + strings.Join(items, " ") + "]"
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			if name == "Pri" || name == "Attempts" {
				if f.Int() == -1 {
					continue
				}
			} else if f.IsZero() {
				continue
			}
			fields = append(fields, name+":"+dump(f))
		}
		return v.Type().Name() + "{" + strings.Join(fields, " ") + "}"
	case reflect.String:
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

// Protects the hot commands from allocating more than the request itself.
func TestParseAllocates(t *testing.T) {
	for _, test := range []struct {
		line string
		want float64
	}{
		{`DQADD mail m1 hello`, 1},
		{`DQADD mail m1 hello DELAY 15m PRI 10 TTL 1h`, 1},
		{`DQADD mail m1 hello META lang en`, 2},
		{`DQPOP mail`, 1},
		{`DQPOP mail COUNT 10 BLOCK 4s LEASE 1m WORKER w1`, 1},
		{`DQACK mail m1 1`, 1},
		{`DQACK mail m1 1 m2 2`, 2},
		{`DQCANCEL mail m1 m2 m3`, 1},
	} {
		args, lim := splitLine(t, test.line), DefaultLimits()
		got := testing.AllocsPerRun(100, func() {
			if _, _, err := Parse(args, lim); err != nil {
				t.Fatal(err)
			}
		})
		if got != test.want {
			t.Errorf("%s: %v allocations, want %v", test.line, got, test.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, line := range []string{
		`DQADD mail m1 hello`,
		`DQADD mail m1 hello DELAY 15m PRI 10 TTL 1h META lang en`,
		`DQADD mail m1 hello DELAY 15m IDEM`,
		`DQPOP mail COUNT 10 BLOCK 4s`,
		`DQACK mail m1 123456`,
	} {
		args, lim := splitLine(b, line), DefaultLimits()
		b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(args, lim)
			}
		})
	}
}

// Protects IDEM: what is the same request has the same digest, what differs in
// anything that the client asked for has another.
func TestDigest(t *testing.T) {
	digestOf := func(line string) record.Digest {
		_, r, err := Parse(splitLine(t, line), DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch r := r.(type) {
		case *Add:
			return r.Job.Digest
		case *MAdd:
			return r.Jobs[len(r.Jobs)-1].Digest
		}
		panic(line)
	}
	groups := [][]string{{
		`DQADD q m1 p IDEM`,
		`dqadd q m1 p idem`,
		`DQADD other m2 p IDEM`, // queue and id are where the digest is kept
	}, {
		`DQADD q m1 p2 IDEM`,
	}, {
		`DQADD q m1 p IDEM DELAY 90m`,
		`DQADD q m1 p DELAY 5400000 IDEM`,
		`DQADD q m1 p DELAY 1H30M IDEM`,
		`DQADD q m1 p DELAY 5400000000us IDEM`,
		`DQMADD q IDEM JOBS 1 m1 p +90m`,
		`DQMADD q IDEM JOBS 2 m0 p 1800000000000 m1 p +5400s`,
	}, {
		`DQADD q m1 p IDEM DELAY 0`, // an explicit default differs from none
	}, {
		`DQADD q m1 p IDEM AT 1800000000000`,
		`DQADD q m1 p IDEM AT 1800000000s`,
		`DQADD q m1 p IDEM AT 2027-01-15T08:00:00Z`,
		`DQADD q m1 p IDEM AT 2027-01-15T10:00:00+02:00`,
		`DQMADD q IDEM JOBS 1 m1 p 1800000000000000000ns`,
	}, {
		`DQADD q m1 p IDEM AT 1800000000001`,
	}, {
		`DQADD q m1 p IDEM META a 1 META b 2 PRI 3`,
		`DQADD q m1 p PRI 3 META b 2 META a 1 IDEM`,
		`DQADD q m1 p PRI 3 META b 0 META a 1 META b 2 IDEM`,
	}, {
		`DQADD q m1 p DELAY 0 IDEM META a 1 META b 2 PRI 3`,
		`DQMADD q META b 2 IDEM PRI 3 META a 1 JOBS 1 m1 p +0`,
	}, {
		`DQADD q m1 p IDEM META a 2 META b 1 PRI 3`,
	}, {
		`DQADD q m1 p IDEM META ab c`,
	}, {
		`DQADD q m1 p IDEM META a bc`,
	}, {
		`DQADD q m1 p IDEM PRI 0`,
	}, {
		`DQADD q m1 p IDEM PRI 128`,
	}, {
		`DQADD q m1 p IDEM ATTEMPTS 0`,
	}, {
		`DQADD q m1 p IDEM TTL 1h`,
		`DQADD q m1 p IDEM TTL 60m`,
	}, {
		`DQADD q m1 p IDEM EXPIREAT 1800000000000`,
	}, {
		`DQADD q m1 p IDEM LEASE 1h`,
	}, {
		`DQADD q m1 p IDEM MAXLEN 5`,
	}, {
		`DQADD q m1 p IDEM BACKOFF exp:1s:1h`,
		`DQADD q m1 p IDEM BACKOFF EXP:1000:60m:2.000:0%`,
	}, {
		`DQADD q m1 p IDEM BACKOFF exp:1s:1h:2:1%`,
	}, {
		`DQADD q m1 p IDEM BACKOFF list:1s,1h`,
	}, {
		`DQADD q m1 p IDEM BACKOFF fixed:1s`,
	}}
	seen := map[record.Digest]string{}
	for _, group := range groups {
		first := digestOf(group[0])
		if other, ok := seen[first]; ok {
			t.Errorf("%s has the digest of %s", group[0], other)
		}
		seen[first] = group[0]
		for _, line := range group[1:] {
			if digestOf(line) != first {
				t.Errorf("%s: not the digest of %s", line, group[0])
			}
		}
	}
	if digestOf(`DQADD q m1 p`) != (record.Digest{}) {
		t.Error("a digest without IDEM")
	}
}

// Protects stored digests: they outlive the process that made them.
func TestDigestIsStable(t *testing.T) {
	line := `DQADD q m1 "the payload" IDEM DELAY 90m TTL 1d PRI 7 ATTEMPTS 3 LEASE 1m MAXLEN 100 BACKOFF exp:1s:1h:1.5:10% META b 2 META a 1`
	_, r, err := Parse(splitLine(t, line), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	const want = "7a399d3690a6791a029e011af4bf7ff9"
	if got := fmt.Sprintf("%x", r.(*Add).Job.Digest); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// Protects every limit: its last value is taken, the next one refused.
func TestLimits(t *testing.T) {
	rep := func(b string, n int) string { return strings.Repeat(b, n) }
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(" " + f(i))
		}
		return b.String()
	}
	id := func(i int) string { return "m" + strconv.Itoa(i) }
	meta := func(i int) string { return "META " + id(i) + " v" }
	day := int64(24 * 3600 * 1000)
	for _, test := range []struct {
		name string
		line func(n int) string
		at   int // the limit
		from int // the smallest value that is taken, if the limit is a lower one too
		code string
	}{
		{"queue", func(n int) string { return "DQLEN " + rep("q", n) }, 255, 1, "BADID"},
		{"id", func(n int) string { return "DQADD q " + rep("i", n) + " p" }, 1024, 1, "BADID"},
		{"id of get", func(n int) string { return "DQGET q " + rep("i", n) }, 1024, 1, "BADID"},
		{"id of ack", func(n int) string { return "DQACK q " + rep("i", n) + " 1" }, 1024, 1, "BADID"},
		{"id of madd", func(n int) string { return "DQMADD q JOBS 1 " + rep("i", n) + " p +0" }, 1024, 1, "BADID"},
		{"worker", func(n int) string { return "DQPOP q WORKER " + rep("w", n) }, 255, 1, "BADID"},
		{"payload", func(n int) string { return "DQADD q m " + rep("p", n) }, 1 << 20, 0, "TOOBIG"},
		{"payload of madd", func(n int) string { return "DQMADD q JOBS 1 m " + rep("p", n) + " +0" }, 1 << 20, 0, "TOOBIG"},
		{"payload of reschedule", func(n int) string { return "DQRESCHEDULE q m NOW PAYLOAD " + rep("p", n) }, 1 << 20, 0, "TOOBIG"},
		{"meta pairs", func(n int) string { return "DQADD q m p" + many(n, meta) }, 32, 0, "TOOBIG"},
		{"meta bytes", func(n int) string { return "DQADD q m p META f " + rep("v", n-1) }, 8192, 0, "TOOBIG"},
		{"delay", func(n int) string { return fmt.Sprint("DQADD q m p DELAY ", int64(n)*day) }, 36525, 0, "BADTIME"},
		{"delay in days", func(n int) string { return fmt.Sprint("DQADD q m p DELAY ", n, "d") }, 36525, 0, "BADTIME"},
		{"pri", func(n int) string { return fmt.Sprint("DQADD q m p PRI ", n) }, 255, 0, "ERR"},
		{"attempts", func(n int) string { return fmt.Sprint("DQADD q m p ATTEMPTS ", n) }, 65535, 0, "ERR"},
		{"lease", func(n int) string { return fmt.Sprint("DQPOP q LEASE ", n) }, 12 * 3600 * 1000, 1, "BADTIME"},
		{"lease of add", func(n int) string { return fmt.Sprint("DQADD q m p LEASE ", n) }, 12 * 3600 * 1000, 1, "BADTIME"},
		{"count", func(n int) string { return fmt.Sprint("DQPOP q COUNT ", n) }, 1000, 1, "ERR"},
		{"fields", func(n int) string { return "DQGET q m" + many(n, id) }, 64, 0, "ERR"},
		{"ids of cancel", func(n int) string { return "DQCANCEL q" + many(n, id) }, 10_000, 1, "ERR"},
		{"ids of mcancel", func(n int) string { return fmt.Sprint("DQMCANCEL q IDS ", n, many(n, id)) }, 10_000, 1, "ERR"},
		{"ids of requeue", func(n int) string { return fmt.Sprint("DQREQUEUE q IDS ", n, many(n, id)) }, 10_000, 1, "ERR"},
		{"worker of release", func(n int) string { return "DQRELEASE q WORKER " + rep("w", n) }, 255, 1, "BADID"},
		{"spread", func(n int) string { return fmt.Sprint("DQREQUEUE q SPREAD ", n, "d ALL") }, 36525, 0, "BADTIME"},
		{"ids of ack", func(n int) string { return "DQACK q" + many(n, func(i int) string { return id(i) + " 1" }) }, 10_000, 1, "ERR"},
		{"ids of mack", func(n int) string {
			return fmt.Sprint("DQMACK q JOBS ", n, many(n, func(i int) string { return id(i) + " 1" }))
		}, 10_000, 1, "ERR"},
		{"jobs of madd", func(n int) string {
			return fmt.Sprint("DQMADD q JOBS ", n, many(n, func(i int) string { return id(i) + " p +0" }))
		}, 4096, 1, "TOOBIG"},
		{"steps of backoff", func(n int) string { return "DQADD q m p BACKOFF list:" + strings.Repeat("1s,", n-1) + "1s" }, 32, 1, "ERR"},
		{"factor of backoff", func(n int) string { return fmt.Sprint("DQADD q m p BACKOFF exp:1:2:", n) }, 1000, 1, "ERR"},
		{"jitter of backoff", func(n int) string { return fmt.Sprint("DQADD q m p BACKOFF exp:1:2:", n, "%") }, 100, 0, "ERR"},
	} {
		parse := func(n int) error {
			_, _, err := Parse(splitLine(t, test.line(n)), DefaultLimits())
			return err
		}
		for n := test.at - 1; n <= test.at; n++ {
			if err := parse(n); err != nil {
				t.Errorf("%s: %d: %v", test.name, n, err)
			}
		}
		if err := parse(test.at + 1); err == nil || !strings.HasPrefix(err.Error(), test.code+" ") {
			t.Errorf("%s: %d: %v, want %s", test.name, test.at+1, err, test.code)
		}
		if test.from > 0 {
			if err := parse(test.from); err != nil {
				t.Errorf("%s: %d: %v", test.name, test.from, err)
			}
		}
	}
}

// Protects the limit on the bytes of a batch, at its value and one byte above.
func TestBatchBytes(t *testing.T) {
	lim := DefaultLimits()
	for over := range 2 {
		args := splitLine(t, "DQMADD q JOBS 17")
		left := lim.MaxBatchBytes - len("DQMADDqJOBS17") + over
		for i := range 17 {
			id := []byte(fmt.Sprint(i))
			size := min(lim.MaxPayload, left-len(id)-len("+0")-(16-i)*8)
			if i == 16 {
				size = left - len(id) - len("+0")
			}
			args = append(args, id, bytes.Repeat([]byte("p"), size), []byte("+0"))
			left -= len(id) + size + len("+0")
		}
		_, _, err := Parse(args, lim)
		if over == 0 && err != nil || over == 1 && (err == nil || !strings.HasPrefix(err.Error(), "TOOBIG ")) {
			t.Errorf("%d bytes too many: %v", over, err)
		}
	}
}
