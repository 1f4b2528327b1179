package tests

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dqd/tests/script"
)

// TestDocumentedSessionsAreTrue runs the sessions in README.md and docs/*.md
// against the program. A session is a fenced block marked "console", with lines
//
//	$ redis-cli -p 7711 DQPOP orders
//	127.0.0.1:7711> DQPOP orders
//
// and the output behind each. Other shell commands and their output are passed
// over. The blocks of one document are one session with one server, until
// <!-- new server --> in a line of its own; a block behind <!-- not run: reason -->
// is passed over. Numbers of ten and more digits, which are times, match any.
func TestDocumentedSessionsAreTrue(t *testing.T) {
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{"../README.md"}, paths...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("not written yet")
			}
			if err != nil {
				t.Fatal(err)
			}
			sessions := documentedSessions(string(text))
			if len(sessions) == 0 && filepath.Base(path) == "README.md" {
				t.Error("no session found")
			}
			for _, session := range sessions {
				s, err := script.Parse(path, session)
				if err != nil {
					t.Fatal(err)
				}
				script.Run(t, s, false, func(config map[string]string) (script.Target, error) {
					return openProcess(t, config), nil
				})
			}
		})
	}
}

var longNumber = regexp.MustCompile(`\d{10,}`)

// documentedSessions returns a document's sessions as scripts. Their lines
// stand where they stand in the document, for the messages.
func documentedSessions(text string) []string {
	var sessions []string
	var out []string
	found := false
	finish := func() {
		if found {
			sessions = append(sessions, strings.Join(out, "\n"))
		}
		out, found = make([]string, len(out)), false
	}
	inside, run := false, true // of a console block; that is run
	output := false            // lines are output of a redis-cli command
	for line := range strings.SplitSeq(text, "\n") {
		kept := ""
		trimmed := strings.TrimSpace(line)
		switch {
		case !inside && trimmed == "<!-- new server -->":
			finish()
		case !inside && strings.HasPrefix(trimmed, "<!-- not run:"):
			run = false
		case !inside && strings.HasPrefix(trimmed, "```console"):
			inside, output = true, false
		case inside && strings.HasPrefix(trimmed, "```"):
			inside, run = false, true
		case inside && run:
			command, ok := documentedCommand(line)
			switch {
			case ok:
				kept, output, found = "> "+command, true, true
			case strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "#"):
				output = false
			case output:
				kept = longNumber.ReplaceAllString(line, "…")
			}
		}
		out = append(out, kept)
	}
	finish()
	return sessions
}

// documentedCommand returns the Redis command in a line of a session.
func documentedCommand(line string) (command string, ok bool) {
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

// The proof that sessions are found, and a wrong one is seen.
func TestDocumentedSessionsAreFound(t *testing.T) {
	const document = `# Title
~~~
> not a session
~~~
` + "```sh\n$ redis-cli PING\nno session either\n```\n```console\n" + `$ go run ./cmd/dqd serve
listening on 127.0.0.1:7711
$ redis-cli -p 7711 DQADD orders order-42 '{"total":99}' DELAY 10s
"order-42"
127.0.0.1:7711> DQGET orders order-42 due
1) (integer) 1796990400000
` + "```\n<!-- not run: needs a cluster -->\n```console\n$ redis-cli NO\nno\n```\n<!-- new server -->\n```console\n$ redis-cli PING\nPONG\n```\n"
	got := documentedSessions(document)
	want := []string{`> DQADD orders order-42 '{"total":99}' DELAY 10s
"order-42"
> DQGET orders order-42 due
1) (integer) …`, "> PING\nPONG"}
	if len(got) != 2 {
		t.Fatalf("found %d sessions: %q", len(got), got)
	}
	for i := range want {
		if s := strings.Trim(squeeze(got[i]), "\n"); s != want[i] {
			t.Errorf("session %d is\n%s\nwant\n%s", i, s, want[i])
		}
	}
	line := 1 + strings.Count(document[:strings.Index(document, "$ redis-cli -p")], "\n")
	if at := strings.Count(got[0][:strings.Index(got[0], "> DQADD")], "\n") + 1; at != line {
		t.Errorf("the first command stands in line %d of the session, %d of the document", at, line)
	}
}

func squeeze(s string) string {
	for strings.Contains(s, "\n\n") {
		s = strings.ReplaceAll(s, "\n\n", "\n")
	}
	return s
}
