package reports

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

func TestSumUp(t *testing.T) {
	v := func(kind string, o invariant.Outcome) invariant.Verdict {
		return invariant.Verdict{Kind: kind, Outcome: o, Seen: kind + " " + string(o)}
	}
	mutant := &history.Mutant{Removed: "the preStop sleep", CaughtBy: "A", Twin: "chaos/x"}
	for name, test := range map[string]struct {
		verdicts   []invariant.Verdict
		mutant     *history.Mutant
		incomplete string
		want       Result
		why        string
	}{
		"all held":                    {[]invariant.Verdict{v("A", "held"), v("B", "held")}, nil, "", Held, "A held"},
		"one unknown":                 {[]invariant.Verdict{v("A", "held"), v("B", "unknown")}, nil, "", Unknown, "B unknown"},
		"violated before unknown":     {[]invariant.Verdict{v("A", "unknown"), v("B", "violated")}, nil, "", Violated, "B violated"},
		"a word of a later version":   {[]invariant.Verdict{v("A", "splendid")}, nil, "", Unknown, "A splendid"},
		"nothing judged":              {nil, nil, "", Unknown, "no promise was judged"},
		"held on half a record":       {[]invariant.Verdict{v("A", "held")}, nil, "torn", Unknown, "the record is not whole: torn"},
		"violated on half a record":   {[]invariant.Verdict{v("A", "violated")}, nil, "torn", Violated, "A violated"},
		"mutant caught":               {[]invariant.Verdict{v("A", "violated"), v("B", "held")}, mutant, "", Caught, "A violated"},
		"mutant caught by the second": {[]invariant.Verdict{v("A", "unknown"), v("A", "violated")}, mutant, "", Caught, "A violated"},
		"mutant missed": {
			[]invariant.Verdict{v("A", "held")}, mutant, "", Missed, "A held although the workload was broken (the preStop sleep)",
		},
		"mutant caught by another only": {
			[]invariant.Verdict{v("A", "held"), v("B", "violated")}, mutant, "", Missed,
			"A held although the workload was broken (the preStop sleep)",
		},
		"mutant unknown":                {[]invariant.Verdict{v("A", "unknown")}, mutant, "", Unknown, "A unknown"},
		"mutant not judged":             {[]invariant.Verdict{v("B", "violated")}, mutant, "", Unknown, "A was not judged"},
		"mutant held on half a record":  {[]invariant.Verdict{v("A", "held")}, mutant, "torn", Unknown, "the record is not whole: torn"},
		"mutant without any, torn":      {nil, mutant, "torn", Unknown, "the record is not whole: torn"},
		"mutant caught on half of one":  {[]invariant.Verdict{v("A", "violated")}, mutant, "torn", Unknown, "the record is not whole: torn"},
		"mutant held beside an unknown": {[]invariant.Verdict{v("A", "held"), v("A", "unknown")}, mutant, "", Unknown, "A unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := sumUp(test.verdicts, test.mutant, test.incomplete)
			if got != test.want || why != test.why {
				t.Errorf("%s (%s), want %s (%s)", got, why, test.want, test.why)
			}
		})
	}
}

func TestModelResult(t *testing.T) {
	of := func(results ...Result) (m Model) {
		for _, r := range results {
			m.Scenarios = append(m.Scenarios, Scenario{Result: r})
		}
		return m
	}
	troubled := of(Held)
	troubled.Trouble = []string{"killed"}
	for name, test := range map[string]struct {
		model Model
		want  Result
	}{
		"nothing ran":      {Model{}, Unknown},
		"all good":         {of(Held, Caught), Held},
		"one unknown":      {of(Unknown, Held), Unknown},
		"a missed mutant":  {of(Unknown, Missed, Held), Violated},
		"one violated":     {of(Held, Violated), Violated},
		"a troubled run":   {troubled, Unknown},
		"an unknown word?": {of("splendid"), Unknown},
	} {
		if got := test.model.Result(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
