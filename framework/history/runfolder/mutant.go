package runfolder

import "github.com/holdfast-ha/holdfast/framework/history"

// TwinNote is what a reader of a mutant's result must know about its twin: only if the twin held in the same run, the
// missing practice is proven to be what was caught. outcome is the twin's, empty if it was not judged; run reports whether the
// twin was part of the run. The note is empty if the twin held.
func TwinNote(m history.Mutant, outcome string, run bool) string {
	switch {
	case m.Twin == "" || !run:
		return "its twin was not run"
	case outcome == "held":
		return ""
	case outcome == "":
		return "its twin was not judged in the same run"
	}
	return "its twin was " + outcome + " in the same run"
}

// TrapWords describe a server that sets a trap.
const TrapWords = "it waits up to a second for a request that it can hurt"

// MutantNotes must accompany every statement that a mutant was caught or not caught.
func MutantNotes(m history.Mutant, twin string) (notes []string) {
	if m.Trap {
		notes = append(notes, "its server sets a trap: "+TrapWords)
	}
	if m.ByChance {
		notes = append(notes, "it is caught by chance alone: catches are counted, but not required")
	}
	if twin != "" {
		notes = append(notes, twin)
	}
	return notes
}
