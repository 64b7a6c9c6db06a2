package reports

import (
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Result is the one word for a scenario.
type Result string

// The results. A mutant is Caught or Missed where another scenario is Held or Violated.
const (
	Held     Result = "Held"
	Violated Result = "Violated"
	Unknown  Result = "Unknown"
	Caught   Result = "Caught"
	Missed   Result = "Missed"
	// Escaped is a mutant that is caught by chance alone, and was not. It is told and counted, and nothing has failed.
	Escaped Result = "Escaped"
	// Unsupported is neither success nor failure: what it takes is not to be had where it was run, and nothing was tried.
	Unsupported Result = "Unsupported"
	// Interrupted was not run to its end, and NotBegun was chosen and not begun, because the run was interrupted: nothing is known
	// of them. That is no evidence that is missing of what was tried.
	Interrupted Result = "Interrupted"
	NotBegun    Result = "Not begun"
)

// Good tells whether nothing is left to explain.
func (r Result) Good() bool { return r == Held || r == Caught || r == Escaped }

// Broken tells whether a promise was seen broken, or a broken workload went unnoticed. What is neither Good nor Broken
// is Unknown, Unsupported, Interrupted or NotBegun.
func (r Result) Broken() bool { return r == Violated || r == Missed }

// Result sums up a run: the worst of its scenarios, as Held, Violated or Unknown, or Interrupted where nothing was broken before.
func (m Model) Result() Result {
	result := Held
	switch {
	case m.Count(Interrupted, NotBegun) > 0:
		result = Interrupted
	case m.Count(Unsupported) == len(m.Scenarios) || len(m.Trouble) > 0:
		result = Unknown
	}
	for i := range m.Scenarios {
		switch r := m.Scenarios[i].Result; {
		case r.Broken():
			return Violated
		case !r.Good() && r != Unsupported && result == Held:
			result = Unknown
		}
	}
	return result
}

// Count is how many scenarios have one of these results.
func (m Model) Count(results ...Result) int {
	n := 0
	for i := range m.Scenarios {
		for _, r := range results {
			if m.Scenarios[i].Result == r {
				n++
			}
		}
	}
	return n
}

// sumUp says what the verdicts of a scenario come to, and why. Of a mutant it is the verdict on the mutant itself that counts.
func sumUp(verdicts []verdict.Verdict, mutant *history.Mutant, caught *verdict.Verdict, incomplete string) (Result, string) {
	switch {
	case mutant != nil:
		return sumUpMutant(caught, incomplete)
	case incomplete != "":
		return sumUpIncomplete(verdicts, incomplete)
	case len(verdicts) == 0:
		return Unknown, "no promise was judged"
	}
	if v := first(verdicts, verdict.Violated); v != nil {
		return Violated, v.Seen
	}
	// Whatever word a newer harness may write, only Held is Held.
	for i := range verdicts {
		if verdicts[i].Outcome != verdict.Held {
			return Unknown, verdicts[i].Seen
		}
	}
	return Held, verdicts[0].Seen
}

// sumUpIncomplete: what was seen broken stays broken, though the rest of the record is missing.
func sumUpIncomplete(verdicts []verdict.Verdict, incomplete string) (Result, string) {
	if v := first(verdicts, verdict.Violated); v != nil {
		return Violated, v.Seen
	}
	return Unknown, "the record is not whole: " + incomplete
}

// sumUpMutant takes the verdict on a mutant. A record that is not whole shows nothing: Caught is as good as Held.
func sumUpMutant(caught *verdict.Verdict, incomplete string) (Result, string) {
	switch {
	case incomplete != "":
		return Unknown, "the record is not whole: " + incomplete
	case caught == nil:
		return Unknown, "it was not judged whether it is caught"
	}
	result := resultOfMutant(*caught)
	return result, strings.TrimPrefix(caught.Seen, strings.ToLower(string(result))+": ") // the word stands before it already
}

// resultOfMutant is the verdict on a mutant in one word.
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

func first(verdicts []verdict.Verdict, outcome verdict.Outcome) *verdict.Verdict {
	for i := range verdicts {
		if verdicts[i].Outcome == outcome {
			return &verdicts[i]
		}
	}
	return nil
}
