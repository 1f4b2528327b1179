package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dqd/persist/record"
)

// testWriter writes RESP2 or RESP3 by the book.
type testWriter struct {
	resp3 bool
	out   []byte
}

func (w *testWriter) printf(format string, args ...any) {
	w.out = fmt.Appendf(w.out, format+"\r\n", args...)
}

func (w *testWriter) Simple(s string)     { w.printf("+%s", s) }
func (w *testWriter) Error(s string)      { w.printf("-%s", s) }
func (w *testWriter) Int(n int64)         { w.printf(":%d", n) }
func (w *testWriter) Bulk(b []byte)       { w.printf("$%d\r\n%s", len(b), b) }
func (w *testWriter) BulkString(s string) { w.Bulk([]byte(s)) }
func (w *testWriter) Array(n int)         { w.printf("*%d", n) }

func (w *testWriter) Null() {
	if w.resp3 {
		w.printf("_")
	} else {
		w.printf("$-1")
	}
}

func (w *testWriter) NullArray() {
	if w.resp3 {
		w.printf("_")
	} else {
		w.printf("*-1")
	}
}

func (w *testWriter) Map(n int) {
	if w.resp3 {
		w.printf("%%%d", n)
	} else {
		w.printf("*%d", 2*n)
	}
}

func encode(r Reply, resp3 bool) []byte {
	w := &testWriter{resp3: resp3}
	r.WriteReply(w)
	return w.out
}

// testReplies are the replies whose bytes testdata/replies holds.
func testReplies() map[string]Reply {
	full := Delivery{
		Queue: []byte("mail"), ID: []byte("m1"), Payload: []byte("a\x00\r\n"), Token: 7, Attempt: 2, Due: 1800000000000000001,
		LateUs: 55, Created: 1700000000000000000, LeaseUntil: 1800000030000000000, MaxAttempts: 25, Pri: 128,
		Meta: []record.Field{{Name: []byte("lang"), Value: []byte("en")}}, Reason: []byte("no route"),
	}
	bare := Delivery{Queue: []byte("mail"), ID: []byte("m2"), Token: 8, Attempt: 1, Due: 1_000_000}
	delayed := JobInfo{
		ID: []byte("m1"), Queue: []byte("mail"), State: record.Delayed, Due: 1800000000000000001, Created: 1700000000000000000,
		MaxAttempts: 25, Pri: 128, Backoff: record.Backoff{Kind: record.BackoffExp, Steps: []int64{1e9, 3600e9}, Factor: 2000}, LateUs: -1,
		Payload: []byte("hello"),
	}
	leased := JobInfo{
		ID: []byte("m1"), Queue: []byte("mail"), State: record.Leased, Due: 1800000000000000000, Created: 1700000000000000000,
		Attempt: 2, Token: 7, LeaseUntil: 1800000030000000000, Worker: []byte("w1"), ExpireAt: 1900000000000000000, Reason: []byte{},
		Backoff: record.Backoff{Kind: record.BackoffList, Steps: []int64{1e10, 6e10, 1}}, Meta: []record.Field{{Name: []byte("a"), Value: []byte("1")}, {Name: []byte("b")}},
	}
	some := delayed
	some.Fields = []string{"payload", "", "state", "token", "backoff"}
	none := delayed
	none.Fields = []string{}
	return map[string]Reply{
		"ok": OK, "int": Int(-3), "bulk": Bulk("a\r\n"), "null": Null{}, "null array": NullArray{},
		"error": Error("DUPID x"), "codes": Codes{Done, NotMet, BadToken, NoSuchJob, WrongState, BeyondMax},
		"array":             Array{Bulk("m1"), Null{}},
		"deliveries":        &Deliveries{Jobs: []Delivery{full, bare}},
		"deliveries full":   &Deliveries{Jobs: []Delivery{full, bare}, Full: true},
		"job delayed":       &delayed,
		"job leased":        &leased,
		"job some fields":   &some,
		"job no field":      &none,
		"peeked":            Peeked{{ID: []byte("m1"), Payload: []byte("p"), Due: 1800000000000000000, Attempt: 1}, {}},
		"peeked none":       Peeked{},
		"ranged":            &Ranged{Jobs: []PeekedJob{{ID: []byte("m1"), Due: 1800000000000000001, Payload: []byte("p")}, {}}},
		"ranged payload":    &Ranged{Jobs: []PeekedJob{{ID: []byte("m1"), Due: 1800000000000000001, Payload: []byte("p")}, {}}, Payload: true},
		"page":              &Page{Cursor: 1<<64 - 1, Items: Array{Bulk("m1"), Array{Bulk("m2"), Int(5)}}},
		"page none":         &Page{Items: Array{}},
		"dead job":          &DeadJob{ID: []byte("m1"), Payload: []byte("p"), Died: 1800000000000000001, Attempt: 3, Cause: record.CauseAttempts, Reason: []byte("no route")},
		"dead job expired":  &DeadJob{ID: []byte("m1"), Cause: record.CauseExpired},
		"dead job nack":     &DeadJob{ID: []byte("m1"), Cause: record.CauseNack, Reason: []byte{}},
		"stats":             &QueueStats{1, 2, 3, 4, 5, 6, 7_000_001, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "none", 18, 19, 20, 21, 22, 23},
		"stats none due":    &QueueStats{Paused: "all"},
		"clock":             &ClockInfo{Now: 1800000000123456789, Source: "tsc", TSCHz: 2_000_000_000, OffsetUs: -5, UncertaintyUs: 2, Steps: 1, State: "ok"},
		"command info":      CommandReply(&CommandQuery{Sub: "info", Args: [][]byte{[]byte("DQADD"), []byte("nothing"), []byte("dqlen"), []byte("hello"), []byte("client|setname")}}),
		"command info keys": CommandReply(&CommandQuery{Sub: "info", Args: [][]byte{[]byte("dqmpop"), []byte("exists")}}),
		"command info sub":  CommandReply(&CommandQuery{Sub: "info", Args: [][]byte{[]byte("config")}}),
		"command docs":      CommandReply(&CommandQuery{Sub: "docs", Args: [][]byte{[]byte("dqack"), []byte("nothing"), []byte("dqlen"), []byte("config|set")}}),
		"command help":      HelpReply(&Help{"command"}),
		"config help":       HelpReply(&Help{"config"}),
	}
}

// Protects the bytes of every reply in RESP2 and in RESP3. Each test names a
// reply; line ends are shown as spaces, other special bytes as escapes.
func TestReplies(t *testing.T) {
	replies := testReplies()
	datadriven.RunTest(t, "testdata/replies", func(t *testing.T, d *datadriven.TestData) string {
		name := strings.TrimSpace(d.Input)
		r, ok := replies[name]
		if !ok {
			d.Fatalf(t, "no reply %q", name)
		}
		delete(replies, name)
		show := func(b []byte) string {
			s := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", " "), " ")
			s = strconv.Quote(s)
			return s[1 : len(s)-1]
		}
		two, three := show(encode(r, false)), show(encode(r, true))
		if two == three {
			return "both:  " + two
		}
		return "RESP2: " + two + "\nRESP3: " + three
	})
	for name := range replies {
		t.Errorf("%q is not in testdata/replies", name)
	}
}

// Protects reply-max: a job never takes more bytes than EncodedSize says, nor many fewer.
func TestEncodedSize(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 99, 100, 1 << 20} {
		b := []byte(strings.Repeat("x", n))
		d := Delivery{Queue: b, ID: b, Payload: b, Token: 1<<53 - 1, Attempt: 1 << 31, Due: 1<<63 - 1, LateUs: 1<<53 - 1, Created: 1<<63 - 1,
			LeaseUntil: 1<<63 - 1, MaxAttempts: 65535, Pri: 255, Reason: b}
		for range 32 {
			d.Meta = append(d.Meta, record.Field{Name: b[:min(n, 100)], Value: b[:min(n, 100)]})
		}
		most, bound := 0, d.EncodedSize()
		for _, full := range []bool{false, true} {
			for _, resp3 := range []bool{false, true} {
				most = max(most, len(encode(&Deliveries{Jobs: []Delivery{d}, Full: full}, resp3))-len("*1\r\n"))
			}
		}
		if most > bound || bound > most+2000 {
			t.Errorf("%d: %d bytes, EncodedSize %d", n, most, bound)
		}
		p := PeekedJob{ID: b, Payload: b, Due: 1<<63 - 1, Attempt: 1 << 31}
		most, bound = len(encode(Peeked{p}, false))-len("*1\r\n"), p.EncodedSize()
		if most > bound || bound > most+100 {
			t.Errorf("peeked %d: %d bytes, EncodedSize %d", n, most, bound)
		}
		dead := DeadJob{ID: b, Payload: b, Died: 1<<63 - 1, Attempt: 1 << 31, Cause: record.CauseAttempts, Reason: b}
		most, bound = len(encode(&dead, false)), dead.EncodedSize()
		if most > bound || bound > most+100 {
			t.Errorf("dead %d: %d bytes, EncodedSize %d", n, most, bound)
		}
		info := JobInfo{ID: b, Queue: b, State: record.Delayed, Due: 1<<63 - 1, Created: 1<<63 - 1, Attempt: 1 << 31, MaxAttempts: 65535, Token: 1<<53 - 1,
			LeaseUntil: 1<<63 - 1, Worker: b, Pri: 255, ExpireAt: 1<<63 - 1, Reason: b, LateUs: 1<<53 - 1, Payload: b, Meta: d.Meta,
			Backoff: record.Backoff{Kind: record.BackoffList, Steps: slices.Repeat([]int64{1<<63 - 1}, 32)}}
		most, bound = max(len(encode(&info, false)), len(encode(&info, true))), info.EncodedSize()
		if most > bound || bound > most+2500 {
			t.Errorf("info %d: %d bytes, EncodedSize %d", n, most, bound)
		}
	}
}

// Protects "rounded up": a replied millisecond is never before the nanosecond that it stands for.
func TestMsUp(t *testing.T) {
	for ns, want := range map[int64]int64{0: 0, 1: 1, 999_999: 1, 1_000_000: 1, 1_000_001: 2, 1<<63 - 1: 9223372036855} {
		if got := MsUp(ns); got != want {
			t.Errorf("%d ns: %d ms, want %d", ns, got, want)
		}
	}
}

// Protects COMMAND COUNT, LIST, GETKEYS and the length of COMMAND itself.
func TestCommandReply(t *testing.T) {
	ask := func(line string) string {
		_, r, err := Parse(splitLine(t, line), DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(encode(CommandReply(r.(*CommandQuery)), true)), "\r\n", " ")
	}
	count := fmt.Sprint(len(All()))
	for line, want := range map[string]string{
		"COMMAND COUNT":                              ":" + count + " ",
		"COMMAND LIST FILTERBY PATTERN DQM*K":        "*1 $6 dqmack ",
		"COMMAND LIST FILTERBY MODULE json":          "*0 ",
		"COMMAND LIST FILTERBY ACLCAT Dq-Admin":      "*8 $7 dqclock $7 dqpause $8 dqresume $8 dqconfig $12 dqconfig|set $12 dqconfig|get $14 dqconfig|reset $8 dqbackup ",
		"COMMAND LIST FILTERBY x y":                  "-ERR syntax error ",
		"COMMAND GETKEYS dqadd mail m1 p":            "*1 $4 mail ",
		"COMMAND GETKEYS DQSTATS mail":               "*1 $4 mail ",
		"COMMAND GETKEYS dqconfig set mail ttl 5":    "*1 $4 mail ",
		"COMMAND GETKEYS dqstats":                    "-ERR The command has no key arguments ",
		"COMMAND GETKEYS exists a b":                 "*2 $1 a $1 b ",
		"COMMAND GETKEYS dqmpop 2 a b COUNT 3":       "*2 $1 a $1 b ",
		"COMMAND GETKEYS dqmpop 3 a b":               "-ERR Invalid arguments specified for command ",
		"COMMAND GETKEYS scan 0":                     "-ERR The command has no key arguments ",
		"COMMAND GETKEYS ping":                       "-ERR The command has no key arguments ",
		"COMMAND GETKEYS dqadd mail":                 "-ERR Invalid number of arguments specified for command ",
		"COMMAND GETKEYS nothing mail":               "-ERR Invalid command specified ",
		"COMMAND DOCS nothing":                       "%0 ",
		"COMMAND INFO nothing":                       "*1 _ ",
		"COMMAND LIST FILTERBY ACLCAT transaction":   "*5 $5 multi $4 exec $7 discard $5 watch $7 unwatch ",
		"COMMAND LIST FILTERBY PATTERN DQ[A-C]*":     "*11 $5 dqadd $8 dqcancel $5 dqack $7 dqcount $7 dqclock $8 dqconfig $12 dqconfig|set $12 dqconfig|get $14 dqconfig|reset $13 dqconfig|help $8 dqbackup ",
		"COMMAND LIST FILTERBY PATTERN client|set*":  "*2 $14 client|setname $14 client|setinfo ",
		"COMMAND GETKEYS MEMORY USAGE mail":          "*1 $4 mail ",
		"COMMAND LIST FILTERBY PATTERN \"dqadd\\n\"": "*0 ",
	} {
		if got := ask(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	all := strconv.Itoa(len(everyRow()))
	for line, want := range map[string]string{"COMMAND": count, "COMMAND INFO": count, "COMMAND LIST": all} {
		if got := ask(line); !strings.HasPrefix(got, "*"+want+" ") {
			t.Errorf("%s: %.40q", line, got)
		}
	}
	if got := ask("COMMAND DOCS"); !strings.HasPrefix(got, "%"+count+" ") {
		t.Errorf("COMMAND DOCS: %.40q", got)
	}
}
