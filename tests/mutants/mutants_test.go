// Package mutants proves that the tests see: each mutant is one fault put into the
// real source, and a test must fail because of it. The sources themselves are not
// touched: the go command reads the faulty copy through -overlay.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// edit replaces one place of a file, which must exist exactly once.
type edit struct{ file, old, new string }

type mutant struct {
	name  string
	edits []edit
	tests string // the package that must notice
	run   string // its tests, for -run
	args  []string
	// breaks are the invariants and faults of PROMISES that it is the proof of, as in "I2 F4".
	breaks string
}

// Of each invariant and each fault that the documents name, one mutant at least shows that its
// checker can fail.
func TestEachPromiseHasAMutant(t *testing.T) {
	promises := map[string]bool{} // whether there is a mutant
	for file, row := range map[string]string{"../../ARCHITECTURE.md": `(?m)^\| I\d+ \|`, "../README.md": `(?m)^\| F\d+ .*? \|`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range regexp.MustCompile(row).FindAllString(string(text), -1) {
			for _, p := range regexp.MustCompile(`\b[IF]\d+\b`).FindAllString(cell, -1) {
				promises[p] = false
			}
		}
	}
	if len(promises) < 29 {
		t.Fatalf("only %d promises are found in the documents", len(promises))
	}
	for _, m := range mutants {
		for p := range strings.FieldsSeq(m.breaks) {
			if _, ok := promises[p]; !ok {
				t.Errorf("%s: there is no %s", m.name, p)
			}
			promises[p] = true
		}
	}
	for p, has := range promises {
		if why := unproved[p]; has == (why != "") {
			t.Errorf("%s: a mutant breaks it: %v; why there is none: %q", p, has, why)
		}
	}
}

func TestEachMutantIsCaught(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // a build and a test by turns leave a core idle
			overlay := m.write(t, root)
			args := append([]string{"test", "-count=1", "-failfast", "-vet=off", "-ldflags=-s -w", m.tests, "-run", m.run}, m.args...)
			cmd := exec.Command("go", args...)
			cmd.Dir = root
			// In the environment it goes for the program too that ./tests builds.
			cmd.Env = append(os.Environ(), "DQD_BINARY=", "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
			out, err := cmd.CombinedOutput()
			text := string(out)
			switch {
			case err == nil:
				t.Fatalf("not caught: go %s passed", strings.Join(args, " "))
			case strings.Contains(text, "[build failed]"), !strings.Contains(text, "FAIL"):
				t.Fatalf("the mutant does not build:\n%s", text)
			}
			t.Logf("caught: %s", firstLine(text))
		})
	}
}

// write makes the faulty copies and the overlay file that points to them.
func (m *mutant) write(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, e := range m.edits {
		path := filepath.Join(root, e.file)
		from := path
		if earlier, ok := replace[path]; ok {
			from = earlier
		}
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), e.old); n != 1 {
			t.Fatalf("%s has the place of this mutant %d times: adapt the mutant\n%s", e.file, n, e.old)
		}
		mutated := filepath.Join(dir, string(rune('a'+i))+".go")
		if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = mutated
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			return line
		}
	}
	return text
}
