package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// mutantCounts are what came of the mutants of a run. Those that are caught by chance alone are counted apart: nothing is demanded
// of them.
type mutantCounts struct {
	demanded, byChance share
	trapped            int      // of those that were caught
	twins              []string // notes on mutants that were judged, and whose twin did not hold
}

func mutantsOf(f history.RunFile) (c mutantCounts) {
	for _, s := range f.Scenarios {
		if s.Mutant == nil || s.NotSupported != "" || s.Left() {
			continue
		}
		caught := s.Outcome == string(verdict.Held) && !escaped(s)
		if s.Mutant.ByChance {
			c.byChance.count(caught)
		} else {
			c.demanded.count(caught)
		}
		if caught && s.Mutant.Trap {
			c.trapped++
		}
		judged := s.Outcome == string(verdict.Held) || s.Outcome == string(verdict.Violated)
		if note := f.TwinNote(*s.Mutant); note != "" && judged {
			c.twins = append(c.twins, s.Name+": "+note)
		}
	}
	return c
}

// escaped tells of a mutant that it was not caught, and need not have been. An older run.json knows no such mutants.
func escaped(s history.ScenarioResult) bool {
	var caught verdict.Verdict
	return len(s.Caught) > 0 && json.Unmarshal(s.Caught, &caught) == nil && caught.Escaped()
}

// share of some that were caught.
type share struct{ caught, of int }

func (s *share) count(caught bool) {
	s.of++
	if caught {
		s.caught++
	}
}

// String is the part of a run's last line that is about mutants.
func (c mutantCounts) String() string {
	text := fmt.Sprintf("%d of %d mutants caught", c.demanded.caught, c.demanded.of)
	if c.byChance.of > 0 {
		text += fmt.Sprintf(", and %d of %d that are caught by chance", c.byChance.caught, c.byChance.of)
	}
	if c.trapped > 0 {
		text += fmt.Sprintf(" (%d by a trap: %s)", c.trapped, history.TrapWords)
	}
	if len(c.twins) > 0 {
		text += "; " + strings.Join(c.twins, "; ")
	}
	return text
}

// caughtWord is what came of a mutant, in the word that a run and its report have for it.
func caughtWord(v verdict.Verdict) string {
	switch {
	case v.Escaped():
		return "escaped"
	case v.Outcome == verdict.Held:
		return "caught"
	case v.Outcome == verdict.Violated:
		return "missed"
	}
	return string(v.Outcome)
}

// writeNotes says of each mutant that was judged what must be said wherever it is said that it was caught.
func writeNotes(out io.Writer, f history.RunFile) {
	for _, s := range f.Scenarios {
		if s.Mutant == nil || s.Left() {
			continue
		}
		for _, note := range s.Mutant.Notes(f.TwinNote(*s.Mutant)) {
			_, _ = fmt.Fprintf(out, "%s: %s\n", s.Name, note)
		}
	}
}
