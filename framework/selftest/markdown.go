package selftest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// maxCases limits the cases in selftest.md. selftest.json has all of them.
const maxCases = 100

// Write writes selftest.md and selftest.json into a folder, each whole or not at all.
func Write(dir string, t *Report) error {
	return errors.Join(
		writeFile(filepath.Join(dir, MarkdownFile), t, markdown),
		writeFile(filepath.Join(dir, JSONFile), t, writeJSON),
	)
}

func writeFile(name string, t *Report, write func(io.Writer, *Report) error) error {
	if err := reports.Replace(name, t, write); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return nil
}

func writeJSON(w io.Writer, t *Report) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(t)
}

func markdown(w io.Writer, t *Report) error {
	var b strings.Builder
	t.head(&b)
	if !t.instrumentAlone() {
		t.rates(&b)
		t.cases(&b)
		t.table(&b)
	}
	if t.Instrument != nil {
		t.Instrument.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Report) head(b *strings.Builder) {
	fmt.Fprintf(b, "## %s: holdfast selftest %s\n\n%s.\n", reports.Mark(t.Result()), words.MarkdownCode(t.ID), words.MarkdownText(t.Sentence()))
	if t.instrumentAlone() {
		return
	}
	fmt.Fprintf(b, "\n%s with holdfast %s, %s, from %s to %s.\n", words.Plural(uint64(len(t.Runs)), "run"),
		words.MarkdownText(t.each(func(r Run) string { return r.Holdfast })),
		words.MarkdownText(t.each(func(r Run) string {
			return "Kubernetes " + cmp.Or(r.Kubernetes, "of a version that is not known")
		})),
		t.first(), t.last())
	if t.Whole < t.Asked {
		fmt.Fprintf(b, "\n> [!WARNING]\n> %d of %s came to their end: it was interrupted, or is still going on.\n", t.Whole,
			words.Plural(uint64(t.Asked), "round"))
	}
	for _, remark := range t.Remarks {
		fmt.Fprintf(b, "\n> [!WARNING]\n> %s\n", words.MarkdownText(remark))
	}
}

// each lists a value of all runs, each different value once.
func (t *Report) each(value func(Run) string) string {
	var all []string
	for _, r := range t.Runs {
		if v := value(r); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// first is when the first run began. Stored runs are added in any order.
func (t *Report) first() string {
	if len(t.Runs) == 0 {
		return "never"
	}
	first := slices.MinFunc(t.Runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return first.Started.UTC().Format(time.DateTime)
}

// last is when the run that began last ended.
func (t *Report) last() string {
	if len(t.Runs) == 0 {
		return "never"
	}
	last := slices.MaxFunc(t.Runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	if last.Ended.IsZero() {
		return "an end that is not known"
	}
	return last.Ended.UTC().Format(time.DateTime)
}

// Sentence sums up the report in one line.
func (t *Report) Sentence() string {
	if t.instrumentAlone() {
		return t.Instrument.Sentence()
	}
	s := t.Summary
	text := fmt.Sprintf("%d of %d broken workloads caught (%s), %d false alarms in %s (%s), %d Unknown, %d not judged",
		s.Detection.Seen, s.Detection.Of, s.Detection.Words(), s.FalseAlarm.Seen, words.Plural(uint64(s.FalseAlarm.Of), "good run"),
		s.FalseAlarm.Words(), s.Unknown.Seen, s.NotJudged)
	if s.Unsupported > 0 {
		text += fmt.Sprintf(", %d not supported here", s.Unsupported)
	}
	if r := s.DetectionApart; r.Of > 0 {
		text += fmt.Sprintf("; apart, without a twin that held in the same run: %d of %d caught", r.Seen, r.Of)
	}
	if r := s.ByChance; r.Of > 0 {
		text += fmt.Sprintf("; of those caught by chance alone: %d of %d (%s)", r.Seen, r.Of, r.Words())
	}
	if s.Trapped > 0 {
		text += fmt.Sprintf("; %d of the caught had a server that sets a trap: %s", s.Trapped, runfolder.TrapWords)
	}
	if t.Interrupted+t.NotBegun > 0 {
		text += fmt.Sprintf(", %d interrupted, %d not begun", t.Interrupted, t.NotBegun)
	}
	return text
}

func (t *Report) rates(b *strings.Builder) {
	b.WriteString("\n| | seen | of | share | 95 % confidence |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, line := range []struct {
		what string
		rate Rate
		of   string
		rare bool // omitted if there are none
	}{
		{"mutants caught", t.Summary.Detection, "judged mutant run", false},
		{"mutants caught, apart", t.Summary.DetectionApart, "judged mutant run without a twin that held", true},
		{"mutants caught by chance", t.Summary.ByChance, "judged by-chance mutant run", true},
		{"false alarms", t.Summary.FalseAlarm, "judged good run", false},
		{"Unknown", t.Summary.Unknown, "judged or Unknown run", false},
	} {
		if line.rare && line.rate.Of == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s |\n", line.what, line.rate.Seen, words.Plural(uint64(line.rate.Of), line.of),
			rounded(line.rate.Share()), line.rate.Words())
	}
	b.WriteString("\nUnknown is neither caught nor missed, neither held nor a false alarm. A false alarm is any Violated of a scenario " +
		"that should hold: read it before you call it false. Where something was never or always seen, the bound has all of the " +
		"5 %; else the interval is Clopper and Pearson's. It takes the runs for independent.\n")
	if t.Summary.DetectionApart.Of > 0 {
		b.WriteString("\nCounted apart are mutants whose twin, the same scenario with the practice in place, did not hold in the same run, or was " +
			"not run: there it may be the scenario that was caught.\n")
	}
	if t.Summary.Trapped > 0 {
		fmt.Fprintf(b, "\nThe server of mutants with a trap is made to be caught: %s. How often they are caught says that holdfast sees what is "+
			"there to be seen, and not how often a server without the practice hurts a request. That is measured by their like without a trap.\n",
			runfolder.TrapWords)
	}
}

func (t *Report) cases(b *strings.Builder) {
	if len(t.Explain) == 0 {
		return
	}
	b.WriteString("\n## To explain\n")
	for i, c := range t.Explain {
		if i == maxCases {
			fmt.Fprintf(b, "\n%s more are in %s.\n", words.Count(uint64(len(t.Explain)-i)), JSONFile)
			break
		}
		fmt.Fprintf(b, "\n- **%s: %s**, seed %d: %s", c.word(), words.MarkdownText(c.Scenario), c.Seed, words.MarkdownText(c.Why))
		fmt.Fprintf(b, "\n  - record: %s\n", words.MarkdownCode(c.Record))
		if c.Reproduce != "" {
			fmt.Fprintf(b, "  - reproduce: %s\n", words.MarkdownCode(c.Reproduce))
		}
	}
}

// word is what there is to explain.
func (c Case) word() string {
	switch c.Result {
	case reports.Missed:
		return "❌ missed"
	case reports.Violated:
		return "❌ false alarm"
	case reports.Unknown:
		return "❔ Unknown"
	case reports.Unsupported:
		return "not supported here"
	}
	return "❔ not judged"
}

func (t *Report) table(b *strings.Builder) {
	b.WriteString("\n## Scenarios, the worst first\n\n")
	b.WriteString("| | scenario | runs | held | violated | caught | not caught | Unknown | not judged | not supported | mean time |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range t.Scenarios {
		held, violated, caught, missed := fmt.Sprint(r.Held), fmt.Sprint(r.Violated), "", ""
		if r.Mutant {
			held, violated, caught, missed = "", "", fmt.Sprint(r.Caught), fmt.Sprint(r.Missed+r.Escaped)
		}
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %d | %d | %d | %s |\n", reports.Shape(r.result()), words.MarkdownText(r.Scenario)+r.marks(), r.Runs, held,
			violated, caught, missed, r.Unknown, r.NotJudged, r.Unsupported, words.Brief(time.Duration(r.TookSeconds*float64(time.Second))))
	}
}

// marks are what a reader must know about a mutant's catch rate.
func (r Row) marks() (marks string) {
	if r.Trap {
		marks += " (sets a trap)"
	}
	if r.ByChance {
		marks += " (by chance)"
	}
	if n := r.CaughtApart + r.MissedApart; n > 0 {
		marks += fmt.Sprintf(" (%d without a twin that held)", n)
	}
	return marks
}

// result is the worst result of a scenario.
func (r Row) result() reports.Result {
	switch {
	case r.Violated+r.Missed > 0:
		return reports.Violated
	case r.Unknown+r.NotJudged > 0:
		return reports.Unknown
	}
	return reports.Held
}

// rounded formats a share with enough digits to tell 99.5 % from 100 %.
func rounded(share float64) string {
	if share < 0.01 {
		return words.Percent(share)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", share*100), ".0") + " %"
}
