package runfolder

// OutcomeInterrupted is the Outcome of a File whose run was interrupted before every scenario had been run to its end,
// if no promise had been broken by then. It is not an invariant.Outcome, because the untried scenarios have no verdict.
const OutcomeInterrupted = "interrupted"

// OutOfTime begins File.Interrupted of a run that left scenarios out because they would not have ended in time.
const OutOfTime = "--time-budget "

// Cut reports whether the run was interrupted before every scenario had been run to its end.
func (f File) Cut() bool {
	interrupted, notBegun := f.Left()
	return interrupted+notBegun > 0
}

// Left counts the interrupted scenarios, and those that were not begun because the run was interrupted.
func (f File) Left() (interrupted, notBegun int) {
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

// Left reports whether the scenario was not run to its end because the run was interrupted. A scenario that had broken a
// promise before counts as violated, and not as left.
func (s ScenarioResult) Left() bool {
	return s.NotBegun != "" || s.Interrupted != "" && s.Outcome == ""
}

// CutShort clears the outcome of a scenario that was interrupted, and returns true if it did: an interrupted scenario must
// not count as lacking evidence. A promise broken before the interruption stays broken, except for a mutant, of which
// nothing is known. where is Run.Interrupted of the record.
func (s *ScenarioResult) CutShort(where string) bool {
	const violated = "violated" // an invariant.Outcome; this package cannot import invariant
	s.Interrupted = where
	if where == "" || s.Outcome == violated && s.Mutant == nil {
		return false
	}
	s.Outcome = ""
	return true
}
