package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// What was run again counts as it was found last; what a later run did not come to is as it was.
func TestMergedTakesTheLastThatJudged(t *testing.T) {
	verdicts := []verdict.Verdict{{Outcome: verdict.Held}}
	m := merged([]Model{
		{RunID: "first", Trouble: []string{"a"}, Scenarios: []Scenario{
			{Name: "chaos/c", Why: "first", Verdicts: verdicts}, {Name: "chaos/b", Why: "first", Verdicts: verdicts},
		}},
		{RunID: "second", Trouble: []string{"b"}, Scenarios: []Scenario{
			{Name: "chaos/b", Why: "second", Verdicts: verdicts}, {Name: "chaos/c", Why: "not begun"}, {Name: "chaos/a", Why: "not begun"},
		}},
	})
	var got [][2]string
	for i := range m.Scenarios {
		got = append(got, [2]string{m.Scenarios[i].Name, m.Scenarios[i].Why})
	}
	want := [][2]string{{"chaos/a", "not begun"}, {"chaos/b", "second"}, {"chaos/c", "first"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if m.RunID != "first, second" || !cmp.Equal(m.Trouble, []string{"a", "b"}) {
		t.Errorf("run %q, trouble %q", m.RunID, m.Trouble)
	}
}

// What no longer is in the suites is no claim any more.
func TestRestrictKeepsWhatIsAndWasJudged(t *testing.T) {
	verdicts := []verdict.Verdict{{Outcome: verdict.Held}}
	m := Model{Scenarios: []Scenario{
		{Name: "chaos/a", Claim: "it holds", Verdicts: verdicts}, {Name: "chaos/b"}, {Name: "chaos/gone", Verdicts: verdicts},
		{Name: "chaos/d", Claim: "it always holds", Verdicts: verdicts}, {Name: "chaos/e", Result: Unsupported},
	}}
	m.restrict([]Claim{{"chaos/a", "it holds"}, {"chaos/b", ""}, {"chaos/c", ""}, {"chaos/d", "it mostly holds"}, {"chaos/e", ""}})
	if len(m.Scenarios) != 2 || m.Scenarios[0].Name != "chaos/a" || m.Scenarios[1].Name != "chaos/e" {
		t.Errorf("left %d scenarios", len(m.Scenarios))
	}
}

// They read what was written, but for what stands below no claim.
func TestFindingsReadsBack(t *testing.T) {
	m := sample()
	want := findingsOf(m)
	delete(want, "mutants/no-prestop")
	got := readFindings(string(written(t, WriteCatalogue, m)))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(finding{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a run did not judge stays as it was written, below the claim it was written for.
func TestFindingsKeepsWhatWasFoundBefore(t *testing.T) {
	p := findings{"chaos/again": {"chaos/again", "it holds", "new"}}
	p.keep(findings{
		"chaos/again":     {"chaos/again", "it holds", "old"},
		"mutants/again":   {"chaos/again", "it holds", "old"},
		"chaos/kept":      {"chaos/kept", `it \_also\_ holds`, "old"},
		"mutants/gone":    {"chaos/kept", `it \_also\_ holds`, "old"},
		"chaos/changed":   {"chaos/changed", "it never holds", "old"},
		"mutants/changed": {"chaos/changed", "it never holds", "old"},
	}, claimed)
	want := findings{
		"chaos/again": {"chaos/again", "it holds", "new"}, "mutants/again": {"chaos/again", "it holds", "old"},
		"chaos/kept": {"chaos/kept", `it \_also\_ holds`, "old"},
	}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(finding{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := p.untried(claimed); !cmp.Equal(got, []string{"chaos/changed", "mutants/changed"}) {
		t.Errorf("untried: %q", got)
	}
}

var claimed = []Claim{
	{"chaos/again", "it holds"}, {"mutants/again", ""}, {"chaos/kept", "it _also_ holds"}, {"mutants/changed", ""},
	{"chaos/changed", "it always holds"},
}
