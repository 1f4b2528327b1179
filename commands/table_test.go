package commands

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everyRow returns all rows, sub-commands included.
func everyRow() []*Command {
	var rows []*Command
	for _, c := range All() {
		rows = append(rows, c)
		rows = append(rows, c.Subcommands...)
	}
	return rows
}

// Protects the table from rows that contradict themselves.
func TestTable(t *testing.T) {
	for _, c := range everyRow() {
		name := c.Name
		if c.Summary == "" || c.Group == "" || c.Since == "" || c.Complexity == "" || c.Arity == 0 || len(c.Categories) == 0 {
			t.Errorf("%s: the row has gaps", name)
		}
		if len(name) > keywordMax || name != strings.ToLower(name) {
			t.Errorf("%s: cannot be looked up", name)
		}
		if c.Parse == nil && c.Subcommands == nil {
			t.Errorf("%s: nothing parses it", name)
		}
		for flag, category := range map[string]string{"write": "@write", "readonly": "@read", "blocking": "@blocking", "admin": "@admin", "fast": "@fast"} {
			if c.Has(flag) != slices.Contains(c.Categories, category) {
				t.Errorf("%s: flag %s and category %s do not agree", name, flag, category)
			}
		}
		if slices.Contains(c.Categories, "@fast") == slices.Contains(c.Categories, "@slow") {
			t.Errorf("%s: fast or slow?", name)
		}
		if isKey := len(c.Args) > 0 && c.Args[0].Type == "key"; isKey != (c.FirstKey == len(strings.Split(name, "|"))) {
			t.Errorf("%s: key position and arguments do not agree", name)
		}
		if c.Syntax != "" && (c.Replies == nil || c.Resend == "" || c.Example == "") {
			t.Errorf("%s: the reference has gaps", name)
		}
		if least := leastArgs(c.Args) + len(strings.Split(name, "|")); c.Subcommands == nil && least != max(c.Arity, -c.Arity) {
			t.Errorf("%s: arity %d, but its arguments are at least %d", name, c.Arity, least)
		}
	}
}

// leastArgs counts the words that cannot be left out.
func leastArgs(args []Arg) int {
	sum := 0
	for _, a := range args {
		if !a.Optional {
			sum += a.least()
		}
	}
	return sum
}

func (a *Arg) least() int {
	n := 1
	switch {
	case a.Type == "oneof":
		n = a.Args[0].least()
		for _, choice := range a.Args[1:] {
			n = min(n, choice.least())
		}
	case a.Type == "block":
		n = leastArgs(a.Args)
	}
	if a.Token != "" && a.Type != "pure-token" {
		n++
	}
	return n
}

// Protects the options that a parser takes and those that the table describes from drifting apart.
func TestOptionsAreDescribed(t *testing.T) {
	for _, test := range []struct {
		row     *Command
		options []option
		without []string // taken only to be refused
	}{
		{&dqadd, append([]option{{word: "meta"}}, addOptions...), nil},
		{&dqmadd, append([]option{{word: "meta"}, {word: "jobs"}}, addOptions...), []string{"delay", "at"}},
		{&dqpop, popOptions, nil},
		{&dqnack, nackOptions, nil},
		{&dqreschedule, rescheduleOptions, nil},
		{&dqpeek, peekOptions, nil},
		{&dqlen, stateOption, nil},
		{&dqmpop, popOptions, nil},
		{&dqrange, rangeOptions, nil},
		{&dqcount, stateOption, nil},
		{&dqscan, scanOptions, nil},
		{&dqqueues, queuesOptions, nil},
		{&dqdead, deadOptions, nil},
		{&scan, keyScanOptions, nil},
		{&dqpause, pauseOptions, nil},
		{&dqresume, waysOptions, nil},
		{&dqrequeue, requeueOptions, nil},
		{&dqpurge, append([]option{{word: "state"}}, purgeOptions...), nil},
		{&dqdrop, dropOptions, nil},
	} {
		var taken []string
		for _, o := range test.options {
			if !slices.Contains(test.without, o.word) {
				taken = append(taken, o.word)
			}
		}
		var described []string
		var walk func(args []Arg)
		walk = func(args []Arg) {
			for _, a := range args {
				if a.Token != "" {
					described = append(described, strings.ToLower(a.Token))
				}
				if a.Token != "STATE" {
					walk(a.Args)
				}
			}
		}
		walk(test.row.Args)
		slices.Sort(taken)
		slices.Sort(described)
		if !slices.Equal(taken, described) {
			t.Errorf("%s takes %v, but describes %v", test.row.Name, taken, described)
		}
	}
}

// Protects Lookup: any case, no allocation, no other name.
func TestLookup(t *testing.T) {
	for _, c := range All() {
		for _, name := range []string{c.Name, strings.ToUpper(c.Name), strings.ToUpper(c.Name[:1]) + c.Name[1:]} {
			if Lookup([]byte(name)) != c {
				t.Errorf("%s is not found", name)
			}
		}
		for _, name := range []string{c.Name + "x", " " + c.Name, c.Name[1:], strings.Repeat(c.Name, 9)} {
			if Lookup([]byte(name)) != nil {
				t.Errorf("%s is found", name)
			}
		}
	}
	if Lookup(nil) != nil {
		t.Error("the empty name is found")
	}
	name := []byte("DqReschedule")
	if n := testing.AllocsPerRun(100, func() { Lookup(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Protects docs/commands.md from being stale: "go run ./commands/gendoc" writes it.
func TestReferenceIsFresh(t *testing.T) {
	file, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, Reference()) {
		t.Error("docs/commands.md is stale: run go run ./commands/gendoc")
	}
}

// Protects the table in docs/guarantees.md: it is the command table's.
func TestResendsAreFresh(t *testing.T) {
	file, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := WithResends(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, want) {
		t.Error("docs/guarantees.md is stale: run go run ./commands/gendoc")
	}
	for _, c := range table { // every command of dqd's own has its word
		if c.Syntax != "" && !strings.Contains(string(want), "`"+strings.ToUpper(c.Name)+"`") {
			t.Errorf("docs/guarantees.md does not say what %s does when it is sent again", c.Name)
		}
	}
	if _, err := WithResends([]byte("# No place")); err == nil {
		t.Error("a document without a place for the table was accepted")
	}
}

// Protects the examples of the reference: each command in them is accepted.
func TestExamplesParse(t *testing.T) {
	for _, c := range everyRow() {
		for _, line := range strings.Split(c.Example, "\n") {
			if command, ok := strings.CutPrefix(line, "> "); ok {
				if _, _, err := Parse(splitLine(t, command), DefaultLimits()); err != nil {
					t.Errorf("%s: %s: %v", c.Name, command, err)
				}
			}
		}
	}
}

// Protects error texts: one line of printable ASCII, whatever a client sent.
func TestErrorsAreOneLine(t *testing.T) {
	nasty := "\r\n-ERR injected\x00\xff'\\" + strings.Repeat("\n", 300)
	for _, line := range []string{
		"NASTY", "NASTY a", "DQADD NASTY", "CLIENT NASTY", "HELLO NASTY", "HELLO 3 NASTY", "SELECT NASTY",
		"DQADD q i p NASTY", "DQADD q i p DELAY NASTY", "DQADD q i p AT NASTY", "DQADD q i p BACKOFF NASTY", "DQADD q i p PRI NASTY",
		"DQMADD q JOBS 1 NASTY p 5", "DQMADD q JOBS NASTY i p 5", "DQACK q i NASTY", "DQLEN q STATE NASTY", "DQPURGE q DUE NASTY 1", "DQREQUEUE q NASTY", "DQRELEASE q NASTY w",
		"CLIENT SETNAME NASTY", "CLIENT SETINFO NASTY x", "CLIENT LIST TYPE NASTY", "CLIENT KILL NASTY x", "DQCLOCK NASTY",
		"DQPAUSE q NASTY", "DQPAUSE q FOR NASTY", "DQPAUSE q UNTIL NASTY", "DQRESUME q NASTY", "DQCONFIG NASTY q", "DQCONFIG SET q NASTY 1", "DQCONFIG SET q lease NASTY",
		"DQCONFIG SET q attempts NASTY", "DQCONFIG SET q backoff NASTY", "DQCONFIG SET q expire-to NASTY", "DQCONFIG RESET q NASTY",
	} {
		args := splitLine(t, line)
		for i := range args {
			if string(args[i]) == "NASTY" {
				args[i] = []byte(nasty)
			}
		}
		_, _, err := Parse(args, DefaultLimits())
		if err == nil {
			t.Errorf("%s: no error", line)
			continue
		}
		if text := err.Error(); strings.ContainsAny(text, "\r\n\x00") || len(text) > 512 {
			t.Errorf("%s: %q", line, text)
		}
	}
}

// Protects what a log shows of a command: its name, and queue and id where they
// stand in front; never a payload, a password or a setting's value.
func TestLogged(t *testing.T) {
	long := strings.Repeat("q", 130)
	for line, want := range map[string]string{
		"DQADD orders o-1 canary DELAY 5s":       "DQADD orders o-1 ... (3 more arguments)",
		"dqmadd orders JOBS 1 o-1 canary 0":      "dqmadd orders ... (5 more arguments)",
		"DQACK orders o-1 17":                    "DQACK orders ... (2 more arguments)",
		"DQNACK orders o-1 17 REASON canary":     "DQNACK orders o-1 ... (3 more arguments)",
		"DQCANCEL orders o-1 o-2":                "DQCANCEL orders ... (2 more arguments)",
		"DQGET orders o-1":                       "DQGET orders o-1",
		"DQPOP " + long:                          "DQPOP " + long[:128] + "... (2 more bytes)",
		"CONFIG SET requirepass canary":          "CONFIG SET ... (2 more arguments)",
		"MEMORY USAGE orders":                    "MEMORY USAGE orders",
		"ECHO canary":                            "ECHO ... (1 more arguments)",
		"HELLO 3 AUTH default canary SETNAME me": "HELLO ... (6 more arguments)",
		"INFO":                                   "INFO",
	} {
		args := splitLine(t, line)
		c, err := Find(args)
		if err != nil {
			t.Fatal(line, err)
		}
		if got := strings.Join(c.Logged(args), " "); got != want {
			t.Errorf("%s is logged as %s, want %s", line, got, want)
		}
	}
	if got := strings.Join(ping.Logged(nil), " "); got != "ping" {
		t.Errorf("PING is logged as %q", got)
	}
	for _, c := range everyRow() { // whatever comes behind a name
		args := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), []byte("canary"), []byte("canary")}
		for n := range args {
			if got := strings.Join(c.Logged(args[:n]), " "); strings.Contains(got, "canary") {
				t.Errorf("%s is logged as %s", c.Name, got)
			}
		}
	}
}

// Protects the slots that cluster clients compute: the values are Redis's.
func TestKeySlot(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "123456789": 12739, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "{}foo": 9500, "foo{}": 5542, "{{foo}}": 13308, "{foo": 13308,
	} {
		if got := KeySlot([]byte(key)); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

// Protects purity: this package starts nothing, reads no clock, and has no luck.
func TestPure(t *testing.T) {
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if slices.Contains([]string{"net", "os", "sync", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "unsafe"}, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		for _, word := range []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.NewT", "float64", "float32", "\tgo "} {
			if bytes.Contains(source, []byte(word)) {
				t.Errorf("%s has %q", name, word)
			}
		}
	}
}

// Protects the patterns of COMMAND LIST and CONFIG GET, which are Redis's.
func TestMatchGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true}, {"*c", "abc", true},
		{"a*c", "ab", false}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"**a**", "a", true}, {"*a*b*", "xxaxxbxx", true},
		{"[abc]", "b", true}, {"[abc]", "d", false}, {"[^abc]", "d", true}, {"[^abc]", "a", false}, {"[a-c]x", "bx", true},
		{"[c-a]", "b", true}, {`\*`, "*", true}, {`\*`, "a", false}, {`[\]]`, "]", true}, {"[a", "a", true}, {`\`, `\`, true},
		{"[", "a", false}, {"a[", "a", false}, {"max*", "maxclients", true}, {"A", "a", false},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := MatchGlob([]byte(test.pattern), []byte(test.s)); got != test.want {
			t.Errorf("%q %.20q: %v", test.pattern, test.s, got)
		}
	}
}
