package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dqd/commands"
	"dqd/tests/model"
)

// witness is a model as a Subject that notes what is sent to it and what it answers.
type witness struct {
	model.Subject
	sent   map[string]map[string]bool // command → words behind it, both in capitals
	set    map[string]bool            // fields of DQCONFIG SET
	errors map[string]bool            // codes answered
	codes  []string                   // that there are
}

func (w *witness) note(args []string) {
	name := strings.ToUpper(args[0])
	if w.sent[name] == nil {
		w.sent[name] = map[string]bool{}
	}
	for _, word := range args[1:] {
		w.sent[name][strings.ToUpper(word)] = true
	}
	if name == "DQCONFIG" && strings.EqualFold(args[1], "SET") {
		for i := 3; i < len(args); i += 2 {
			w.set[strings.ToLower(args[i])] = true
		}
	}
}

func (w *witness) refused(r model.Reply) {
	if r.Kind == model.Error {
		w.errors[r.Word()] = true
	}
}

func (w *witness) Do(client int, args []string) (model.Reply, bool) {
	walks := slices.Contains([]string{"DQSCAN", "DQDEAD", "DQQUEUES", "SCAN"}, args[0])
	if client >= 0 || walks && len(args) > 3 { // else it is one of the views
		w.note(args)
	}
	reply, parked := w.Subject.Do(client, args)
	w.refused(reply)
	return reply, parked
}

func (w *witness) Exec(client int, queued [][]string) model.Reply {
	w.note([]string{"MULTI"})
	for _, args := range queued {
		w.note(args)
	}
	reply := w.Subject.(model.Transactor).Exec(client, queued)
	w.refused(reply)
	return reply
}

func (w *witness) Drop(client int) { w.Subject.(model.Dropper).Drop(client) }

// missing is what the table of commands and the model have and the generator did not reach.
func (w *witness) missing() (missing []string) {
	modelled := []string{"scan", "type", "exists"} // of the others that Redis has too
	// Where the clock is stepped, in every whole-state view, and in the tests of backups.
	elsewhere := map[string]bool{"dqclock": true, "dbsize": true, "dqbackup": true}
	for _, row := range commands.All() {
		if elsewhere[row.Name] || !strings.HasPrefix(row.Name, "dq") && !slices.Contains(modelled, row.Name) {
			continue
		}
		name := strings.ToUpper(row.Name)
		words := w.sent[name]
		if words == nil {
			missing = append(missing, name)
			continue
		}
		for _, sub := range row.Subcommands {
			if _, short, _ := strings.Cut(sub.Name, "|"); short != "help" && !words[strings.ToUpper(short)] {
				missing = append(missing, name+" "+short)
			}
		}
		for _, keyword := range keywords(row.Args) {
			if !words[keyword] {
				missing = append(missing, name+" "+keyword)
			}
		}
		if row.Name == "dqconfig" {
			for _, f := range row.Fields {
				if !w.set[f.Name] {
					missing = append(missing, "DQCONFIG SET "+f.Name)
				}
			}
		}
	}
	for _, code := range w.codes {
		if !w.errors[code] {
			missing = append(missing, "the error "+code)
		}
	}
	if w.sent["MULTI"] == nil {
		missing = append(missing, "MULTI")
	}
	return missing
}

func keywords(args []commands.Arg) (words []string) {
	for _, a := range args {
		if a.Token != "" {
			words = append(words, a.Token)
		}
		words = append(words, keywords(a.Args)...)
	}
	return words
}

// errorCodes are those that the model answers, read from its source. Of several
// that are as good only the first counts: it is what a model answers as a Subject.
func errorCodes(t *testing.T) (codes []string) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no source", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if text, isText := call.Args[0].(*ast.BasicLit); ok && (name.Name == "fail" || name.Name == "refuse") && isText {
				code, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				code, _, _ = strings.Cut(code, "|")
				codes = append(codes, code)
			}
			return true
		})
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func newWitness(t *testing.T) *witness {
	codes := errorCodes(t)
	if len(codes) < 9 {
		t.Fatalf("only these codes are in the source of the model: %v", codes)
	}
	return &witness{nil, map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}, codes}
}

// watch runs histories until nothing is missing, at most so many.
func (w *witness) watch(seeds uint64, opt model.Options) {
	for seed := uint64(0); seed < seeds && (seed < 4 || len(w.missing()) > 0); seed++ {
		opt.Release = seed%4 == 1
		_, bad := model.Try(seed+1, 500, opt, func() model.Subject {
			w.Subject = model.Own(model.New(model.DefaultSettings()))
			return w
		})
		if bad != nil {
			panic(bad.Text)
		}
	}
}

// The generator makes every command of the table that is about jobs and queues, with every keyword, every
// field of DQCONFIG, and every error code that the model knows. A new command fails here
// until the model knows it.
func TestEverythingIsGenerated(t *testing.T) {
	w := newWitness(t)
	w.watch(60, model.Options{})
	for _, m := range w.missing() {
		t.Errorf("never generated: %s", m)
	}
}

// What is not generated is missed.
func TestWitnessMisses(t *testing.T) {
	w := newWitness(t)
	w.watch(4, model.Options{NoPolicy: true, Skip: map[string]bool{"DQNACK": true, "DQDROP": true}})
	missing := w.missing()
	for _, want := range []string{"DQNACK", "DQPAUSE", "DQCONFIG SET rate", "the error NOTEMPTY"} {
		if !slices.Contains(missing, want) {
			t.Errorf("not missed: %s", want)
		}
	}
}
