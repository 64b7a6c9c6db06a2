package disturb

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each rule is refused by a test of its own, or is kept by a package of which a test says that it is about the rule.
func TestEachRuleHasItsTest(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range Rules {
		if r.Number != i+1 || r.Promise == "" || seen[r.ID] {
			t.Errorf("rule %d, %q, is number %d, or promises nothing, or its name is there twice", i+1, r.ID, r.Number)
		}
		seen[r.ID] = true
		checked := r.run != nil || r.step != nil
		if !checked && r.Where == "" {
			t.Errorf("rule %d is kept by nothing", r.Number)
		}
		if checked {
			name := strings.ReplaceAll(r.ID, "-", "_") + "_test.go"
			if _, err := os.Stat(name); err != nil {
				t.Errorf("rule %d is checked, and has no test: %v", r.Number, err)
			}
		}
		if r.Where != "" {
			if !tested(t, filepath.Join("..", "..", r.Where), r.Number) {
				t.Errorf("rule %d is kept by %s, of which no test says so", r.Number, r.Where)
			}
		}
	}
	if len(Rules) != 23 {
		t.Errorf("%d rules, want 23", len(Rules))
	}
}

// tested reports whether a comment of a test says that it is about a rule: "Rules 2 and 23: ...".
func tested(t *testing.T, folder string, rule int) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(fmt.Sprintf(`// .*\b[Rr]ules? (\d+(,| and) )*%d\b`, rule))
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return said.Match(text)
	})
}
