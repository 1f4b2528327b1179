package script

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A session with a server that is right must pass, in which every feature of
// the runner takes part.
func TestRunnerAcceptsARightSession(t *testing.T) {
	const text = `
# comment
> SET greeting "hello\x00"
OK
> GET greeting
"hello\x00"
> SET a 1
> GET a
OK
"1"
> TOKEN
(integer) <token>
> ECHO <token>
"<token>"
@mark start
> TIMEMS
(integer) <start>
@clock advance 10s
> TIMEMS
(integer) <start+10s>
> MAP | b a c
b: (integer) 2
a: 1) "x"
   2) "y"
c: missing
> LIST {{seq "job-%d" 1 3}}
1) "job-1"
…
3) "job-…"
> ECHO {{repeat "ab" 3}}
"{{repeat "ab" 3}}"
> BOOM
(error) ERR …
@client waiter
> GET greeting
> WAIT 5s
"hello\x00"
(waiting)
@client main
@clock advance 5s
@client waiter
@wait
"woken"
@raw "PING\r\n"
PONG
> QUIT
OK
@closed
`
	if complaints := runFake(t, text); len(complaints) > 0 {
		t.Errorf("complaints about a right session: %q", complaints)
	}
}

// The proof that the runner can fail: each of these sessions is wrong in one way.
func TestRunnerSeesWhatIsWrong(t *testing.T) {
	for name, text := range map[string]string{
		"another reply":       "> ECHO a\n\"b\"\n",
		"missing line":        "> LIST a b\n1) \"a\"\n",
		"extra line":          "> LIST a\n1) \"a\"\n2) \"b\"\n",
		"error for a value":   "> BOOM\nOK\n",
		"type":                "> TOKEN\n\"7\"\n",
		"name stands for one": "> ECHO a\n\"<x>\"\n> ECHO b\n\"<x>\"\n",
		"one ms early":        "@mark m\n> TIMEMS\n(integer) <m+1ms>\n",
		"one ms late":         "@mark m\n> TIMEMS\n(integer) …\n@clock advance 1ms\n> TIMEMS\n(integer) <m>\n",
		"answers, not waits":  "> ECHO a\n(waiting)\n",
		"waits, not answers":  "> WAIT 5s\n\"woken\"\n",
		"still waits":         "> WAIT 5s\n(waiting)\n@clock advance 4999ms\n@wait\n\"woken\"\n",
		"not closed":          "> ECHO a\n\"a\"\n@closed\n",
		"closed":              "> QUIT\nOK\n> ECHO a\n\"a\"\n",
		"unknown directive":   "@nonsense\n",
		"output of nothing":   "\"a\"\n",
		"unknown macro":       "> ECHO {{nonsense}}\n\"a\"\n",
		"wildcard is a line":  "> LIST a b\n…\n2) \"c\"\n",
		"null for empty":      "> LIST\n(nil)\n",
		"moment without mark": "> TIMEMS\n(integer) <m+1s>\n",
		"unbalanced quotes":   "> ECHO 'a\n\"a\"\n",
		"config after a step": "> ECHO a\n\"a\"\n@config a b\n",
	} {
		t.Run(name, func(t *testing.T) {
			if len(runFake(t, text)) == 0 {
				t.Errorf("no complaint about\n%s", text)
			}
		})
	}
}

// -update writes what the server answered and keeps everything that was right.
func TestUpdateRewritesOnlyWhatDiffers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	before := "# a session\n> ECHO a\n\"…\"\n\n> LIST a b\nwrong\nwrong too\n# end\n> ECHO c\n> ECHO d\n"
	after := "# a session\n> ECHO a\n\"…\"\n\n> LIST a b\n1) \"a\"\n2) \"b\"\n# end\n> ECHO c\n> ECHO d\n\"c\"\n\"d\"\n"
	if err := os.WriteFile(path, []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		Run(t, s, true, func(map[string]string) (Target, error) { return newFake(), nil })
	})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != after {
		t.Errorf("rewritten to\n%s\nexpected\n%s", got, after)
	}
}

func TestSplitArgsAsRedisCli(t *testing.T) {
	for line, want := range map[string][]string{
		`DQADD q id '{"total":99}'`:       {"DQADD", "q", "id", `{"total":99}`},
		`a  "b c" 'd e' ""`:               {"a", "b c", "d e", ""},
		`"\x00\xff\n\r\t\a\b\\\"" '\'\n'`: {"\x00\xff\n\r\t\a\b\\\"", `'\n`},
		``:                                nil,
	} {
		got, err := SplitArgs(line)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("SplitArgs(%s) = %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`"a`, `'a`, `"a"b`, `'a'b`, `"a\"`} {
		if got, err := SplitArgs(line); err == nil {
			t.Errorf("SplitArgs(%s) = %q, want an error", line, got)
		}
	}
}

// ReadValue is the strict reader of every black-box test.
func TestReadValueRefusesWhatTheContractForbids(t *testing.T) {
	for _, bad := range []string{
		":9007199254740992\r\n", // 2^53
		"(123456789\r\n",        // big number
		"=5\r\ntxt:a\r\n",       // verbatim string
		"|1\r\n+a\r\n+b\r\n",    // attribute
		"$2\r\nabc\r\n",
		"$-2\r\n",
		"+OK\n",
		":1.5\r\n",
		"%-1\r\n",
		"*1\r\n",
	} {
		if v, err := ReadValue(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q was read as %v", bad, v)
		}
	}
}

// runFake runs a script against the fake server under virtual time, and
// returns what the runner complained about.
func runFake(t *testing.T, text string) []string {
	c := &complaints{}
	synctest.Test(t, func(t *testing.T) {
		s, err := Parse("test.txt", text)
		if err != nil {
			c.Errorf("%v", err)
			return
		}
		defer func() {
			if r := recover(); r != nil && r != any(errStopped) {
				panic(r)
			}
		}()
		Run(c, s, false, func(map[string]string) (Target, error) { return newFake(), nil })
	})
	return c.list
}

// complaints collects what a test would report.
type complaints struct{ list []string }

var errStopped = errors.New("errStopped")

func (c *complaints) Helper()                      {}
func (c *complaints) Logf(string, ...any)          {}
func (c *complaints) Errorf(f string, args ...any) { c.list = append(c.list, fmt.Sprintf(f, args...)) }
func (c *complaints) Fatalf(f string, args ...any) { c.Errorf(f, args...); panic(errStopped) }
func (c *complaints) Skipf(f string, args ...any) {
	c.Errorf("skipped: "+f, args...)
	panic(errStopped)
}

// fake is a server with a handful of commands, inside a bubble.
type fake struct {
	mu   sync.Mutex // guards vars
	vars map[string]string
	done chan struct{} // closed by Close
}

func newFake() *fake {
	return &fake{vars: map[string]string{}, done: make(chan struct{})}
}

func (f *fake) Virtual() bool                 { return true }
func (f *fake) Parked(int) error              { synctest.Wait(); return nil }
func (f *fake) Advance(d time.Duration) error { time.Sleep(d); synctest.Wait(); return nil }
func (f *fake) Restart() error                { return errors.ErrUnsupported }
func (f *fake) Close() error                  { close(f.done); return nil }

func (f *fake) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	go f.serve(server)
	return client, nil
}

func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		first, err := in.Peek(1)
		if err != nil {
			return
		}
		var args []string
		if first[0] == '*' {
			v, err := ReadValue(in)
			if err != nil {
				return
			}
			for _, item := range v.Items {
				args = append(args, item.Text)
			}
		} else {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			args = strings.Fields(line)
		}
		if _, err := conn.Write([]byte(f.answer(args))); err != nil || args[0] == "QUIT" {
			return
		}
	}
}

func (f *fake) answer(args []string) string {
	bulk := func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
	switch args[0] {
	case "PING":
		return "+PONG\r\n"
	case "QUIT":
		return "+OK\r\n"
	case "SET":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.vars[args[1]] = args[2]
		return "+OK\r\n"
	case "GET":
		f.mu.Lock()
		defer f.mu.Unlock()
		return bulk(f.vars[args[1]])
	case "ECHO":
		return bulk(args[1])
	case "TOKEN":
		return ":7\r\n"
	case "TIMEMS":
		return fmt.Sprintf(":%d\r\n", ceilMs(time.Now().UnixNano()))
	case "MAP":
		return "*4\r\n$1\r\na\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n$1\r\nb\r\n:2\r\n"
	case "LIST":
		return string(AppendCommand(nil, args[1:]...))
	case "WAIT":
		d, _ := time.ParseDuration(args[1])
		select {
		case <-time.After(d):
		case <-f.done:
		}
		return bulk("woken")
	}
	return "-ERR unknown command\r\n"
}
