package judge

import (
	"encoding/json"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Found is what was found in a record: everything that tells of it is made from this, so that nothing disagrees.
type Found struct {
	Verdicts []verdict.Verdict // on its promises, in their order
	Caught   *verdict.Verdict  // on the mutant; nil of a scenario that should hold
}

// Find judges a record by the promises that are written in it, and its mutant if it is of one.
func Find(run history.Run) Found { return FoundBy(run, Judge(run)) }

// FoundBy is Find for verdicts that are there already.
func FoundBy(run history.Run, verdicts []verdict.Verdict) Found {
	found := Found{Verdicts: verdicts}
	if run.Header.Mutant != nil {
		caught := Caught(run, verdicts)
		found.Caught = &caught
	}
	return found
}

// Sum says what the verdicts come to, and what decided it. Of a mutant, Held means that it was caught, or that it need not be:
// what other promises say does not count.
func (f Found) Sum() (verdict.Outcome, string) {
	if f.Caught != nil {
		return f.Caught.Outcome, f.Caught.Seen
	}
	outcome := Overall(f.Verdicts)
	for _, v := range f.Verdicts {
		if v.Outcome == outcome {
			return outcome, v.Promise + ": " + v.Seen
		}
	}
	return outcome, "nothing was judged"
}

// Put writes the verdicts into a scenario's result in run.json, in the place of those that are there. With an error it has none.
func (f Found) Put(into *history.ScenarioResult) error {
	into.Verdicts, into.Caught = nil, nil
	var all []json.RawMessage
	for _, v := range f.Verdicts {
		raw, err := v.Written()
		if err != nil {
			return err
		}
		all = append(all, raw)
	}
	if f.Caught != nil {
		raw, err := f.Caught.Written()
		if err != nil {
			return err
		}
		into.Caught = raw
	}
	into.Verdicts = all
	return nil
}
