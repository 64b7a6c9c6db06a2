package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// roundsFound counts how often runs of the same scenarios caught the mutants, which are broken on purpose, and how often they called one of the other
// scenarios Violated, which should hold. Unknown counts as neither.
type roundsFound struct {
	mutants, apart, byChance, alarms frequency
	trapped, unknown, failed         int
	explain                          []string // a line for each result that is neither Held nor Caught
}

// frequency is how often something was seen in independent trials.
type frequency struct{ seen, of int }

func (f *frequency) count(seen bool) {
	f.of++
	if seen {
		f.seen++
	}
}

// bounds is the 95 % interval of the true share, in words.
func (f frequency) bounds() string {
	if f.of == 0 {
		return "nothing is known"
	}
	low, high := stats.Share95(uint64(f.seen), uint64(f.of))
	switch f.seen {
	case 0:
		return "at most " + prose.Percent(high)
	case f.of:
		return "at least " + prose.Percent(low)
	}
	return prose.Percent(low) + " to " + prose.Percent(high)
}

// Add counts a run. Scenarios that it did not run to their end, and those that are not supported, do not count. Mutants whose twin did not hold
// in the same run count apart: there, the promise that broke may be the scenario's own.
func (r *roundsFound) Add(f runfolder.File) {
	for _, s := range f.Scenarios {
		held, violated := s.Outcome == string(verdict.Held), s.Outcome == string(verdict.Violated)
		switch {
		case s.Left() || s.NotSupported != "":
			continue
		case harnessFailed(s):
			r.failed++
			r.note(f, s, "not judged: "+s.Error)
		case !held && !violated:
			r.unknown++
			r.note(f, s, "unknown")
		case s.Mutant == nil:
			r.alarms.count(violated)
			if violated {
				r.note(f, s, "violated")
			}
		default:
			r.mutant(f, s, held && !escaped(s))
		}
	}
}

func (r *roundsFound) mutant(f runfolder.File, s runfolder.ScenarioResult, caught bool) {
	twin := f.TwinNote(*s.Mutant)
	switch {
	case s.Mutant.ByChance:
		r.byChance.count(caught)
	case twin != "":
		r.apart.count(caught)
	default:
		r.mutants.count(caught)
	}
	if caught && s.Mutant.Trap {
		r.trapped++
	}
	if s.Outcome == string(verdict.Violated) {
		r.note(f, s, strings.TrimSuffix("missed; "+twin, "; "))
	}
}

func (r *roundsFound) note(f runfolder.File, s runfolder.ScenarioResult, what string) {
	r.explain = append(r.explain, fmt.Sprintf("  run %s, %s: %s", f.ID, s.Name, what))
}

// String sums up the runs in one line, and lists in further lines what needs an explanation.
func (r *roundsFound) String() string {
	unknown := frequency{r.unknown, r.unknown + r.mutants.of + r.apart.of + r.byChance.of + r.alarms.of}
	text := fmt.Sprintf("%d of %d mutants caught (%s), %s in %s (%s), %d Unknown of %s (%s)", r.mutants.seen, r.mutants.of, r.mutants.bounds(),
		prose.Counted(uint64(r.alarms.seen), "false alarm"), prose.Counted(uint64(r.alarms.of), "good run"), r.alarms.bounds(),
		unknown.seen, prose.Counted(uint64(unknown.of), "run"), unknown.bounds())
	if r.failed > 0 {
		text += fmt.Sprintf(", %d not judged", r.failed)
	}
	if r.apart.of > 0 {
		text += fmt.Sprintf("; %d of %d caught whose twin did not hold in the same round", r.apart.seen, r.apart.of)
	}
	if r.byChance.of > 0 {
		text += fmt.Sprintf("; %d of %d caught that are caught by chance (%s)", r.byChance.seen, r.byChance.of, r.byChance.bounds())
	}
	if r.trapped > 0 {
		text += fmt.Sprintf("; %d of the caught have a server that sets a trap: %s", r.trapped, runfolder.TrapWords)
	}
	return strings.Join(append([]string{text}, r.explain...), "\n")
}
