package reports

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestSumUp(t *testing.T) {
	v := func(kind string, o verdict.Outcome) verdict.Verdict {
		return verdict.Verdict{Kind: kind, Outcome: o, Seen: kind + " " + string(o)}
	}
	untested := verdict.Verdict{Kind: "U", Outcome: verdict.Unknown, Untested: true, Seen: "U untested"}
	mutant := &Mutant{}
	caught := func(o verdict.Outcome, n float64) *verdict.Verdict {
		return &verdict.Verdict{Kind: "Caught", Outcome: o, Seen: "of the mutant", Numbers: map[string]float64{verdict.CaughtNumber: n}}
	}
	violated := []verdict.Verdict{v("A", "violated")}
	for name, test := range map[string]struct {
		verdicts   []verdict.Verdict
		mutant     *Mutant
		caught     *verdict.Verdict
		incomplete string
		want       Result
		why        string
	}{
		"all held":                     {[]verdict.Verdict{v("A", "held"), v("B", "held")}, nil, nil, "", Held, "A held"},
		"one unknown":                  {[]verdict.Verdict{v("A", "held"), v("B", "unknown")}, nil, nil, "", Unknown, "B unknown"},
		"violated before unknown":      {[]verdict.Verdict{v("A", "unknown"), v("B", "violated")}, nil, nil, "", Violated, "B violated"},
		"a word of a later version":    {[]verdict.Verdict{v("A", "splendid")}, nil, nil, "", Unknown, "A splendid"},
		"nothing judged":               {nil, nil, nil, "", Unknown, "no promise was judged"},
		"held on half a record":        {[]verdict.Verdict{v("A", "held")}, nil, nil, "torn", Unknown, "the record is incomplete: torn"},
		"violated on half a record":    {[]verdict.Verdict{v("A", "violated")}, nil, nil, "torn", Violated, "A violated"},
		"untested does not count":      {[]verdict.Verdict{untested, v("A", "held")}, nil, nil, "", Held, "A held"},
		"nor beside what is missing":   {[]verdict.Verdict{untested, v("A", "unknown")}, nil, nil, "", Unknown, "A unknown"},
		"all untested":                 {[]verdict.Verdict{untested, untested}, nil, nil, "", Unknown, "U untested"},
		"mutant caught":                {violated, mutant, caught("held", 1), "", Caught, "of the mutant"},
		"mutant missed":                {violated, mutant, caught("violated", 0), "", Missed, "of the mutant"},
		"mutant unknown":               {violated, mutant, caught("unknown", 0), "", Unknown, "of the mutant"},
		"mutant that need not be":      {violated, mutant, caught("held", 0), "", Escaped, "of the mutant"},
		"mutant without a record":      {violated, mutant, nil, "", Unknown, "it was not judged whether the mutant is caught"},
		"mutant caught on half of one": {violated, mutant, caught("held", 1), "torn", Unknown, "the record is incomplete: torn"},
		"mutant missed on half of one": {violated, mutant, caught("violated", 0), "torn", Unknown, "the record is incomplete: torn"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Scenario{Mutant: test.mutant, Incomplete: test.incomplete}
			if s.Mutant != nil && test.caught != nil {
				s.Mutant = &Mutant{Verdict: new(newVerdict(*test.caught))}
			}
			s.conclude(test.verdicts)
			got, why := s.Result, s.Why
			if got != test.want || why != test.why {
				t.Errorf("%s (%s), want %s (%s)", got, why, test.want, test.why)
			}
		})
	}
}

func TestReportResult(t *testing.T) {
	of := func(results ...Result) (m Report) {
		for _, r := range results {
			m.Scenarios = append(m.Scenarios, Scenario{Result: r})
		}
		return m
	}
	troubled := of(Held)
	troubled.Trouble = []string{"killed"}
	for name, test := range map[string]struct {
		report Report
		want   Result
	}{
		"nothing ran":      {Report{}, Unknown},
		"all good":         {of(Held, Caught), Held},
		"one unknown":      {of(Unknown, Held), Unknown},
		"a missed mutant":  {of(Unknown, Missed, Held), Violated},
		"one violated":     {of(Held, Violated), Violated},
		"a troubled run":   {troubled, Unknown},
		"an unknown word?": {of("splendid"), Unknown},
	} {
		if got := test.report.Completed().Result; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
