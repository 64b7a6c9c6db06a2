package trend

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/nights"
)

// line is a Line with its nights, in the order of time.
type line struct {
	Line
	nights []*nights.Night
	names  []string // of scenarios
	began  time.Time
}

// linesOf takes the last nights of each line.
func linesOf(all nights.Nights, last int) (lines []line) {
	var newest time.Time
	for _, c := range all.Courses() {
		l := line{Line: Line{Line: c.Line, Name: c.Line.String()}, nights: c.Nights[max(0, len(c.Nights)-last):], names: c.Scenarios, began: c.Nights[0].At}
		l.Nights, l.From, l.To = len(l.nights), l.nights[0].At, l.nights[len(l.nights)-1].At
		l.NotJudged = l.notJudged()
		lines = append(lines, l)
		if l.To.After(newest) {
			newest = l.To
		}
	}
	for i := range lines {
		lines[i].Ended = newest.Sub(lines[i].To) > time.Duration(last)*24*time.Hour // what once moved there is no news
	}
	return lines
}

// notJudged counts the scenarios of all nights that have no figures.
func (l *line) notJudged() (n int) {
	for _, night := range l.nights {
		for i := range night.Scenarios {
			if s := &night.Scenarios[i]; s.Line == l.Line.Line && !s.Result.Good() && !s.Result.Broken() {
				n++
			}
		}
	}
	return n
}

// series are the figures of the line that at least one night has.
func (l *line) series() (list []series) {
	for _, name := range l.names {
		some := make([]series, len(nights.Figures))
		for _, n := range l.nights {
			s := n.Find(name, l.Line.Line)
			if s == nil {
				continue
			}
			for f, value := range s.Figures {
				if !math.IsNaN(value) {
					some[f].values, some[f].points = append(some[f].values, value), append(some[f].points, point{n, s})
				}
			}
		}
		for f := range some {
			if s := &some[f]; len(s.values) > 0 {
				s.line, s.scenario, s.figure = &l.Line, name, f
				list = append(list, *s)
			}
		}
	}
	return list
}

// Streak is a scenario that is not good in the last nights, or that was not judged in them any more.
type Streak struct {
	Scenario string         `json:"scenario"`
	Line     string         `json:"line"`
	Result   reports.Result `json:"result"` // of the last night in which it was judged
	Gone     bool           `json:"gone,omitempty"`
	Nights   int            `json:"nights"` // without a good result, or without any, up to the last one
	Since    Night          `json:"since"`
	Good     int            `json:"good"`   // nights with a good result before
	Before   int            `json:"before"` // nights before
	// Broken is whether a promise was broken since it was last good.
	Broken bool `json:"broken,omitempty"`
	// Success is whether it fails no trend: it is Unknown, was good before, and may be so by chance.
	Success bool `json:"success,omitempty"`
}

// fewest is in how many nights a scenario must have been judged before it can be gone: what is run now and then is not missed.
const fewest = 3

// gone reports whether a scenario that was judged in so many nights, and not in others among them, was hardly left out of the last ones by
// chance.
func gone(judged, others, last int) bool {
	return judged >= fewest && math.Pow(float64(others+1)/float64(judged+others+1), float64(last)) < Level
}

// streaks names each scenario whose last result is not good, and each that is gone. Nights in which it did not run to its end count for
// nothing, and so do nights that are not whole. A line goes on in those of its kind that began after its last night, next, as after an upgrade: what they
// judge is theirs. After are the whole nights since the line ended; nil while it may still go on.
func (l *line) streaks(next, after []*nights.Night) (list []Streak) {
	for _, name := range l.names {
		k := Streak{Scenario: name, Line: l.Name}
		others, since := 0, []*nights.Night(nil) // nights without a verdict, among the others and since the last of these
		for _, n := range l.nights {
			s := n.Find(name, l.Line.Line)
			if s == nil || !judged(s.Result) {
				if n.Trouble == "" {
					since = append(since, n)
				}
				continue
			}
			if k.Before+k.Nights > 0 {
				others += len(since)
			}
			since = nil
			if k.Result = s.Result; s.Result.Good() {
				k.Before += k.Nights + 1
				k.Good++
				k.Nights, k.Broken = 0, false
				continue
			}
			if k.Nights == 0 {
				k.Since = nameOf(n)
			}
			k.Nights++
			k.Broken = k.Broken || s.Result.Broken()
		}
		if slices.ContainsFunc(next, func(n *nights.Night) bool { return judgedIn(n, name, l.Kind()) }) {
			continue
		}
		since = append(since, after...)
		lasts := k.Nights >= fewest && gone(max(k.Good, fewest), k.Before-k.Good, k.Nights)
		k.Success = k.Good > 0 && k.Result == reports.Unknown && !k.Broken && !l.Certificates && !lasts
		if gone(k.Before+k.Nights, others, len(since)) {
			k = Streak{Scenario: name, Line: l.Name, Result: k.Result, Gone: true, Nights: len(since), Since: nameOf(since[0]), Good: k.Good, Before: k.Before + k.Nights, Broken: k.Broken}
		}
		if k.Nights > 0 {
			list = append(list, k)
		}
	}
	return list
}

// judged is whether a result is a verdict.
func judged(r reports.Result) bool { return r.Good() || r.Broken() || r == reports.Unknown }

// judgedIn is whether a night judged a scenario on a line of a kind.
func judgedIn(n *nights.Night, name string, kind nights.Line) bool {
	return slices.ContainsFunc(n.Scenarios, func(s nights.Scenario) bool { return s.Name == name && s.Line.Kind() == kind && judged(s.Result) })
}

// next are the whole nights of the lines of its kind that began after its last night.
func (l *line) next(lines []line) (next []*nights.Night) {
	for i := range lines {
		if lines[i].Kind() == l.Kind() && lines[i].began.After(l.To) {
			next = append(next, lines[i].nights...)
		}
	}
	return slices.DeleteFunc(next, func(n *nights.Night) bool { return n.Trouble != "" })
}

// after are the whole nights since the line ended, of the lines of its kind, or of all if nothing of its kind goes on; nil while it may still go on.
func (l *line) after(lines []line) []*nights.Night {
	for _, all := range []bool{false, true} {
		var after []*nights.Night
		others, list := 0, []*nights.Night(nil)
		for i := range lines {
			if all || lines[i].Kind() == l.Kind() {
				list = append(list, lines[i].nights...)
			}
		}
		slices.SortStableFunc(list, func(a, b *nights.Night) int { return a.At.Compare(b.At) })
		for _, n := range slices.Compact(list) {
			switch {
			case n.Trouble != "" || n.At.Before(l.From):
			case n.At.After(l.To):
				after = append(after, n)
			case !slices.Contains(l.nights, n):
				others++
			}
		}
		if gone(max(l.Nights, fewest), others, len(after)) {
			return after
		}
		if len(after) > 0 {
			return nil
		}
	}
	return nil
}

// leftOut says which nights and figures count for nothing, and why.
func leftOut(all nights.Nights) []string {
	list := []string{}
	for _, n := range all.List {
		if n.Trouble != "" {
			list = append(list, fmt.Sprintf("%s: %s", n.Dir, n.Trouble))
		}
		if len(n.Absurd) > 0 {
			list = append(list, fmt.Sprintf("%s: no run can have these figures: %s", n.Dir, strings.Join(n.Absurd, "; ")))
		}
	}
	for _, dir := range all.Twice {
		list = append(list, dir+": the run is also in another folder")
	}
	return list
}
