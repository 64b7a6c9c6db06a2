package reports

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// proveRemedies says of the remedies of scenarios that were run again with their fixes what came of it.
func (r *Report) proveRemedies() {
	named := make(map[string]*Scenario)
	for i := range r.Scenarios {
		named[r.Scenarios[i].Name] = &r.Scenarios[i]
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if again := named[s.Name+judge.FixedSuffix]; again != nil {
			s.Remedies = s.tried().Prove(again.tried())
		}
	}
}

// tried is what came of a scenario, to be compared with another run of it.
func (s *Scenario) tried() judge.Tried {
	t := judge.Tried{Outcome: map[Result]verdict.Outcome{Held: verdict.Held, Violated: verdict.Violated, Unknown: verdict.Unknown}[s.Result], Remedies: s.Remedies}
	for i := range s.Verdicts {
		t.Verdicts = append(t.Verdicts, s.Verdicts[i].Recorded())
	}
	return t
}
