package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dqd/tests/script"
)

// TestDocumentedSessionsAreTrue runs the sessions in README.md and docs/*.md.
//
// A block marked "console" runs against the program, with lines such as
//
//	$ redis-cli -p 7711 DQPOP orders
//	127.0.0.1:7711> DQPOP orders
//
// and the output behind each; other shell commands and their output are passed
// over. All of a document are one session with one server, until
// <!-- new server --> in a line of its own. A block marked "redis-cli", with
// lines "> DQPOP orders", is a session with a new server under virtual time, or
// goes on with the one before it behind <!-- same server -->. "# 30m later" in it
// lets time pass; whole hours pass in a restart, as they would cost seconds else.
//
// Numbers of ten and more digits, which are times, match any, and ... any text.
// A block behind <!-- not run: reason --> is passed over.
func TestDocumentedSessionsAreTrue(t *testing.T) {
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{"../README.md"}, paths...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sessions := documentedSessions(string(text))
			if len(sessions) == 0 && filepath.Base(path) == "README.md" {
				t.Error("no session found")
			}
			for _, session := range sessions {
				s, err := script.Parse(path, session.text)
				if err != nil {
					t.Fatal(err)
				}
				if session.virtual {
					runInProcess(t, s)
				} else {
					runProgram(t, s)
				}
			}
		})
	}
}

// session is a part of a document as a script. Its lines stand where they stand
// in the document, for the messages.
type session struct {
	text    string
	virtual bool
}

var laterPattern = regexp.MustCompile(`^# (\d\S*) later`)

var longNumber = regexp.MustCompile(`\d{10,}`)

func documentedSessions(document string) []session {
	const (
		outside = iota
		console // a block against the program
		virtual // a block with a server of its own
		other   // a block that is passed over
	)
	var (
		sessions []session
		blanks   = func(n int) []string { return make([]string, n) }
		program  []string // the session that goes on over the console blocks
		own      []string // that of the current virtual block
		at       = outside
		skip     = false // the next block is not run
		same     = false // the next virtual block goes on
		output   = false // the lines are output of a command that is run
	)
	finish := func(lines []string, isVirtual bool) {
		if text := strings.Join(lines, "\n"); strings.Trim(text, "\n") != "" {
			sessions = append(sessions, session{text, isVirtual})
		}
	}
	number := 0
	for line := range strings.SplitSeq(document, "\n") {
		trimmed := strings.TrimSpace(line)
		kept := ""
		switch fence := strings.HasPrefix(trimmed, "```"); {
		case at == outside && fence:
			if !same {
				finish(own, true)
				own = nil
			}
			switch mark := strings.TrimPrefix(trimmed, "```"); {
			case skip:
				at = other
			case mark == "console":
				at = console
			case mark == "redis-cli":
				at, own = virtual, append(own, blanks(number-len(own))...)
			default:
				at = other
			}
			skip, same, output = false, false, false
		case fence:
			at = outside
		case at == outside && trimmed == "<!-- new server -->":
			finish(program, false)
			program = blanks(number)
		case at == outside && strings.HasPrefix(trimmed, "<!-- not run:"):
			skip = true
		case at == outside && trimmed == "<!-- same server -->":
			same = true
		case at == virtual && laterPattern.MatchString(line):
			kept, output = "@clock advance ", false
			if strings.HasSuffix(laterPattern.FindStringSubmatch(line)[1], "h") {
				kept = "@restart "
			}
			kept += laterPattern.FindStringSubmatch(line)[1]
		case at == console || at == virtual:
			command, ok := documentedCommand(line, at == virtual)
			switch {
			case ok:
				kept, output = "> "+command, true
			case strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "#"):
				output = false
			case output:
				kept = longNumber.ReplaceAllString(strings.ReplaceAll(line, "...", "…"), "…")
			}
		}
		number++
		if at == virtual {
			own, program = append(own, kept), append(program, "")
		} else {
			program = append(program, kept)
		}
	}
	finish(own, true)
	finish(program, false)
	return sessions
}

// documentedCommand returns the Redis command in a line of a session.
func documentedCommand(line string, bare bool) (command string, ok bool) {
	if bare {
		return strings.CutPrefix(line, "> ")
	}
	if rest, ok := strings.CutPrefix(line, "127.0.0.1:7711> "); ok {
		return rest, true
	}
	rest, ok := strings.CutPrefix(line, "$ redis-cli ")
	if !ok {
		return "", false
	}
	for strings.HasPrefix(rest, "-") {
		flag, after, _ := strings.Cut(rest, " ")
		switch flag {
		case "-p", "-h":
			_, rest, _ = strings.Cut(after, " ")
		default:
			return "", false // another protocol, a pipe: not for this runner
		}
	}
	return rest, rest != ""
}

// The proof that sessions are found, and nothing else.
func TestDocumentedSessionsAreFound(t *testing.T) {
	document := strings.ReplaceAll(`# Title
~~~sh
$ redis-cli PING
no session
~~~
~~~console
$ go run ./cmd/dqd serve
listening on 127.0.0.1:7711
$ redis-cli -p 7711 DQADD orders order-42 '{"total":99}' DELAY 10s
"order-42"
~~~
~~~redis-cli
> DQLEN orders
(integer) 0
~~~
<!-- same server -->
~~~redis-cli
# 30m later
# 48h later
> DQLEN mail
(integer) 0
~~~
~~~console
127.0.0.1:7711> DQGET orders order-42 due
1) (integer) 1796990400000
~~~
<!-- not run: needs a cluster -->
~~~console
$ redis-cli NO
no
~~~
<!-- new server -->
~~~console
$ redis-cli PING
PONG
~~~
`, "~~~", "```")
	var got []string
	for _, s := range documentedSessions(document) {
		line := 1
		for strings.HasPrefix(s.text, "\n") {
			s.text, line = s.text[1:], line+1
		}
		got = append(got, fmt.Sprintf("line %d, virtual %v: %s", line, s.virtual, strings.Join(strings.FieldsFunc(s.text, func(r rune) bool { return r == '\n' }), "; ")))
	}
	want := []string{
		"line 13, virtual true: > DQLEN orders; (integer) 0; @clock advance 30m; @restart 48h; > DQLEN mail; (integer) 0",
		`line 9, virtual false: > DQADD orders order-42 '{"total":99}' DELAY 10s; "order-42"; > DQGET orders order-42 due; 1) (integer) …`,
		"line 34, virtual false: > PING; PONG",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
