package judge

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Found are the verdicts on a record. Everything that reports on the record uses them, so that no two reports disagree.
type Found struct {
	Verdicts []verdict.Verdict // on its promises, in their order
	Caught   *verdict.Verdict  // on the mutant; nil of a scenario that should hold
}

// Find judges a record by the promises that are stored in it, and its mutant if it has one.
func Find(run history.Run) Found { return FoundBy(run, Judge(run)) }

// FoundBy is Find with verdicts that exist already.
func FoundBy(run history.Run, verdicts []verdict.Verdict) Found {
	found := Found{Verdicts: verdicts}
	if run.Header.Mutant != nil {
		caught := Caught(run, verdicts)
		found.Caught = &caught
	}
	return found
}

// Listed are the verdicts that run.json has of a scenario. With an error, they are those before the one that cannot be read.
func Listed(s *runfolder.ScenarioResult) (found Found, err error) {
	for i, raw := range s.Verdicts {
		var v verdict.Verdict
		if err := json.Unmarshal(raw, &v); err != nil {
			return found, fmt.Errorf("read verdict %d of %s: %w", i+1, s.Name, err)
		}
		found.Verdicts = append(found.Verdicts, v)
	}
	if len(s.Caught) > 0 {
		found.Caught = new(verdict.Verdict)
		if err := json.Unmarshal(s.Caught, found.Caught); err != nil {
			return found, fmt.Errorf("read the verdict on the mutant %s: %w", s.Name, err)
		}
	}
	return found, nil
}

// Busy reports whether a promise or the mutant is Unknown, and a saturated machine explains some of what was seen. It does not if the tested
// application saturated the machine: a second run that is Held would hide that.
func (f Found) Busy() bool {
	judged := f.Verdicts
	if f.Caught != nil {
		judged = []verdict.Verdict{*f.Caught}
	}
	unknown := func(number string) bool {
		return slices.ContainsFunc(judged, func(v verdict.Verdict) bool { return v.Outcome == verdict.Unknown && v.Numbers[number] > 0 })
	}
	return unknown(evidence.BusyNumber) && !unknown(evidence.OwnNumber)
}

// Sum is the outcome of the verdicts, and the sentence that decided it. For a mutant, Held means that it was caught, or that it may
// escape; the verdicts on other promises do not count.
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

// Put replaces the verdicts in a scenario's result of run.json. After an error the result has no verdicts.
func (f Found) Put(into *runfolder.ScenarioResult) error {
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

// Record judges a record and puts what it found into a scenario's result of run.json. An unsupported scenario has no verdicts.
func Record(run history.Run, into *runfolder.ScenarioResult) Found {
	verdicts := Judge(run)
	into.Mutant, into.Error = run.Header.Mutant, ""
	if into.NotSupported = Unsupported(run, verdicts); into.NotSupported != "" {
		into.Outcome, into.Verdicts, into.Caught = "", nil, nil
		return Found{}
	}
	found := FoundBy(run, verdicts)
	outcome, _ := found.Sum()
	into.Outcome = string(outcome)
	into.CutShort(run.Interrupted())
	if err := found.Put(into); err != nil {
		into.Outcome, into.Error = "", err.Error()
	}
	return found
}
