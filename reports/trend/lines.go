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
	names  []string // of scenarios, in the order in which they appear
}

// linesOf sorts the nights into lines, of which each keeps its last nights.
func linesOf(all nights.Nights, last int) (lines []line) {
	var newest time.Time
	for i := range all.List {
		n := &all.List[i]
		if n.At.IsZero() {
			continue // it has no place in the order
		}
		for j := range n.Scenarios {
			s := &n.Scenarios[j]
			at := slices.IndexFunc(lines, func(l line) bool { return l.Line.Line == s.Line })
			if at < 0 {
				at = len(lines)
				lines = append(lines, line{Line: Line{Line: s.Line, Name: s.Line.String()}})
			}
			l := &lines[at]
			if len(l.nights) == 0 || l.nights[len(l.nights)-1] != n {
				l.nights = append(l.nights, n)
			}
			newest = n.At // nights are in the order of time
		}
	}
	for i := range lines {
		lines[i].keep(last, newest)
	}
	return lines
}

// keep keeps the last nights. A line without a night for so many days has ended: what once moved there is no news.
func (l *line) keep(last int, newest time.Time) {
	l.nights = l.nights[max(0, len(l.nights)-last):]
	l.Nights, l.From, l.To = len(l.nights), l.nights[0].At, l.nights[len(l.nights)-1].At
	l.Ended = newest.Sub(l.To) > time.Duration(last)*24*time.Hour
	for _, n := range l.nights {
		for i := range n.Scenarios {
			s := &n.Scenarios[i]
			if s.Line == l.Line.Line && !slices.Contains(l.names, s.Name) {
				l.names = append(l.names, s.Name)
			}
			if s.Line == l.Line.Line && !s.Result.Good() && !s.Result.Broken() {
				l.NotJudged++
			}
		}
	}
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

// Streak is a scenario that was good before, and is not in the last nights.
type Streak struct {
	Scenario string         `json:"scenario"`
	Line     string         `json:"line"`
	Result   reports.Result `json:"result"` // of the last night
	Nights   int            `json:"nights"` // without a good result, up to the last one
	Since    Night          `json:"since"`
	Good     int            `json:"good"`   // nights with a good result before
	Before   int            `json:"before"` // nights before
}

// streaks names each scenario whose last result is not good. Nights in which it did not run to its end count for nothing.
func (l *line) streaks() (list []Streak) {
	for _, name := range l.names {
		k := Streak{Scenario: name, Line: l.Name}
		for _, n := range l.nights {
			s := n.Find(name, l.Line.Line)
			switch {
			case s == nil || !s.Result.Good() && !s.Result.Broken() && s.Result != reports.Unknown:
			case s.Result.Good():
				k.Before += k.Nights + 1
				k.Good++
				k.Nights = 0
			default:
				if k.Nights == 0 {
					k.Since = nameOf(n)
				}
				k.Nights++
				k.Result = s.Result
			}
		}
		if k.Nights > 0 && k.Good > 0 {
			list = append(list, k)
		}
	}
	return list
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
