package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parsed returns this package's sources: the test files, or the others.
func parsed(t *testing.T, tests bool) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// literal returns a variable's name, and the type and elements of its composite literal.
func literal(spec ast.Node) (variable, kind string, elements []ast.Expr) {
	v, ok := spec.(*ast.ValueSpec)
	if !ok || len(v.Values) != 1 {
		return "", "", nil
	}
	made, ok := v.Values[0].(*ast.CompositeLit)
	if !ok {
		return "", "", nil
	}
	switch of := made.Type.(type) {
	case *ast.Ident:
		return v.Names[0].Name, of.Name, made.Elts
	case *ast.ArrayType:
		if one, ok := of.Elt.(*ast.Ident); ok {
			return v.Names[0].Name, "[]" + one.Name, made.Elts
		}
	}
	return "", "", nil
}

// TestEveryRuleHasFilesOfItsOwn keeps the places of a new rule at three: its file, its test, and its line in Rules.
func TestEveryRuleHasFilesOfItsOwn(t *testing.T) {
	for _, r := range Rules {
		name := strings.ReplaceAll(r.ID, "-", "_")
		file, err := parser.ParseFile(token.NewFileSet(), name+".go", nil, 0)
		if err != nil {
			t.Errorf("rule %s: %v", r.ID, err)
			continue
		}
		declared := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if _, kind, _ := literal(n); kind == "Rule" {
				declared++
			}
			return true
		})
		if declared != 1 {
			t.Errorf("%s.go declares %d rules, want one", name, declared)
		}
		if _, err := os.Stat(name + "_test.go"); err != nil {
			t.Errorf("rule %s: %v", r.ID, err)
		}
	}
}

// Every rule is in the list of Rules, and passed to caught in a test: caught checks that the rule finds something, and nothing
// any more after its own commands have fixed it.
func TestEveryRuleIsListedAndCatchesSomething(t *testing.T) {
	rules, listed, catches := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range parsed(t, false) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch variable, kind, elements := literal(n); kind {
			case "Rule":
				rules[variable] = true
			case "[]Rule":
				for _, e := range elements {
					if name, ok := e.(*ast.Ident); ok {
						listed[name.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, file := range parsed(t, true) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 { // t, the rule, mutants
				return true
			}
			what, isFunc := call.Fun.(*ast.Ident)
			rule, isVariable := call.Args[1].(*ast.Ident)
			if isFunc && isVariable && what.Name == "caught" {
				catches[rule.Name] = true
			}
			return true
		})
	}
	if len(rules) == 0 || len(rules) != len(Rules) {
		t.Errorf("found %d rules in the source, and %d are listed", len(rules), len(Rules))
	}
	for name := range rules {
		if !listed[name] {
			t.Errorf("rule %s: not in the list of Rules", name)
		}
		if !catches[name] {
			t.Errorf("rule %s: no test shows that it catches anything", name)
		}
	}
}
