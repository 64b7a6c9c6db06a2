package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

// A measured claim replaces the one before it, is on the page, and outlives the findings of further runs.
func TestMeasuredClaims(t *testing.T) {
	dir := t.TempDir()
	page, file := filepath.Join(dir, "README.md"), filepath.Join(dir, FindingsFile)
	for _, m := range []Measured{
		{"a spread costs < 2 x", "| 1 |\n", "make scale-constraints"}, {"a spread costs < 2 x", "| 2 |\n", "make scale-constraints"}, {"another", "| 3 |", "make"},
	} {
		if err := Add(file, m); err != nil {
			t.Fatal(err)
		}
	}
	before, err := readFindings(file)
	if err != nil {
		t.Fatal(err)
	}
	f := findingsOf([]reports.Report{reporttest.Sample()}, nil)
	f.keep(before, nil)
	if err := reports.Replace(file, f, writeFindings); err != nil {
		t.Fatal(err)
	}
	if err := Update(page, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const want = "\n## Measured\n\nNo scenario judges these claims: they are about costs.\n\n### a spread costs &lt; 2 x\n\n| 2 |\n\n`make scale-constraints`\n\n### another\n"
	if !strings.Contains(string(text), want) || strings.Contains(string(text), "| 1 |") {
		t.Errorf("want %q in\n%s", want, text)
	}
	if !strings.Contains(string(text), "Last written from `"+f.Last.Runs+"`") {
		t.Errorf("the page forgot its runs:\n%s", text)
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Add(file, Measured{Claim: "a"}); err == nil {
		t.Error("findings that cannot be read were replaced")
	}
}
