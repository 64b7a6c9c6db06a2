package formats

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestGoldenCatalogue(t *testing.T) {
	f := findings{Scenarios: make(map[string]finding)}
	f.add(reporttest.Sample(), nil)
	var page bytes.Buffer
	if err := f.writePage(&page, []string{"chaos/not-tried"}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "catalogue.md", page.Bytes())
}

// A run that did not complete a scenario does not replace its finding.
func TestFindingsOfARunThatJudged(t *testing.T) {
	f := findings{Scenarios: map[string]finding{"chaos/a": {Headline: "before"}, "chaos/b": {Headline: "before"}}}
	judged := []reports.Verdict{{}}
	f.add(reports.Report{Scenarios: []reports.Scenario{
		{Name: "chaos/a", Why: "not begun"}, {Name: "chaos/b", Why: "now; more", Verdicts: judged}, {Name: "chaos/c", Result: reports.Unsupported},
		{Name: "mutants/m", Verdicts: judged, Mutant: &reports.Mutant{}},
	}}, map[string]string{"": "the twin's"})
	want := map[string]finding{
		"chaos/a": {Headline: "before"}, "chaos/b": {Headline: "now"}, "chaos/c": {Result: reports.Unsupported}, "mutants/m": {Claim: "the twin's"},
	}
	if diff := cmp.Diff(want, f.Scenarios); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A finding stays as long as its scenario exists and the claim stands.
func TestCatalogueDropsFindingsAboutOtherClaims(t *testing.T) {
	page := filepath.Join(t.TempDir(), "README.md")
	data := filepath.Join(filepath.Dir(page), FindingsFile)
	before := findings{Scenarios: map[string]finding{
		"chaos/kept": {Claim: "it holds"}, "chaos/changed": {Claim: "it never holds"}, "chaos/gone": {},
		"mutants/kept": {Twin: "chaos/kept", Claim: "it holds"}, "mutants/changed": {Twin: "chaos/changed", Claim: "it never holds"},
	}}
	if err := reports.Replace(data, before, reports.WriteJSON); err != nil {
		t.Fatal(err)
	}
	if err := UpdateCatalogue(page, map[string]string{"chaos/kept": "it holds", "chaos/changed": "it always holds", "mutants/kept": "", "mutants/changed": ""}); err != nil {
		t.Fatal(err)
	}
	f, err := readFindings(data)
	if _, mutant := f.Scenarios["mutants/kept"]; err != nil || len(f.Scenarios) != 2 || !mutant || f.Scenarios["chaos/kept"].Claim == "" {
		t.Errorf("left %v, %v", f, err)
	}
	got, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(got, []byte("## Not tried yet\n\nchaos/changed, mutants/changed\n")) {
		t.Errorf("%v, page:\n%s", err, got)
	}
	if err := os.WriteFile(data, []byte(`{"scenarios": {"chaos/a": {"mood": "good"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := UpdateCatalogue(page, nil); err == nil {
		t.Error("findings of a later version were replaced")
	}
}

// suites/README.md was not edited. The scenarios that were not seen follow its tables.
func TestCatalogueOfTheSuites(t *testing.T) {
	const page = "../../suites/README.md"
	f, err := readFindings("../../suites/" + FindingsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := f.writePage(&want, nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil || len(f.Scenarios) == 0 || !bytes.HasPrefix(got, want.Bytes()) {
		t.Errorf("%s is not what holdfast report --catalogue writes from %d findings: %v", page, len(f.Scenarios), err)
	}
	if len(got) > 40_000 {
		t.Errorf("%s has %d bytes", page, len(got))
	}
}
