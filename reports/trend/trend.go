package trend

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/reports"
)

// SchemaVersion names the shape of the JSON form. A version may gain fields.
const SchemaVersion = "holdfast.dev/trend/v2"

const (
	// DefaultLast is how many nights of a line are looked at.
	DefaultLast = 30
	// Level is the probability that a trend names any figure although none has moved. It is low because a nightly job asks every night.
	Level = 0.01
)

// Result sums up a trend, or says what a finding makes of it.
type Result string

// The results, the worst first.
const (
	Regression Result = "regression"
	Broken     Result = "broken"  // a promise was broken in the last night
	Missing    Result = "missing" // a scenario is gone, without evidence or was never good, or the last night is not whole
	TooFew     Result = "too few nights"
	None       Result = "no regression"
)

// Trend is what many nights say. Lists are empty, never null.
type Trend struct {
	SchemaVersion string    `json:"schemaVersion"`
	Result        Result    `json:"result"`
	Summary       string    `json:"summary"`
	Tested        int       `json:"tested"` // figures that had enough nights, and not always the same value
	TooFew        int       `json:"tooFew"` // figures with too few nights
	Needed        int       `json:"needed"` // nights with a figure that can be told, in the best case
	Lines         []Line    `json:"lines"`
	Findings      []Finding `json:"findings"`
	Left          []string  `json:"left"` // what was left out, and why
}

// Line is the nights of one application, under the same conditions. They are compared with each other.
type Line struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // stays the same when a line goes on as another one
	Nights    int       `json:"nights"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	NotJudged int       `json:"notJudged"` // scenarios of nights that have no figures because they were not judged
	Ended     bool      `json:"ended"`     // its last night was long ago, so it was left out

	every, nights []*Night // all, and the last of them, in the order of time
	scenarios     []string // that any night has on the line, sorted
}

// Finding is a figure that has moved, or a scenario that is not good in its last nights, or that was not judged in the last nights of others.
type Finding struct {
	Word     string `json:"word"` // "regression", "improvement", "broken", "gone", "without evidence", or "unknown", which fails no trend
	Result   Result `json:"result"`
	Scenario string `json:"scenario"`
	Line     string `json:"line"`
	Since    *Night `json:"since"` // the first night after the change, without a good result, or without any
	Text     string `json:"text"`
	Figure   *Moved `json:"figure,omitempty"`
}

// Moved is by how much a figure has moved.
type Moved struct {
	Name   string   `json:"name"`
	Before float64  `json:"before"` // the median, or the share of nights of a verdict
	After  float64  `json:"after"`
	Nights [2]int   `json:"nights"` // before and after
	Delta  float64  `json:"delta"`  // Cliff's delta, see stats.Shift
	P      float64  `json:"p"`      // for this figure alone
	Holm   float64  `json:"holm"`   // P corrected for the number of figures tested
	Also   []string `json:"also"`   // what else changed in that night
}

// linesOf sorts the nights into lines, in the order in which these begin, and takes the last nights of each. A night whose scenarios ran
// under several conditions is on several lines. One whose time is unknown is on none, and neither is one that is stored twice.
func linesOf(all []*Night, last int) (lines []*Line, left []string) {
	seen := make(map[string]bool)
	left = []string{}
	var newest time.Time
	for _, n := range all {
		is := fmt.Sprint(n.ID, n.At.UnixNano(), n.seed)
		if n.Trouble != "" {
			left = append(left, n.Dir+": "+n.Trouble)
		}
		if n.seed != 0 && seen[is] { // without a seed it is not known which run it is
			left = append(left, n.Dir+": the run is also in another folder")
			continue
		}
		seen[is] = true
		for _, s := range n.Scenarios {
			if n.At.IsZero() {
				break
			}
			at := slices.IndexFunc(lines, func(l *Line) bool { return l.Name == s.Line })
			if at < 0 {
				at, lines = len(lines), append(lines, &Line{Name: s.Line, Kind: s.Kind})
			}
			l := lines[at]
			if len(l.every) == 0 || l.every[len(l.every)-1] != n {
				l.every = append(l.every, n)
			}
			if at, there := slices.BinarySearch(l.scenarios, s.Name); !there {
				l.scenarios = slices.Insert(l.scenarios, at, s.Name)
			}
			newest = n.At
		}
	}
	for _, l := range lines {
		l.nights = l.every[max(0, len(l.every)-last):]
		l.Nights, l.From, l.To = len(l.nights), l.nights[0].At, l.nights[len(l.nights)-1].At
		l.Ended = newest.Sub(l.To) > time.Duration(last)*24*time.Hour // what once moved there is no news
		for _, n := range l.nights {
			for _, s := range n.Scenarios {
				if s.Line == l.Name && !hasFigures(s.Result) {
					l.NotJudged++
				}
			}
		}
	}
	return lines, left
}

// series is a figure of a scenario over the nights of a line that have it.
type series struct {
	line, scenario string
	figure         Figure
	values         []float64
	nights         []*Night
	versions       []Versions
}

func (s *series) constant() bool { return slices.Min(s.values) == slices.Max(s.values) }

// series are the figures of the line that at least one night has.
func (l *Line) series() (list []*series) {
	for _, name := range l.scenarios {
		for i, f := range Figures {
			one := series{line: l.Name, scenario: name, figure: f}
			for _, n := range l.nights {
				if s := n.Find(name, l.Name); s != nil && !math.IsNaN(s.figures[i]) {
					one.values, one.nights, one.versions = append(one.values, s.figures[i]), append(one.nights, n), append(one.versions, s.Versions)
				}
			}
			if len(one.values) > 0 {
				list = append(list, &one)
			}
		}
	}
	return list
}

// Of looks for changes in the last nights of each line.
func Of(all []*Night, last int) Trend {
	t := Trend{SchemaVersion: SchemaVersion, Lines: []Line{}, Findings: []Finding{}}
	lines, left := linesOf(all, last)
	t.Left = left
	var every, tested []*series
	var notGood []Finding
	notWhole := len(all) > 0 && all[len(all)-1].Trouble != ""
	for _, l := range lines {
		t.Lines = append(t.Lines, *l)
		if l.Ended {
			continue
		}
		every = append(every, l.series()...)
		notGood = append(notGood, l.notGood(lines)...)
		notWhole = notWhole || l.nights[len(l.nights)-1].Trouble != "" && len(l.next(lines)) == 0
	}
	possible := 0 // figures that could have moved, if only they had enough nights
	for _, s := range every {
		if len(s.values) >= stats.FewestFor(Level) && !s.constant() {
			possible++
		}
	}
	t.Needed = stats.FewestFor(Level / float64(max(1, possible)))
	for _, s := range every {
		switch {
		case len(s.values) < t.Needed:
			t.TooFew++
		case !s.constant(): // which no order of the nights can change, so it may be left out without a correction
			tested = append(tested, s)
		}
	}
	t.Tested, t.Findings = len(tested), append(append(t.Findings, moved(tested)...), notGood...)
	t.sum(notWhole, t.TooFew == len(every))
	return t
}

// sum sums up the findings.
func (t *Trend) sum(notWhole, tooFew bool) {
	counts := make(map[string]int)
	t.Result = map[bool]Result{false: None, true: TooFew}[tooFew]
	worst := []Result{Regression, Broken, Missing, TooFew, None}
	for _, f := range t.Findings {
		counts[f.Word]++
		t.Result = worst[min(slices.Index(worst, t.Result), slices.Index(worst, f.Result))]
	}
	var parts []string
	for _, word := range []string{"broken", "gone", "without evidence"} {
		if counts[word] > 0 {
			parts = append(parts, prose.Count(counts[word], "scenario")+" "+word)
		}
	}
	if notWhole {
		parts = append(parts, "the last night is not whole")
		t.Result = worst[min(slices.Index(worst, t.Result), slices.Index(worst, Missing))]
	}
	parts = append(parts, prose.Count(counts["regression"], "regression"), prose.Count(counts["improvement"], "improvement"))
	t.Summary = fmt.Sprintf("%s; %s tested, with a false alarm in at most %s of trends", strings.Join(parts, ", "), prose.Count(t.Tested, "figure"), prose.Share(Level))
	switch {
	case t.Result == TooFew:
		t.Summary = fmt.Sprintf("too few nights to tell: at least %d with a figure are needed, half of them after a change", t.Needed)
	case t.TooFew > 0:
		t.Summary += "; too few nights for " + prose.Count(t.TooFew, "figure")
	}
}

// moved tests the series, and returns those that have moved, the regressions first.
func moved(tested []*series) (list []Finding) {
	finder := stats.Shifts{Draws: max(10_000, int(10*float64(len(tested))/Level))} // the smallest P is a tenth of what the correction asks for
	var shifts []stats.Shift
	var ps []float64
	for _, s := range tested {
		finder.Random = rand.New(rand.NewPCG(1, 2)).IntN // the same nights have the same result
		shift := finder.Of(s.values)
		shifts, ps = append(shifts, shift), append(ps, shift.P)
	}
	for i, corrected := range stats.Holm(ps) {
		if corrected <= Level {
			list = append(list, tested[i].moved(shifts[i], corrected))
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.Word, b.Word), cmp.Compare(a.Figure.P, b.Figure.P))
	})
	return list
}

func (s *series) moved(shift stats.Shift, corrected float64) Finding {
	at, last := shift.At, len(s.values)-1
	m := &Moved{s.figure.Name, shift.Before, shift.After, [2]int{at, last + 1 - at}, shift.Delta, shift.P, corrected, s.versions[at-1].To(s.versions[at])}
	if s.figure.Share {
		m.Before, m.After = mean(s.values[:at]), mean(s.values[at:])
	}
	also := prose.List(m.Also)
	if also == "" { // noise can move the night by two
		also = "nothing that the record knows"
		if near := s.versions[max(0, at-3)].To(s.versions[min(last, at+2)]); len(near) > 0 {
			also += "; close to it: " + prose.List(near)
		}
	}
	f := Finding{Word: "regression", Result: Regression, Scenario: s.scenario, Line: s.line, Since: s.nights[at], Figure: m}
	if shift.Delta < 0 {
		f.Word, f.Result = "improvement", None
	}
	f.Text = fmt.Sprintf("%s, %s: %s in %s before, %s in %s since %s (Cliff's delta %+.2f, p %.1g, corrected %.1g); changed in that night: %s",
		s.scenario, m.Name, s.figure.Text(m.Before), prose.Count(at, "night"), s.figure.Text(m.After), prose.Count(m.Nights[1], "night"), f.Since, m.Delta, m.P, m.Holm, also)
	return f
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// fewest is in how many nights a scenario must have been judged before it can be gone: what is run now and then is not missed.
const fewest = 3

// gone reports whether a scenario that was judged in so many nights, and not in others among them, was hardly left out of the last ones by
// chance.
func gone(judged, others, last int) bool {
	return judged >= fewest && math.Pow(float64(others+1)/float64(judged+others+1), float64(last)) < Level
}

// judged is whether a result is a verdict.
func judged(r reports.Result) bool { return hasFigures(r) || r == reports.Unknown }

// notGood names each scenario whose last result is not good, and each that is gone. Nights in which it did not run to its end count for
// nothing. A line goes on in the lines of its kind that began after its last night, as after an upgrade: what they judge is theirs.
func (l *Line) notGood(lines []*Line) (list []Finding) {
	for _, name := range l.scenarios {
		var in []*Night // nights in which it was judged
		var last reports.Result
		good, before, broken := 0, 0, false // nights with a good result; all up to the last of these; whether a promise was broken since
		for _, n := range l.nights {
			s := n.Find(name, l.Name)
			if s == nil || !judged(s.Result) {
				continue
			}
			in, last, broken = append(in, n), s.Result, broken || s.Result.Broken()
			if last.Good() {
				good, before, broken = good+1, len(in), false
			}
		}
		theirs := func(n *Night) bool {
			return slices.ContainsFunc(n.Scenarios, func(s Scenario) bool { return s.Name == name && s.Kind == l.Kind && judged(s.Result) })
		}
		if len(in) == 0 || slices.ContainsFunc(l.next(lines), theirs) {
			continue
		}
		f := Finding{Word: "without evidence", Result: Missing, Scenario: name, Line: l.Name}
		bad := len(in) - before
		if since := l.without(in, lines); len(since) > 0 {
			f.Word, f.Since = "gone", since[0]
			f.Text = fmt.Sprintf("%s: not judged since %s (%s); good in %d of %s before, and at last %s", name, since[0], prose.Count(len(since), "night"), good, prose.Count(len(in), "night"), last)
			list = append(list, f)
			continue
		}
		if bad == 0 {
			continue
		}
		f.Since = in[before]
		lasts := bad >= fewest && gone(max(good, fewest), before-good, bad) // which chance does not explain
		switch {
		case last.Broken():
			f.Word, f.Result = "broken", Broken
		case good > 0 && !broken && !strings.HasPrefix(l.Kind, certificates) && !lasts:
			f.Word, f.Result = "unknown", None
		}
		f.Text = fmt.Sprintf("%s: %s, not good since %s (%s); good in %d of %s before", name, last, f.Since, prose.Count(bad, "night"), good, prose.Count(before, "night"))
		switch {
		case good == 0:
			f.Text = fmt.Sprintf("%s: %s, and never good since %s (%s)", name, last, f.Since, prose.Count(bad, "night"))
		case broken && !last.Broken():
			f.Text += ", and broken since"
		}
		list = append(list, f)
	}
	return list
}

// without are the nights since the last one in which a scenario was judged, in the order of time, if it is gone from its line, from the lines of
// its kind, or from all lines if nothing of its kind goes on. Nights that are not whole count for nothing.
func (l *Line) without(in []*Night, lines []*Line) []*Night {
	first, last := in[0].At, in[len(in)-1].At
	for _, scope := range []string{"line", "kind", "all"} {
		var since []*Night
		others, seen := 0, make(map[*Night]bool) // nights among those in which it was judged
		for _, other := range lines {
			if scope == "line" && other != l || scope == "kind" && other.Kind != l.Kind {
				continue
			}
			for _, n := range other.every {
				switch {
				case n.Trouble != "" || seen[n] || slices.Contains(in, n) || n.At.Before(first):
				case n.At.After(last):
					since = append(since, n)
				default:
					others++
				}
				seen[n] = true
			}
		}
		if gone(len(in), others, len(since)) {
			slices.SortStableFunc(since, func(a, b *Night) int { return a.At.Compare(b.At) })
			return since
		}
		if scope == "kind" && len(since) > 0 {
			return nil
		}
	}
	return nil
}

// next are the whole nights of the lines of its kind that began after its last night.
func (l *Line) next(lines []*Line) (next []*Night) {
	for _, other := range lines {
		if other.Kind == l.Kind && other.every[0].At.After(l.To) {
			next = append(next, other.nights...)
		}
	}
	return slices.DeleteFunc(next, func(n *Night) bool { return n.Trouble != "" })
}
