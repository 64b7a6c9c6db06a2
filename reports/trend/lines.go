package trend

import (
	"fmt"
	"math"
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
}

// linesOf takes the last nights of each line.
func linesOf(all nights.Nights, last int) (lines []line) {
	var newest time.Time
	for _, c := range all.Courses() {
		l := line{Line: Line{Line: c.Line, Name: c.Line.String()}, nights: c.Nights[max(0, len(c.Nights)-last):], names: c.Scenarios}
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
