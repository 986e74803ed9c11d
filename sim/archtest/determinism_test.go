package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// deterministic lists the folders whose code runs inside the single thread of a
// simulation; a folder covers its subfolders.
var deterministic = []string{"model", "faults", "sim/kernel", "sim/simnet", "sim/simdisk", "sim/cluster", "sim/measure"}

// bannedImports cannot be used there, with the reason.
var bannedImports = map[string]string{
	"time":          "the clock is Input.Now",
	"math/rand":     "randomness is Input.Draw",
	"math/rand/v2":  "randomness is Input.Draw",
	"crypto/rand":   "randomness is Input.Draw",
	"hash/maphash":  "its seed differs by process",
	"sync":          "one thread a simulation",
	"sync/atomic":   "one thread a simulation",
	"os":            "files are vfs",
	"net":           "the network is simulated",
	"runtime":       "nothing may depend on the runtime",
	"runtime/debug": "nothing may depend on the runtime",
	"unsafe":        "no addresses",
	"context":       "no goroutines to cancel",
}

// exempt lists what a file may use in spite of the rules, with the reason.
var exempt = map[string]string{
	"sim/kernel/panic.go: runtime/debug": "the stack of a failed assertion, for people; never folded",
	"sim/measure: float":                 "the histogram library's quantile argument is a float; no decision depends on it",
	"faults/point: os":                   "refuses environment variables that would arm the library's global registry",
}

func isDeterministic(pkg string) bool {
	for _, d := range deterministic {
		if pkg == d || strings.HasPrefix(pkg, d+"/") {
			return true
		}
	}
	return false
}

func TestSimulationCodeIsDeterministic(t *testing.T) {
	byPkg := make(map[string][]source)
	for _, s := range sources(t) {
		if isDeterministic(s.pkg) && s.pkg != "model/vfs/vfstest" {
			byPkg[s.pkg] = append(byPkg[s.pkg], s)
		}
	}
	loader := newLoader(sources(t))
	for pkg := range byPkg {
		info := loader.check(pkg)
		for _, s := range byPkg[pkg] {
			for _, problem := range findings(s, info.Types, info.Defs, info.Uses, loader.packages[pkg]) {
				t.Error(problem)
			}
		}
	}
}

// findings lists the banned constructs of one file.
func findings(s source, typesOf map[ast.Expr]types.TypeAndValue, defs, uses map[*ast.Ident]types.Object, pkg *types.Package) []string {
	var out []string
	say := func(n ast.Node, what, why string) {
		if exempt[s.name+": "+what] == "" && exempt[s.pkg+": "+what] == "" {
			out = append(out, fmt.Sprintf("%s: %s: %s", fset.Position(n.Pos()), what, why))
		}
	}
	for _, i := range s.imports() {
		if why, bad := bannedImports[i]; bad {
			say(s.ast, i, why)
		}
	}
	global := func(e ast.Expr) bool {
		id, ok := root(e).(*ast.Ident)
		if !ok {
			return false
		}
		v, ok := uses[id].(*types.Var)
		return ok && pkg != nil && v.Parent() == pkg.Scope()
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "go", "no goroutine inside a simulation")
		case *ast.ChanType:
			say(n, "chan", "no channel inside a simulation")
		case *ast.SelectStmt:
			say(n, "select", "its choice is random")
		case *ast.RangeStmt:
			if t, ok := typesOf[n.X]; ok && t.Type != nil {
				if _, isMap := t.Type.Underlying().(*types.Map); isMap {
					say(n, "range over a map", "its order is random")
				}
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, l := range n.Lhs {
					if global(l) {
						say(n, "package variable assigned", "simulations in one process must not meet")
					}
				}
			}
		case *ast.IncDecStmt:
			if global(n.X) {
				say(n, "package variable assigned", "simulations in one process must not meet")
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				say(n, "init", "tables are explicit literals")
			}
		case *ast.Ident:
			if (n.Name == "float64" || n.Name == "float32") && uses[n] != nil && uses[n].Pkg() == nil {
				say(n, "float", "floating point differs between machines")
			}
		}
		return true
	})
	return out
}

// root strips selectors, indexes and pointers: the variable that an expression changes.
func root(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return e
		}
	}
}

// loader type-checks the module's own packages from source. Everything outside
// the module is an empty package: enough to know the maps and variables that our
// own code declares.
type loader struct {
	files    map[string][]*ast.File
	packages map[string]*types.Package
	infos    map[string]*types.Info
}

func newLoader(all []source) *loader {
	l := &loader{files: make(map[string][]*ast.File), packages: make(map[string]*types.Package), infos: make(map[string]*types.Info)}
	for _, s := range all {
		l.files[s.pkg] = append(l.files[s.pkg], s.ast)
	}
	return l
}

func (l *loader) check(pkg string) *types.Info {
	if info := l.infos[pkg]; info != nil {
		return info
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object)}
	l.infos[pkg] = info
	conf := types.Config{Importer: l, Error: func(error) {}}
	l.packages[pkg], _ = conf.Check(module+pkg, fset, l.files[pkg], info)
	return info
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	rel, ours := strings.CutPrefix(path, module)
	if !ours || l.files[rel] == nil {
		p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
		p.MarkComplete()
		return p, nil
	}
	l.check(rel)
	return l.packages[rel], nil
}

// The check itself must be able to fail.
func TestEachBannedConstructIsFound(t *testing.T) {
	for what, code := range map[string]string{
		"go":                        `package p; func f() { go f() }`,
		"chan":                      `package p; var c chan int`,
		"select":                    `package p; func f() { select {} }`,
		"range over a map":          `package p; type m map[int]int; type s struct{ f m }; func f(x s) { for range x.f {} }`,
		"package variable assigned": `package p; var v struct{ a [2]int }; func f() { v.a[1]++ }`,
		"init":                      `package p; func init() {}`,
		"float":                     `package p; func f(x float64) {}`,
		"time":                      `package p; import _ "time"`,
	} {
		f, err := parser.ParseFile(fset, what+".go", code, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := source{name: what + ".go", pkg: "p", ast: f}
		l := newLoader([]source{s})
		info := l.check("p")
		got := findings(s, info.Types, info.Defs, info.Uses, l.packages["p"])
		if len(got) != 1 || !strings.Contains(got[0], what) {
			t.Errorf("%s: found %q", what, got)
		}
	}
}
