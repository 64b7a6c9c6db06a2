package run

import (
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func (r result) summary() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.why
}

// verdictWord is what a person reads first.
func verdictWord(s scenario.Spec, r result) string {
	if r.err != nil {
		return "FAILED"
	}
	if r.unsupported {
		return "NOT SUPPORTED"
	}
	if r.interrupted {
		return "INTERRUPTED"
	}
	mutant := map[verdict.Outcome]string{verdict.Held: "CAUGHT", verdict.Violated: "MISSED", verdict.Unknown: "UNKNOWN"}
	plain := map[verdict.Outcome]string{verdict.Held: "HELD", verdict.Violated: "VIOLATED", verdict.Unknown: "UNKNOWN"}
	if r.escaped {
		return "NOT CAUGHT"
	}
	if s.Mutant != nil {
		return mutant[r.outcome]
	}
	return plain[r.outcome]
}

// remediesOf are a line for each remedy of a result.
func remediesOf(r result) (lines []string) {
	for _, remedy := range r.remedies {
		lines = append(lines, remedy.Title()+": "+remedy.String())
	}
	return lines
}
