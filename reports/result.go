package reports

import (
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Result is the result of a scenario or a run in one word.
type Result string

// The results. A mutant is Caught or Missed where another scenario is Held or Violated.
const (
	Held     Result = "Held"
	Violated Result = "Violated"
	Unknown  Result = "Unknown"
	Caught   Result = "Caught"
	Missed   Result = "Missed"
	// Escaped is a mutant that is caught by chance only, and was not. It is counted, but is no failure.
	Escaped Result = "Escaped"
	// Unsupported is neither success nor failure: the environment cannot run the scenario, so nothing was tried.
	Unsupported Result = "Unsupported"
	// Interrupted is a scenario that did not complete because the run was interrupted, and NotBegun is one that did not begin. Nothing
	// is known about them, which is not missing evidence about a scenario that ran.
	Interrupted Result = "Interrupted"
	NotBegun    Result = "Not begun"
	// Skipped and NotSupported are results in certificates only: left out on purpose, and the word there for Unsupported.
	Skipped      Result = "Skipped"
	NotSupported Result = "Not supported"
)

// Good is whether there is nothing to explain.
func (r Result) Good() bool { return r == Held || r == Caught || r == Escaped }

// Broken is whether a promise was seen broken, or a mutant was missed. A result that is neither Good nor Broken is Unknown, Unsupported,
// Interrupted or NotBegun.
func (r Result) Broken() bool { return r == Violated || r == Missed }

// Worth is what the run is worth: see judge.Worth.
func (r *Report) Worth() judge.Worth {
	var results []runfolder.ScenarioResult
	for i := range r.Scenarios {
		results = append(results, r.Scenarios[i].worth())
	}
	return judge.Sum(results, r.Trouble)
}

// worth is the scenario's result in the form in which run.json has it.
func (s *Scenario) worth() (r runfolder.ScenarioResult) {
	switch {
	case s.Result == Unsupported:
		r.NotSupported = "not supported"
	case s.Result == NotBegun:
		r.NotBegun = "not begun"
	case s.Result == Interrupted:
		r.Interrupted = "interrupted"
	case s.Result.Broken():
		r.Outcome = string(verdict.Violated)
	case s.NotJudged:
		r.Error = "not judged"
	case s.Result.Good():
		r.Outcome = string(verdict.Held)
	default:
		r.Outcome = string(verdict.Unknown)
	}
	return r
}

// result sums up a run as Held, Violated, Interrupted or Unknown.
func (r *Report) result() Result {
	if worth := r.Worth(); worth != judge.RunInterrupted {
		return ResultOfOutcome(verdict.Outcome(worth))
	}
	return Interrupted
}

// Count is the number of scenarios with one of these results.
func (r *Report) Count(results ...Result) (n int) {
	for i := range r.Scenarios {
		if slices.Contains(results, r.Scenarios[i].Result) {
			n++
		}
	}
	return n
}

// sumUp says what the verdicts of a scenario come to, and which of them decided it. For a mutant only the verdict on the mutant itself
// counts.
func (s *Scenario) sumUp() (Result, string) {
	if s.Mutant != nil {
		return s.Mutant.sumUp(s.Incomplete)
	}
	var verdicts []verdict.Verdict
	for i := range s.Verdicts {
		verdicts = append(verdicts, s.Verdicts[i].Recorded())
	}
	sum := verdict.Overall(verdicts)
	// A promise that was seen broken stays broken if the rest of the record is missing.
	if s.Incomplete != "" && sum != verdict.Violated {
		return Unknown, "the record is incomplete: " + s.Incomplete
	}
	counts := func(v verdict.Verdict) bool { return !v.Untested }
	some := slices.ContainsFunc(verdicts, counts)
	decided := slices.IndexFunc(verdicts, func(v verdict.Verdict) bool { return verdict.Sum(v.Outcome) == sum && (counts(v) || !some) })
	if decided < 0 {
		return Unknown, "no promise was judged"
	}
	return ResultOfOutcome(sum), s.Verdicts[decided].Seen
}

// sumUp takes the verdict on the mutant. An incomplete record proves nothing: Caught needs as much evidence as Held.
func (m *Mutant) sumUp(incomplete string) (Result, string) {
	switch {
	case incomplete != "":
		return Unknown, "the record is incomplete: " + incomplete
	case m.Verdict == nil:
		return Unknown, "it was not judged whether the mutant is caught"
	}
	result := resultOfMutant(m.Verdict.Recorded())
	return result, strings.TrimPrefix(m.Verdict.Seen, strings.ToLower(string(result))+": ") // the result is shown in front of it
}

// resultOfMutant is the result for the verdict on a mutant.
func resultOfMutant(caught verdict.Verdict) Result {
	switch {
	case caught.Escaped():
		return Escaped
	case caught.Outcome == verdict.Held:
		return Caught
	case caught.Outcome == verdict.Violated:
		return Missed
	}
	return Unknown
}

// ResultOfOutcome is the result for an outcome. Any word that is not known is Unknown.
func ResultOfOutcome(o verdict.Outcome) Result {
	switch o {
	case verdict.Held:
		return Held
	case verdict.Violated:
		return Violated
	}
	return Unknown
}

// Mark is a result behind its symbol.
func Mark(r Result) string { return Shape(r) + " " + string(r) }

// Shape is the symbol of a result, so that readers need not tell results apart by colour.
func Shape(r Result) string {
	switch {
	case r == Escaped:
		return "➖"
	case r.Good():
		return "✅"
	case r.Broken():
		return "❌"
	case r == Interrupted || r == NotBegun:
		return "⏹️"
	}
	return "❔"
}
