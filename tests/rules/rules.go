// Package rules checks the rules that the source of dqd keeps: which packages
// are pure, and who may import whom.
//
// A pure package decides from its arguments alone, so that a replay gives the
// same result: its own files use no clock, start no goroutine, draw nothing at
// random, follow no order of a map, and compute no floats. (Its own files: even
// package strings depends on sync.)
package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the module's path.
const Module = "dqd"

// Pure are the packages that keep the rules of Purity.
var Pure = []string{
	"commands",
	"persist/record",
	"raftfsm/archive",
	"raftfsm/effect",
	"server/shard/dispatch",
	"server/shard/evaluate",
	"wheel",
}

// forbiddenInPure are imports that a pure package has no use for; of "net" also
// "net/http" and so on.
var forbiddenInPure = []string{
	"context", "crypto/rand", "io/fs", "log", "math/rand", "net", "os", "runtime", "sync", "syscall", "testing",
}

// clockFunctions read a clock or wait for one.
var clockFunctions = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// mapOrder are functions whose result follows the order of a map, unless
// slices.Sorted takes it.
var mapOrder = []string{"All", "Keys", "Values"}

// thirdParty says where an outside module may be named. Test files may name any:
// a crash test needs pebble's file systems, a client test a client. The sub-commands
// in cmd/dqd/client speak to a server as its users do.
var thirdParty = map[string][]string{
	"github.com/tidwall/redcon":        {"server", "benchmarks"},
	"github.com/cockroachdb/pebble/v2": {"persist"},
	"github.com/hashicorp/raft":        {"raftfsm"},
	"github.com/redis/go-redis/v9":     {"cmd/dqd/client", "migrate", "tests", "benchmarks", "examples", "worker"},
}

// below lists, for each room of the house, the rooms that it may import; a room
// is a folder with what is below it, and the longest match counts. What is not
// in here is reported, so that a new package gets its place.
var below = map[string][]string{
	"cmd":                   {"cmd/dqd/client", "cmd/dqd/readfile", "server", "commands", "raftfsm", "persist", "wheel", "tsc", "migrate"},
	"cmd/dqd/client":        {"cmd/dqd/readfile", "raftfsm/archive"},
	"cmd/dqd/readfile":      {},
	"server":                {"server/resp", "server/shard", "server/guard", "commands", "raftfsm", "persist", "wheel", "tsc"},
	"server/resp":           {},
	"server/guard":          {"commands"},
	"server/shard":          {"server/shard/evaluate", "server/shard/dispatch", "commands", "raftfsm", "persist", "wheel", "tsc"},
	"server/shard/evaluate": {"server/shard/dispatch", "commands", "raftfsm/effect", "persist/record"},
	"server/shard/dispatch": {"commands", "persist/record", "wheel"},
	"commands":              {"persist/record"},
	"raftfsm":               {"raftfsm/archive", "raftfsm/effect", "persist"},
	"raftfsm/archive":       {"persist/record"},
	"raftfsm/effect":        {"persist/record"},
	"persist":               {"persist/record"},
	"persist/record":        {},
	"wheel":                 {},
	"tsc":                   {},
	"migrate":               {},
	"worker":                {}, // of its users, who have no other part of the house
	"examples":              {"worker"},
	// They drive the whole house from outside, and some of it from inside.
	"tests":      {"tests", "server", "commands", "raftfsm", "persist", "wheel", "tsc", "migrate", "examples", "worker"},
	"benchmarks": {"benchmarks", "server", "commands", "raftfsm", "persist", "wheel", "tsc"},
}

// File is one source file of a package.
type File struct {
	Name string // for messages
	Dir  string // of the package, from the module's root
	Test bool   // a _test.go file
	AST  *ast.File
}

// Imports checks who is imported. A test may use anything of the house to check
// its room.
func Imports(fset *token.FileSet, f File) []string {
	var bad []string
	if f.Test {
		return nil
	}
	report := func(n ast.Node, format string, args ...any) {
		bad = append(bad, at(fset, n)+": "+fmt.Sprintf(format, args...))
	}
	for _, spec := range f.AST.Imports {
		name := importPath(spec)
		for module, rooms := range thirdParty {
			if within(name, module) && !slices.ContainsFunc(rooms, func(room string) bool { return within(f.Dir, room) }) {
				report(spec, "%s names %s, which only %s may", f.Dir, name, strings.Join(rooms, ", "))
			}
		}
		target, own := strings.CutPrefix(name, Module+"/")
		if !own {
			continue
		}
		room, ok := roomOf(f.Dir)
		if !ok {
			report(spec, "%s has no place in the house: add it to the table in tests/rules", f.Dir)
			continue
		}
		if room != "cmd" && within(target, room) && !slices.Contains(below[room], target) && isHelper(f.Dir, target) {
			continue // a room's own helpers
		}
		if !slices.ContainsFunc(below[room], func(r string) bool { return within(target, r) }) {
			report(spec, "%s imports %s: arrows go down only", f.Dir, target)
		}
	}
	return bad
}

// isHelper reports whether target lies below dir, in no room of its own.
func isHelper(dir, target string) bool {
	a, _ := roomOf(dir)
	b, _ := roomOf(target)
	return a == b
}

func roomOf(dir string) (room string, ok bool) {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := below[d]; ok {
			return d, true
		}
	}
	return "", false
}

// Purity checks a file of a pure package that can be known from its syntax.
func Purity(fset *token.FileSet, f File) []string {
	var bad []string
	report := func(n ast.Node, format string, args ...any) {
		bad = append(bad, at(fset, n)+": "+fmt.Sprintf(format, args...))
	}
	names := map[string]string{} // local name → import path
	for _, spec := range f.AST.Imports {
		name := importPath(spec)
		for _, forbidden := range forbiddenInPure {
			if within(name, forbidden) {
				report(spec, "a pure package imports %s", name)
			}
		}
		local := path.Base(name)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." && (name == "time" || name == "maps") {
			report(spec, "a pure package imports %s without its name", name)
		}
		names[local] = name
	}
	sorted := map[ast.Expr]bool{} // the maps.Keys of slices.Sorted(maps.Keys(m))
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			outer, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) != 1 || outer.Sel.Name != "Sorted" {
				break
			}
			pkg, ok := outer.X.(*ast.Ident)
			inner, isCall := n.Args[0].(*ast.CallExpr)
			if ok && isCall && names[pkg.Name] == "slices" {
				sorted[inner.Fun] = true
			}
		case *ast.GoStmt:
			report(n, "a pure package starts a goroutine")
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			switch from := names[pkg.Name]; {
			case from == "time" && slices.Contains(clockFunctions, n.Sel.Name):
				report(n, "a pure package uses time.%s", n.Sel.Name)
			case from == "maps" && slices.Contains(mapOrder, n.Sel.Name) && !sorted[n]:
				report(n, "a pure package follows the order of a map: maps.%s", n.Sel.Name)
			}
		case *ast.Ident:
			switch n.Name {
			case "float32", "float64", "complex64", "complex128":
				report(n, "a pure package uses %s", n.Name)
			}
		}
		return true
	})
	return bad
}

// TypedPurity checks what needs types: ranges over maps, and floats that do not
// say so. (A constant such as 1e9 that becomes an integer is none.)
func TypedPurity(fset *token.FileSet, f File, info *types.Info) []string {
	var bad []string
	report := func(n ast.Node, format string, args ...any) {
		bad = append(bad, at(fset, n)+": "+fmt.Sprintf(format, args...))
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok {
			if t := info.TypeOf(r.X); t != nil {
				if _, isMap := t.Underlying().(*types.Map); isMap {
					report(r, "a pure package ranges over a map")
				}
			}
		}
		switch n.(type) {
		case *ast.CallExpr, *ast.BasicLit:
			if t, ok := info.TypeOf(n.(ast.Expr)).(*types.Basic); ok && t.Info()&(types.IsFloat|types.IsComplex) != 0 {
				report(n, "a pure package uses a float (%s)", t)
			}
		}
		return true
	})
	return bad
}

// within reports whether the slash-separated path is root or below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func importPath(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser lets no other through
	}
	return name
}

func at(fset *token.FileSet, n ast.Node) string {
	p := fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
