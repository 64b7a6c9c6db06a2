package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// mutantCounts are the results of a run's mutants. Mutants that are caught by chance only are counted apart, because they may be missed.
type mutantCounts struct {
	demanded, byChance share
	trapped            int      // of the caught mutants
	twins              []string // notes on judged mutants whose twin did not hold
}

func mutantsOf(f runfolder.File) (c mutantCounts) {
	for _, s := range f.Scenarios {
		if s.Mutant == nil || s.NotSupported != "" || s.Left() || harnessFailed(s) {
			continue
		}
		caught := s.Outcome == string(verdict.Held) && !escaped(s)
		if s.Mutant.ByChance {
			c.byChance.count(s, caught)
		} else {
			c.demanded.count(s, caught)
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

// escaped reports whether a mutant that is caught by chance only was not caught. An older run.json has no such mutants.
func escaped(s runfolder.ScenarioResult) bool {
	found, err := judge.Listed(&s)
	return err == nil && found.Caught != nil && found.Caught.Escaped()
}

// share counts mutants by what was found. Those that may escape, and did, are in none but of.
type share struct{ caught, missed, unknown, of int }

func (s *share) count(mutant runfolder.ScenarioResult, caught bool) {
	s.of++
	switch {
	case caught:
		s.caught++
	case mutant.Outcome == string(verdict.Violated):
		s.missed++
	case mutant.Outcome != string(verdict.Held):
		s.unknown++
	}
}

// others counts the mutants that were missed, and those that are Unknown; empty: none.
func (s share) others() (text string) {
	if s.missed > 0 {
		text += fmt.Sprintf(", %d missed", s.missed)
	}
	if s.unknown > 0 {
		text += fmt.Sprintf(", %d unknown", s.unknown)
	}
	return text
}

// String is the part about mutants of a run's last line.
func (c mutantCounts) String() string {
	text := fmt.Sprintf("%d of %d mutants caught%s", c.demanded.caught, c.demanded.of, c.demanded.others())
	if c.byChance.of > 0 {
		text += fmt.Sprintf(", and %d of %d that are caught by chance%s", c.byChance.caught, c.byChance.of, c.byChance.others())
	}
	if c.trapped > 0 {
		text += fmt.Sprintf(" (%d by a trap: %s)", c.trapped, runfolder.TrapWords)
	}
	if len(c.twins) > 0 {
		text += "; " + strings.Join(c.twins, "; ")
	}
	return text
}

// caughtWord is the verdict on a mutant in the word that the run and its report use.
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

// writeNotes prints what a reader must know about each judged mutant, such as that its server sets a trap.
func writeNotes(out io.Writer, f runfolder.File) {
	for _, s := range f.Scenarios {
		if s.Mutant == nil || s.Left() {
			continue
		}
		for _, note := range runfolder.MutantNotes(*s.Mutant, f.TwinNote(*s.Mutant)) {
			_, _ = fmt.Fprintf(out, "%s: %s\n", s.Name, note)
		}
	}
}
