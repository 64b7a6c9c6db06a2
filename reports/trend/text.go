package trend

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// WriteJSON writes the trend for programs.
func (t Trend) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(t)
}

// WriteText writes the lines, each change, and a summary as the last line.
func (t Trend) WriteText(out io.Writer) error {
	var b strings.Builder
	for _, l := range t.Lines {
		fmt.Fprintf(&b, "%s: %s\n", l.Name, l.InWords())
	}
	for _, c := range t.Changes {
		fmt.Fprintf(&b, "%-11s %s\n%12s%s\n", c.word(), c.InWords(t.severalLines()), "", c.Explained())
	}
	for _, k := range t.NotGood {
		fmt.Fprintf(&b, "%-11s %s\n", map[bool]string{true: "gone", false: "not good"}[k.Gone], k.InWords(t.severalLines()))
	}
	const most = 10
	for i, left := range t.Left {
		if i == most {
			fmt.Fprintf(&b, "%-11s and %d more; --json has all of them\n", "left out", len(t.Left)-most)
			break
		}
		fmt.Fprintf(&b, "%-11s %s\n", "left out", left)
	}
	b.WriteString(t.Summary() + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func (t Trend) severalLines() bool { return len(t.Lines) > 1 }

// InWords says how many nights the line has, and what they lack.
func (l Line) InWords() string {
	text := fmt.Sprintf("%s, %s to %s", prose.Count(l.Nights, "night"), l.From.UTC().Format("2006-01-02"), l.To.UTC().Format("2006-01-02"))
	if l.Ended {
		return text + "; left out, because its last night was long ago"
	}
	if l.NotJudged > 0 {
		text += fmt.Sprintf("; without figures %s that %s not judged", prose.Count(l.NotJudged, "scenario"), map[bool]string{true: "was", false: "were"}[l.NotJudged == 1])
	}
	if l.TooFew > 0 {
		text += fmt.Sprintf("; too few nights for %s of %d", prose.Count(l.TooFew, "figure"), l.TooFew+l.Told)
	}
	return text
}

func (c Change) word() string {
	if c.Worse {
		return "REGRESSION"
	}
	return "better"
}

// InWords says what moved, by how much, and how sure that is.
func (c Change) InWords(withLine bool) string {
	f := nights.Figures[slices.IndexFunc(nights.Figures, func(f nights.Figure) bool { return f.Name == c.Figure })]
	return fmt.Sprintf("%s%s, %s: %s in %s before, %s in %s since %s (Cliff's delta %+.2f, p %s, corrected %s)",
		c.Scenario, onLine(c.Line, withLine), c.Figure, f.Text(c.Before.Value), prose.Count(c.Before.Nights, "night"), f.Text(c.After.Value),
		prose.Count(c.After.Nights, "night"), c.Since.inWords(), c.Delta, probability(c.P), probability(c.Corrected))
}

// Explained says what else changed when the figure moved.
func (c Change) Explained() string {
	if len(c.Changed) > 0 {
		return "changed in that night: " + list(c.Changed)
	}
	text := "changed in that night: nothing that the record knows"
	for _, n := range c.Near {
		text += fmt.Sprintf("; close to it, in %s: %s", n.Night.inWords(), list(n.Changed))
	}
	return text
}

// InWords says since when the scenario is not good, or gone.
func (k Streak) InWords(withLine bool) string {
	who, broken := k.Scenario+onLine(k.Line, withLine), ""
	if k.Broken && !k.Result.Broken() {
		broken = ", and broken since"
	}
	switch {
	case k.Gone:
		return fmt.Sprintf("%s: not judged since %s (%s); good in %d of %s before, and at last %s", who, k.Since.inWords(), prose.Count(k.Nights, "night"), k.Good,
			prose.Count(k.Before, "night"), k.Result)
	case k.Good == 0:
		return fmt.Sprintf("%s: %s, and never good since %s (%s)", who, k.Result, k.Since.inWords(), prose.Count(k.Nights, "night"))
	}
	return fmt.Sprintf("%s: %s, not good since %s (%s); good in %d of %s before%s", who, k.Result,
		k.Since.inWords(), prose.Count(k.Nights, "night"), k.Good, prose.Count(k.Before, "night"), broken)
}

// Summary is the trend in one sentence.
func (t Trend) Summary() string {
	worse := 0
	for _, c := range t.Changes {
		if c.Worse {
			worse++
		}
	}
	besides := ""
	if t.Result == Broken || t.Result == Missing {
		besides = t.besides() + "; "
	}
	tests := fmt.Sprintf("%s tested, with a false alarm in at most %s of trends", prose.Count(t.Tested, "figure"), words.Percent(t.Level))
	if t.Result == TooFew {
		return fmt.Sprintf("too few nights to tell: at least %d with a figure are needed, half of them after a change", t.Needed)
	}
	return fmt.Sprintf("%s%s, %s; %s", besides, prose.Count(worse, "regression"), prose.Count(len(t.Changes)-worse, "improvement"), tests)
}

// besides counts what fails a trend although no figure got worse.
func (t Trend) besides() string {
	counts := make(map[string]int)
	for _, k := range t.NotGood {
		switch {
		case k.Gone:
			counts["gone"]++
		case k.Result.Broken():
			counts["broken"]++
		case !k.Success:
			counts["without evidence"]++
		}
	}
	var parts []string
	for _, what := range []string{"broken", "gone", "without evidence"} {
		if n := counts[what]; n > 0 {
			parts = append(parts, prose.Count(n, "scenario")+" "+what)
		}
	}
	if t.NotWhole > 0 {
		parts = append(parts, "the last night is not whole")
	}
	return strings.Join(parts, ", ")
}

func onLine(name string, with bool) string {
	if !with {
		return ""
	}
	return " (" + name + ")"
}

func (n Night) inWords() string { return n.At.UTC().Format("2006-01-02 15:04") + " (" + n.ID + ")" }

func list(changes []nights.VersionChange) string {
	var parts []string
	for _, c := range changes {
		parts = append(parts, c.String())
	}
	return prose.List(parts)
}

// probability has one digit: 0.00002.
func probability(p float64) string {
	digits := int(math.Ceil(-math.Log10(p)))
	return words.TrimZeros(strconv.FormatFloat(p, 'f', max(1, digits), 64))
}
