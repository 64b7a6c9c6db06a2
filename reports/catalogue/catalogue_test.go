package catalogue

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

var judged = []reports.Verdict{{Outcome: verdict.Held}}

// TestMergedTakesTheLastThatJudged: a later run that did not complete a scenario does not replace its finding.
func TestMergedTakesTheLastThatJudged(t *testing.T) {
	r := merged([]reports.Report{
		{RunID: "first", Trouble: []string{"a"}, Scenarios: []reports.Scenario{
			{Name: "chaos/c", Why: "first", Verdicts: judged}, {Name: "chaos/b", Why: "first", Verdicts: judged},
		}},
		{RunID: "second", Trouble: []string{"b"}, Scenarios: []reports.Scenario{
			{Name: "chaos/b", Why: "second", Verdicts: judged}, {Name: "chaos/c", Why: "not begun"}, {Name: "chaos/a", Why: "not begun"},
		}},
	})
	var got [][2]string
	for i := range r.Scenarios {
		got = append(got, [2]string{r.Scenarios[i].Name, r.Scenarios[i].Why})
	}
	want := [][2]string{{"chaos/a", "not begun"}, {"chaos/b", "second"}, {"chaos/c", "first"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if r.RunID != "first, second" || !cmp.Equal(r.Trouble, []string{"a", "b"}) {
		t.Errorf("run %q, trouble %q", r.RunID, r.Trouble)
	}
}

func TestRestrictKeepsCurrentClaimsThatWereJudged(t *testing.T) {
	r := reports.Report{Scenarios: []reports.Scenario{
		{Name: "chaos/a", Claim: "it holds", Verdicts: judged}, {Name: "chaos/b"}, {Name: "chaos/gone", Verdicts: judged},
		{Name: "chaos/d", Claim: "it always holds", Verdicts: judged}, {Name: "chaos/e", Result: reports.Unsupported},
	}}
	restrict(&r, []Claim{{"chaos/a", "it holds"}, {"chaos/b", ""}, {"chaos/c", ""}, {"chaos/d", "it mostly holds"}, {"chaos/e", ""}})
	if len(r.Scenarios) != 2 || r.Scenarios[0].Name != "chaos/a" || r.Scenarios[1].Name != "chaos/e" {
		t.Errorf("left %d scenarios", len(r.Scenarios))
	}
}

func TestGoldenPage(t *testing.T) {
	reporttest.Golden(t, "catalogue.md", reporttest.Written(t, func(w io.Writer, r reports.Report) error {
		return findingsOf([]reports.Report{r}, nil).writePage(w, nil)
	}, reporttest.Sample()))
}

func TestFindingsReadBack(t *testing.T) {
	want := findingsOf([]reports.Report{reporttest.Sample()}, nil)
	name := filepath.Join(t.TempDir(), FindingsFile)
	if err := reports.Replace(name, want, writeFindings); err != nil {
		t.Fatal(err)
	}
	got, err := readFindings(name)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := os.WriteFile(name, []byte(`{"scenarios": {"chaos/a": {"mood": "good"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readFindings(name); err == nil || !strings.Contains(err.Error(), `unknown field "mood"`) {
		t.Errorf("a later version: %v", err)
	}
}

// TestFindingsKeepsFormerOnes: a finding that no run replaced stays while its claim does.
func TestFindingsKeepsFormerOnes(t *testing.T) {
	claims := []Claim{
		{"chaos/again", "it holds"}, {"mutants/again", ""}, {"chaos/kept", "it _also_ holds"}, {"mutants/changed", ""},
		{"chaos/changed", "it always holds"},
	}
	again := finding{Claim: "it holds", Seen: "new"}
	mutant, kept := finding{Twin: "chaos/again", Claim: "it holds", Seen: "old"}, finding{Claim: "it _also_ holds", Seen: "old"}
	f := findings{Scenarios: map[string]finding{"chaos/again": again}}
	f.keep(findings{Scenarios: map[string]finding{
		"chaos/again": {Claim: "it holds", Seen: "old"}, "mutants/again": mutant, "chaos/kept": kept,
		"mutants/gone":    {Twin: "chaos/kept", Claim: "it _also_ holds", Seen: "old"},
		"chaos/changed":   {Claim: "it never holds", Seen: "old"},
		"mutants/changed": {Twin: "chaos/changed", Claim: "it never holds", Seen: "old"},
	}}, claims)
	want := map[string]finding{"chaos/again": again, "mutants/again": mutant, "chaos/kept": kept}
	if diff := cmp.Diff(want, f.Scenarios); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f.untried(claims); !cmp.Equal(got, []string{"chaos/changed", "mutants/changed"}) {
		t.Errorf("untried: %q", got)
	}
}

// TestTheCatalogueIsWrittenFromItsFindings: suites/README.md was not edited. The scenarios without a finding follow behind.
func TestTheCatalogueIsWrittenFromItsFindings(t *testing.T) {
	const page = "../../suites/README.md"
	f, err := readFindings("../../suites/" + FindingsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := f.writePage(&want, nil); err != nil {
		t.Fatal(err)
	}
	if *reporttest.Update {
		if err := os.WriteFile(page, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || len(f.Scenarios) == 0 || !bytes.HasPrefix(got, want.Bytes()) {
		t.Errorf("%s is not what holdfast report --catalogue writes from %d findings: %v", page, len(f.Scenarios), err)
	}
}

// TestOtherModes: what was found with kube-proxy in another mode stands beside what was found in the usual one, and replaces none of it.
func TestOtherModes(t *testing.T) {
	run := func(id, mode string, names ...string) reports.Report {
		r := reports.Report{RunID: id, Cluster: reports.Cluster{ProxyMode: mode}}
		for _, name := range names {
			why := id + " saw " + name
			r.Scenarios = append(r.Scenarios, reports.Scenario{
				Name: name, Claim: "it holds", Result: reports.Held, Why: why, Verdicts: []reports.Verdict{{Outcome: verdict.Held, Seen: why}},
			})
		}
		return r
	}
	claims := []Claim{{"chaos/a", "it holds"}, {"chaos/b", "it holds"}, {"chaos/c", "it holds"}}
	before := findingsOf([]reports.Report{run("old", "iptables", "chaos/b", "chaos/c", "chaos/gone"), run("older", "ipvs", "chaos/b")}, claims)
	f := findingsOf([]reports.Report{run("first", "nftables", "chaos/a", "chaos/b"), run("second", "iptables", "chaos/a", "chaos/b")}, claims)
	f.keep(before, claims)
	seen := func(found map[string]finding) map[string]string {
		list := make(map[string]string)
		for name, one := range found {
			list[name] = one.Seen
		}
		return list
	}
	got := map[string]map[string]string{"": seen(f.Scenarios)}
	for mode, found := range f.OtherModes {
		got[mode] = seen(found)
	}
	want := map[string]map[string]string{
		"":         {"chaos/a": "first saw chaos/a", "chaos/b": "first saw chaos/b"},
		"iptables": {"chaos/a": "second saw chaos/a", "chaos/b": "second saw chaos/b", "chaos/c": "old saw chaos/c"},
		"ipvs":     {"chaos/b": "older saw chaos/b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	var page strings.Builder
	if err := f.writePage(&page, claims); err != nil {
		t.Fatal(err)
	}
	if want := "### chaos/a, in iptables mode\n\n- ✅ **Held** ([chaos/a](chaos/a.go)): second saw chaos/a\n- in nftables mode: first saw chaos/a\n"; !strings.Contains(page.String(), want) {
		t.Errorf("the page lacks %q:\n%s", want, page.String())
	}
}
