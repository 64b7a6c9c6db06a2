package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// harnessFailed reports whether a scenario could not be judged, and nothing was seen broken.
func harnessFailed(s runfolder.ScenarioResult) bool {
	return s.Error != "" && s.Outcome != string(verdict.Violated)
}

// summaryOf is the last line of a run: how many scenarios held, and how many mutants were caught.
func summaryOf(f runfolder.File) string {
	counts := map[verdict.Outcome]int{}
	mutants, failed, unsupported := mutantsOf(f), 0, ""
	for _, s := range f.Scenarios {
		if s.NotSupported != "" {
			unsupported += "; not supported here: " + s.Name
			continue
		}
		switch {
		case s.Left(): // counted by leftOf
		case harnessFailed(s):
			failed++
		case s.Mutant == nil:
			counts[verdict.Outcome(s.Outcome)]++
		}
	}
	text := fmt.Sprintf("%s held, %d violated, %d unknown", prose.Counted(uint64(counts[verdict.Held]), "scenario"),
		counts[verdict.Violated], counts[verdict.Unknown]+counts[""])
	if failed > 0 {
		text += fmt.Sprintf(", harness failed in %d", failed)
	}
	if mutants.demanded.of+mutants.byChance.of > 0 {
		text += "; " + mutants.String()
	}
	return text + leftOf(f) + unsupported
}

// leftOf counts the interrupted scenarios of a run and those that it did not begin; empty: none.
func leftOf(f runfolder.File) string {
	if !f.Cut() {
		return ""
	}
	interrupted, notBegun := f.Left()
	return fmt.Sprintf("; %d interrupted, %d not begun", interrupted, notBegun)
}

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

// columns is the width of what is printed.
const columns = 100

// writeJudgement prints what was found in stored records, in lines of at most 100 columns: each promise with its verdict and what was seen,
// the causes and notes of the mutants, and the summary.
func writeJudgement(out io.Writer, found stored.Judgement) {
	for _, s := range found.Scenarios {
		_, _ = fmt.Fprintln(out, s.Result.Name)
		switch {
		case s.Result.NotSupported != "":
			writeVerdict(out, "not supported", s.Result.NotSupported)
		case s.Result.Left():
			writeVerdict(out, runfolder.OutcomeInterrupted, s.Result.Interrupted)
		case s.Caught != nil:
			writeVerdict(out, caughtWord(*s.Caught), s.Caught.Promise, s.Caught.Seen)
		}
		for _, v := range s.Verdicts {
			writePromise(out, v)
		}
	}
	writeCauses(out, &found.Causes)
	writeNotes(out, found.Sum)
	for _, s := range found.Sum.Scenarios {
		if s.Error != "" {
			_, _ = fmt.Fprintf(out, "%s: the harness or its environment failed: %s\n", s.Name, s.Error)
		}
	}
	for _, lack := range found.Lacks {
		_, _ = fmt.Fprintln(out, lack)
	}
	if len(found.Sum.Scenarios) > 0 {
		_, _ = fmt.Fprintln(out, summaryOf(found.Sum))
	}
}

// writeRecorded prints each promise of a run that was recorded, with its verdict and what was seen. Verdicts that cannot be read are in the report.
func writeRecorded(out io.Writer, f runfolder.File) {
	for _, s := range f.Scenarios {
		found, _ := judge.Listed(&s)
		for _, v := range found.Verdicts {
			writePromise(out, v)
		}
	}
}

// width is that of the word before each text.
const width = len("not supported")

// writePromise prints a promise with its verdict and what was seen. One that was not tested takes one line, because there may be many and nothing
// was found of them: its reason is there if it fits. All of it is in the report.
func writePromise(out io.Writer, v verdict.Verdict) {
	if !v.Untested {
		writeVerdict(out, string(v.Outcome), v.Promise, v.Seen)
		return
	}
	const room = columns - width - 3
	line := v.Promise + ": " + strings.TrimPrefix(v.Seen, verdict.NotTestedWords)
	if text.StringWidth(line) > room {
		line = text.Snip(v.Promise, room, " ...")
	}
	writeVerdict(out, "not tested", line)
}

// writeVerdict prints a word, and texts beside it, each wrapped on lines of its own.
func writeVerdict(out io.Writer, word string, texts ...string) {
	for _, one := range texts {
		for line := range strings.SplitSeq(text.WrapSoft(one, columns-width-3), "\n") {
			_, _ = fmt.Fprintf(out, "  %-*s %s\n", width, word, strings.TrimRight(line, " "))
			word = ""
		}
	}
}

// writeCauses prints how many mutants were caught for the planted cause, and the other causes that were reported.
func writeCauses(out io.Writer, c *judge.Confusion) {
	agree, of := c.Agree()
	if of == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "causes: %d of %d mutants were caught for the reason that was planted\n", agree, of)
	for _, planted := range c.Planted {
		for _, reported := range c.Reported {
			if n := c.Count(planted, reported); n > 0 && planted != reported {
				_, _ = fmt.Fprintf(out, "causes: %s was planted, and %s reported (%d)\n", planted, reported, n)
			}
		}
	}
}
