package history

import "slices"

// OutcomeInterrupted is the Outcome of a RunFile whose run was interrupted before every scenario was run to its end, and in which
// nothing was broken until then. It is no invariant.Outcome: nothing is known of what was not tried.
const OutcomeInterrupted = "interrupted"

// Cut tells whether the run was interrupted before every scenario was run to its end.
func (f RunFile) Cut() bool {
	interrupted, notBegun := f.Left()
	return interrupted+notBegun > 0
}

// Left counts the scenarios that were interrupted, and those that were not begun because the run was.
func (f RunFile) Left() (interrupted, notBegun int) {
	for _, s := range f.Scenarios {
		switch {
		case s.NotBegun != "":
			notBegun++
		case s.Left():
			interrupted++
		}
	}
	return interrupted, notBegun
}

// Left tells whether the scenario was not run to its end because the run was interrupted. A promise that it broke before counts as
// that, and not as this.
func (s ScenarioResult) Left() bool {
	return s.NotBegun != "" || s.Interrupted != "" && s.Outcome == ""
}

// CutShort takes the outcome from a scenario that was interrupted, and tells whether it did: one that was not tried to its end does
// not lack evidence. What it broke before stays broken, and of a mutant nothing is known. Where is Run.Interrupted of its record.
func (s *ScenarioResult) CutShort(where string) bool {
	const violated = "violated" // an invariant.Outcome, which this package cannot name
	s.Interrupted = where
	if where == "" || s.Outcome == violated && s.Mutant == nil {
		return false
	}
	s.Outcome = ""
	return true
}

// Interrupted says where the scenario was interrupted; empty: it was not. Whatever is missing of such a record is missing because
// of that, and is no evidence that is missing of a scenario which was run to its end.
func (r Run) Interrupted() string {
	for _, e := range r.Events {
		if e.Trouble == nil || !e.Trouble.Interrupted {
			continue
		}
		for _, phase := range slices.Backward(r.Phases()) {
			if phase.Name != Drained { // in which what was sent is collected, however the scenario ended
				return "interrupted in the phase " + string(phase.Name)
			}
		}
		return "interrupted before it was deployed"
	}
	return ""
}
