package rules

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// Arrows go down only, and outside modules are named where they belong.
func TestImportsGoDown(t *testing.T) {
	fset := token.NewFileSet()
	files := sources(t, fset, ".")
	if len(files) < 20 {
		t.Fatalf("found only %d source files", len(files))
	}
	for _, f := range files {
		for _, bad := range Imports(fset, f) {
			t.Error(bad)
		}
	}
}

// The pure packages use no clock, goroutine, randomness, map order, or float.
func TestPurePackagesArePure(t *testing.T) {
	export := exportData(t)
	for _, dir := range Pure {
		t.Run(strings.ReplaceAll(dir, "/", "."), func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(root, dir)); errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("no such package: correct the list in tests/rules")
			}
			fset := token.NewFileSet()
			var files []File
			for _, f := range sources(t, fset, dir) {
				if f.Dir == dir && !f.Test {
					files = append(files, f)
				}
			}
			if len(files) == 0 {
				t.Fatal("no source files")
			}
			for _, bad := range purity(t, fset, dir, files, importer.ForCompiler(fset, "gc", export)) {
				t.Error(bad)
			}
		})
	}
}

// The proof that the rules can be broken: each of these files breaks one.
func TestRulesSeeWhatIsWrong(t *testing.T) {
	std := importer.ForCompiler(token.NewFileSet(), "source", nil)
	for name, source := range map[string]string{
		"goroutine":       "func f() { go f() }",
		"clock":           `import "time"; var now = time.Now`,
		"clock, renamed":  `import t "time"; func f() int64 { return t.Now().UnixNano() }`,
		"clock, unnamed":  `import . "time"; var x Duration`,
		"since":           `import "time"; func f(t time.Time) time.Duration { return time.Since(t) }`,
		"sleep":           `import "time"; func f() { time.Sleep(1) }`,
		"timer":           `import "time"; func f() { time.NewTimer(1) }`,
		"after":           `import "time"; func f() { <-time.After(1) }`,
		"float type":      "var x float64",
		"float literal":   "const x = 1.5",
		"float, untyped":  "const x = 1.5 * 2",
		"float, hidden":   `import "time"; func f(d time.Duration) bool { return d.Seconds() > 3 }`,
		"map order":       "func f(m map[int]int) { for range m {} }",
		"map order, type": "type set map[int]bool; func f(s set) { for k := range s { _ = k } }",
		"map order, keys": `import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`,
		"os":              `import _ "os"`,
		"net":             `import _ "net"`,
		"net/http":        `import _ "net/http"`,
		"sync":            `import _ "sync"`,
		"sync/atomic":     `import _ "sync/atomic"`,
		"math/rand":       `import _ "math/rand"`,
		"math/rand/v2":    `import _ "math/rand/v2"`,
		"crypto/rand":     `import _ "crypto/rand"`,
		"log":             `import _ "log"`,
		"log/slog":        `import _ "log/slog"`,
	} {
		t.Run(name, func(t *testing.T) {
			fset, f := parse(t, "wheel", "wheel/bad.go", source)
			if bad := purity(t, fset, "wheel", []File{f}, std); len(bad) == 0 {
				t.Errorf("not seen: %s", source)
			}
		})
	}
	for name, c := range map[string]struct{ dir, source string }{
		"redcon in commands":     {"commands", `import _ "github.com/tidwall/redcon"`},
		"redcon in a test":       {"tests", `import _ "github.com/tidwall/redcon"`},
		"pebble in server":       {"server", `import _ "github.com/cockroachdb/pebble/v2"`},
		"part of pebble":         {"raftfsm", `import _ "github.com/cockroachdb/pebble/v2/vfs"`},
		"raft in persist":        {"persist", `import _ "github.com/hashicorp/raft"`},
		"go-redis in server":     {"server", `import _ "github.com/redis/go-redis/v9"`},
		"up: persist to server":  {"persist", `import _ "dqd/server"`},
		"up: commands to server": {"commands", `import _ "dqd/server/resp"`},
		"up: shard to server":    {"server/shard", `import _ "dqd/server"`},
		"aside: shard to resp":   {"server/shard", `import _ "dqd/server/resp"`},
		"up: dispatch to evaluate": {"server/shard/dispatch",
			`import _ "dqd/server/shard/evaluate"`},
		"evaluate to persist":    {"server/shard/evaluate", `import _ "dqd/persist"`},
		"effect to persist":      {"raftfsm/effect", `import _ "dqd/persist"`},
		"record to anything":     {"persist/record", `import _ "dqd/commands"`},
		"wheel to anything":      {"wheel", `import _ "dqd/persist/record"`},
		"product to tests":       {"server", `import _ "dqd/tests/script"`},
		"product to benchmarks":  {"cmd/dqd", `import _ "dqd/benchmarks"`},
		"server to cmd":          {"server", `import _ "dqd/cmd/dqd"`},
		"example to the inside":  {"examples/ordertimeout", `import _ "dqd/server"`},
		"a package out of place": {"somewhere", `import _ "dqd/wheel"`},
	} {
		t.Run(name, func(t *testing.T) {
			fset, f := parse(t, c.dir, c.dir+"/bad.go", c.source)
			if bad := Imports(fset, f); len(bad) == 0 {
				t.Errorf("not seen: %s in %s", c.source, c.dir)
			}
		})
	}
}

// What is right is not reported.
func TestRulesLetRightSourcesPass(t *testing.T) {
	std := importer.ForCompiler(token.NewFileSet(), "source", nil)
	fset, f := parse(t, "wheel", "wheel/good.go", `
import ("maps"; "math/bits"; "slices"; "time")
const d = 5 * time.Second
func keys(m map[int]int, ns int64) ([]int, int64) { return slices.Sorted(maps.Keys(m)), (ns + 1e9) / 1e6 }
var at time.Time
func f(m map[int]int, s []int) int { for range s {}; slices.Sort(s); return m[1] + bits.Len(3) }`)
	for _, bad := range append(purity(t, fset, "wheel", []File{f}, std), Imports(fset, f)...) {
		t.Error(bad)
	}
	fset, f = parse(t, "server/shard", "server/shard/good.go", `
import (_ "dqd/commands"; _ "dqd/persist"; _ "dqd/persist/record"; _ "dqd/raftfsm/effect"; _ "dqd/server/shard/evaluate")`)
	for _, bad := range Imports(fset, f) {
		t.Error(bad)
	}
}

// purity applies all rules of a pure package.
func purity(t *testing.T, fset *token.FileSet, dir string, files []File, imp types.Importer) []string {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	var asts []*ast.File
	for _, f := range files {
		asts = append(asts, f.AST)
	}
	conf := types.Config{Importer: imp, Error: func(err error) {
		// An unused name or import in a proof does not matter.
		if !strings.Contains(err.Error(), "imported and not used") {
			t.Errorf("type check: %v", err)
		}
	}}
	conf.Check(Module+"/"+dir, fset, asts, info)
	var bad []string
	for _, f := range files {
		bad = append(bad, Purity(fset, f)...)
		bad = append(bad, TypedPurity(fset, f, info)...)
	}
	return bad
}

func parse(t *testing.T, dir, name, source string) (*token.FileSet, File) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, "package p; "+strings.TrimSpace(source), 0)
	if err != nil {
		t.Fatal(err)
	}
	return fset, File{Name: name, Dir: dir, AST: file}
}

// sources parses all Go files in a folder of the module and below.
func sources(t *testing.T, fset *token.FileSet, dir string) []File {
	t.Helper()
	var files []File
	err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || strings.HasPrefix(base, ".") && base != "." && base != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		files = append(files, File{Name: name, Dir: filepath.ToSlash(rel), Test: strings.HasSuffix(name, "_test.go"), AST: file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// exportData finds the compiled form of everything that the pure packages import.
func exportData(t *testing.T) func(path string) (io.ReadCloser, error) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, dir := range Pure {
		args = append(args, "./"+dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := in.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fs.ErrNotExist
		}
		return os.Open(exports[path])
	}
}
