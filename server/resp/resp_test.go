package resp

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidwall/redcon"
)

// frames feeds in to a framer, step bytes at a time, and returns the commands
// and the error that ends them.
func frames(limits Limits, in []byte, step int) (cmds [][]string, err error) {
	f := Framer{Limits: limits}
	for begin, seen := 0, 0; ; {
		frame, ok, err := f.Next(in[begin:seen])
		if err != nil {
			return cmds, err
		}
		if ok {
			args, err := Parse(frame, in[begin:begin+frame.Len], nil)
			if err != nil {
				return cmds, err
			}
			cmd := []string{}
			for _, a := range args {
				cmd = append(cmd, string(a))
			}
			cmds = append(cmds, cmd)
			begin += frame.Len
			continue
		}
		if seen == len(in) {
			return cmds, nil
		}
		seen = min(seen+step, len(in))
	}
}

// Commands come out the same however their bytes are spread over reads.
func TestFramerFindsCommands(t *testing.T) {
	for _, c := range []struct {
		in   string
		want [][]string
	}{
		{"*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}}},
		{"PING\r\n", [][]string{{"PING"}}},
		{"PING\n", [][]string{{"PING"}}},
		{"\r\n\n*0\r\n*-1\r\n*-23\r\nPING\r\n", [][]string{{}, {}, {}, {}, {}, {"PING"}}},
		{"*2\r\n$0\r\n\r\n$3\r\na\r\n\r\n", [][]string{{"", "a\r\n"}}},
		{"*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1\r\n", [][]string{{"a"}, {"b"}}},
		{`set "a b" 'c\'d' "\x41\n\"" e` + "\r\n", [][]string{{"set", "a b", "c'd", "A\n\"", "e"}}},
		{`set "" '' a"b"` + "\r\n", [][]string{{"set", "", "", "ab"}}},
	} {
		for step := 1; step <= len(c.in); step++ {
			got, err := frames(DefaultLimits(), []byte(c.in), step)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q in steps of %d: %q, %v; want %q", c.in, step, got, err, c.want)
			}
		}
	}
}

// Every violation gets Redis's text, however the bytes arrive.
func TestFramerRefuses(t *testing.T) {
	open := DefaultLimits()
	closed := open.BeforeAuth()
	for _, c := range []struct {
		limits Limits
		in     string
		want   string
	}{
		{open, "*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
		{open, "*1\r\n$9223372036854775800\r\n", "invalid bulk length"},
		{open, "*1\r\n$-1\r\n", "invalid bulk length"},
		{open, "*1\r\n$+3\r\nabc\r\n", "invalid bulk length"},
		{open, "*1\r\n$03\r\nabc\r\n", "invalid bulk length"},
		{open, "*1\r\n$-0\r\n", "invalid bulk length"},
		{open, "*1\r\n$\r\n", "invalid bulk length"},
		{open, "*1\r\n$ 3\r\n", "invalid bulk length"},
		{open, "*1\r\n$3\r\nabcd\r\n", "invalid bulk length"},
		{open, "*1\r\n$16777217\r\n", "invalid bulk length"},
		{open, "*1000000000\r\n", "invalid multibulk length"},
		{open, "*4611686018427387904\r\n", "invalid multibulk length"},
		{open, "*65537\r\n", "invalid multibulk length"},
		{open, "*\r\n", "invalid multibulk length"},
		{open, "*-\r\n", "invalid multibulk length"},
		{open, "*--1\r\n", "invalid multibulk length"},
		{open, "*1-\r\n", "invalid multibulk length"},
		{open, "*+1\r\n", "invalid multibulk length"},
		{open, "*abc\r\n", "invalid multibulk length"},
		{open, "*1\rx", "invalid multibulk length"},
		{open, "*1\r\nPING\r\n", "expected '$', got 'P'"},
		{open, "a 'b\r\n", "unbalanced quotes in request"},
		{open, "a \"b\r\n", "unbalanced quotes in request"},
		{open, "a 'b'c\r\n", "unbalanced quotes in request"},
		{open, "a \"b\\\r\n", "unbalanced quotes in request"},
		{open, strings.Repeat("a", 64<<10), ""},
		{open, strings.Repeat("a", 64<<10+1), "too big inline request"},
		{open, "*2\r\n$16777216\r\n" + strings.Repeat("x", 16<<20) + "\r\n$2097152\r\n", "command exceeds the query buffer limit"},
		{closed, "*10\r\n", ""},
		{closed, "*11\r\n", "unauthenticated multibulk length"},
		{closed, "*65537\r\n", "invalid multibulk length"},
		{closed, "*1\r\n$16384\r\n", ""},
		{closed, "*1\r\n$16385\r\n", "unauthenticated bulk length"},
		{closed, "*1\r\n$536870912\r\n", "unauthenticated bulk length"},
		{closed, "*1\r\n$536870913\r\n", "invalid bulk length"},
	} {
		steps := []int{1, 2, 3, 7, len(c.in)}
		if len(c.in) > 1<<20 {
			steps = []int{1 << 16, len(c.in)}
		}
		for _, step := range steps {
			_, err := frames(c.limits, []byte(c.in), step)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "ERR Protocol error: ")
			}
			if got != c.want {
				t.Errorf("%.40q in steps of %d: %q, want %q", c.in, step, got, c.want)
			}
		}
	}
}

// Limits hold at N and refuse at N+1.
func TestFramerLimits(t *testing.T) {
	limits := Limits{Args: 3, Bulk: 5, Inline: 8, Command: 32}
	for in, want := range map[string]bool{
		"*3\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n": true,
		"*4\r\n":                               false,
		"*1\r\n$5\r\n12345\r\n":                true,
		"*1\r\n$6\r\n":                         false,
		"1234567\r\n":                          true,
		"12345678\n":                           true,
		"12345678\r\n":                         true,
		"123456789\n":                          false,
		"12345678\rx":                          false,
		"*2\r\n$5\r\n12345\r\n$5\r\n12345\r\n": true, // 26 bytes
	} {
		if _, err := frames(limits, []byte(in), 1); (err == nil) != want {
			t.Errorf("%q: %v", in, err)
		}
	}
	limits.Command = 26
	in := []byte("*2\r\n$5\r\n12345\r\n$5\r\n12345\r\n")
	if _, err := frames(limits, in, 1); err != nil {
		t.Errorf("%d bytes within %d: %v", len(in), limits.Command, err)
	}
	limits.Command = 25
	if _, err := frames(limits, in, 1); err != errCommand {
		t.Errorf("%d bytes beyond %d: %v", len(in), limits.Command, err)
	}
}

// Need lets a reader size its buffer, within the limit.
func TestFramerNeed(t *testing.T) {
	f := Framer{Limits: DefaultLimits()}
	in := []byte("*1\r\n$1000\r\nabc")
	if _, ok, err := f.Next(in); ok || err != nil || f.Need() != 11+1002 || !f.Started() {
		t.Error(ok, err, f.Need())
	}
}

func TestFramerDoesNotAllocate(t *testing.T) {
	f := Framer{Limits: DefaultLimits()}
	cmd := addCommand()
	args := make([][]byte, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		frame, _, _ := f.Next(cmd)
		args, _ = Parse(frame, cmd, args)
	}); n != 0 {
		t.Error(n, "allocations")
	}
}

func TestWriter(t *testing.T) {
	write := func(resp3 bool) string {
		w := Writer{RESP3: resp3}
		w.Map(1)
		w.Simple("a\r\nb")
		w.Error("ERR x\n+OK")
		w.Array(3)
		w.Null()
		w.NullArray()
		w.Int(-7)
		w.Bulk([]byte("\r\n"))
		w.BulkString("")
		return string(w.Buf)
	}
	if got, want := write(false), "*2\r\n+a  b\r\n-ERR x +OK\r\n*3\r\n$-1\r\n*-1\r\n:-7\r\n$2\r\n\r\n\r\n$0\r\n\r\n"; got != want {
		t.Errorf("%q\n%q", got, want)
	}
	if got, want := write(true), "%1\r\n+a  b\r\n-ERR x +OK\r\n*3\r\n_\r\n_\r\n:-7\r\n$2\r\n\r\n\r\n$0\r\n\r\n"; got != want {
		t.Errorf("%q\n%q", got, want)
	}
}

// A reply stops at the limit, whatever it is made of.
func TestWriterLimit(t *testing.T) {
	for _, write := range []func(*Writer){
		func(w *Writer) { w.Simple("x") }, func(w *Writer) { w.Error("ERR x") }, func(w *Writer) { w.Int(1) },
		func(w *Writer) { w.Bulk([]byte("x")) }, func(w *Writer) { w.BulkString("x") }, func(w *Writer) { w.Null() },
		func(w *Writer) { w.NullArray() }, func(w *Writer) { w.Array(1) }, func(w *Writer) { w.Map(1) },
	} {
		w := Writer{Limit: 1000}
		for range 1000 {
			write(&w)
		}
		if len(w.Buf) > 1000 || len(w.Buf) < 900 || !w.Overflow {
			t.Error(len(w.Buf), w.Overflow)
		}
	}
}

var seeds = []string{
	"*1\r\n$4\r\nPING\r\n", "PING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "*0\r\n", "*-1\r\n", "\r\n",
	"*1\r\n$9223372036854775807\r\n", "*1000000000\r\n", "*1\r\n$-0\r\n\r\n", "*01\r\n", "$5\r\nhello\r\n",
	`a "b\x00" 'c'` + "\n", "a\x00b\n", "*1\r\n$3\r\nabcde", "*1\n$1\na\n",
}

// What the framer accepts, redcon parses to the same arguments; how the bytes
// arrive makes no difference; nothing panics; what Need asks for is bounded.
func FuzzFramer(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(3), false)
		f.Add([]byte(s+s), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8, unauthenticated bool) {
		limits := DefaultLimits()
		if unauthenticated {
			limits = limits.BeforeAuth()
		}
		whole, errWhole := frames(limits, in, len(in)+1)
		split, errSplit := frames(limits, in, int(step)+1)
		if !reflect.DeepEqual(whole, split) || fmt.Sprint(errWhole) != fmt.Sprint(errSplit) {
			t.Fatalf("whole: %q, %v\nsplit: %q, %v", whole, errWhole, split, errSplit)
		}
		if errors.Is(errWhole, errUnframed) {
			t.Fatal(errWhole)
		}
		fr := Framer{Limits: limits}
		if _, _, err := fr.Next(in); err == nil && (fr.Need() < 1 || fr.Need() > max(limits.Command, len(in)+1)) {
			t.Fatal("Need", fr.Need())
		}
	})
}

// A stream of RESP commands that the framer accepts whole is read by redcon's own
// reader without an error or a panic, and to the same commands.
func FuzzFramerWithinRedcon(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		fr := Framer{Limits: DefaultLimits()}
		var accepted []byte
		var want int
		for rest := in; ; {
			frame, ok, err := fr.Next(rest)
			if err != nil || !ok {
				break
			}
			if !frame.Inline && frame.Args > 0 { // redcon has its own idea of the others
				accepted = append(accepted, rest[:frame.Len]...)
				want++
			}
			rest = rest[frame.Len:]
		}
		rd := redcon.NewReader(iotest.OneByteReader(bytes.NewReader(accepted)))
		for n := 0; ; n++ {
			if _, err := rd.ReadCommand(); err != nil {
				if n != want {
					t.Fatalf("redcon read %d of %d commands of %q: %v", n, want, accepted, err)
				}
				return
			}
		}
	})
}

func addCommand() []byte {
	return []byte("*4\r\n$5\r\nDQADD\r\n$6\r\norders\r\n$4\r\n1000\r\n$64\r\n" + strings.Repeat("0123456789abcdef", 4) + "\r\n")
}

func BenchmarkFrameAndParse(b *testing.B) {
	f := Framer{Limits: DefaultLimits()}
	cmd := addCommand()
	args := make([][]byte, 0, 8)
	b.SetBytes(int64(len(cmd)))
	b.ReportAllocs()
	for b.Loop() {
		frame, _, _ := f.Next(cmd)
		args, _ = Parse(frame, cmd, args)
	}
}
