package disturb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each rule is refused by a test of its own, or is kept by a package that has tests, or is said to be open.
func TestEachRuleHasItsTest(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range Rules {
		if r.Number != i+1 || r.Promise == "" || seen[r.ID] {
			t.Errorf("rule %d, %q, is number %d, or promises nothing, or its name is there twice", i+1, r.ID, r.Number)
		}
		seen[r.ID] = true
		checked := r.run != nil || r.step != nil
		if r.Open == (checked || r.Where != "") {
			t.Errorf("rule %d: open %t, checked %t, kept by %q", r.Number, r.Open, checked, r.Where)
		}
		if checked {
			name := strings.ReplaceAll(r.ID, "-", "_") + "_test.go"
			if _, err := os.Stat(name); err != nil {
				t.Errorf("rule %d is checked, and has no test: %v", r.Number, err)
			}
		}
		if r.Where != "" {
			if tests, err := filepath.Glob(filepath.Join("..", "..", r.Where, "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("rule %d is kept by %s, which has no tests (%v)", r.Number, r.Where, err)
			}
		}
	}
	if len(Rules) != 23 {
		t.Errorf("%d rules, want 23", len(Rules))
	}
}
