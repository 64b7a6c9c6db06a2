package index

import (
	"cmp"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// mostLinks bounds the links of a table, which are most of its size: 365 nights of 200 scenarios have 73,000 cells. Beyond it, verdicts that are
// good are linked in the newest nights only; all others are linked in every night, and so is each night itself.
const mostLinks = 30_000

// table is the nights of a line.
type table struct {
	ID    string
	Line  nights.Line
	Heads []head
	Rows  []row
	First []string // the versions of the first night
	// Linked is the number of newest nights of which every verdict is a link.
	Linked int
}

// head is a night at the head of its column.
type head struct {
	*nights.Night
	Changed []string // versions that the night before did not have
}

// row is a scenario.
type row struct {
	Name   string
	Mutant bool
	Cells  template.HTML
	Charts []chart
}

// letter stands for a result in a cell.
type letter struct {
	text   string
	result reports.Result
	class  string
}

// letters are the words of results in a cell. They tell results apart without their colour.
var letters = []letter{
	{"H", reports.Held, "h"}, {"C", reports.Caught, "h"}, {"E", reports.Escaped, "h"}, {"V", reports.Violated, "b"}, {"M", reports.Missed, "b"},
	{"U", reports.Unknown, "u"}, {"I", reports.Interrupted, "u"}, {"B", reports.NotBegun, "u"}, {"N", reports.Unsupported, "u"},
}

// Letters explains the letters of cells.
func (data) Letters() (list []string) {
	for _, l := range letters {
		list = append(list, l.text+" "+string(l.result))
	}
	return list
}

func tablesOf(all nights.Nights, found trend.Trend) (list []table) {
	courses := all.Courses()
	slices.SortStableFunc(courses, func(a, b nights.Course) int { // runs before certificates, and what is watched most first
		if a.Line.Certificates != b.Line.Certificates {
			return map[bool]int{false: -1, true: 1}[a.Line.Certificates]
		}
		return cmp.Or(cmp.Compare(len(b.Nights), len(a.Nights)), strings.Compare(a.Line.String(), b.Line.String()))
	})
	for i, c := range courses {
		list = append(list, tableOf(fmt.Sprintf("line-%d", i+1), c, found))
	}
	return list
}

func tableOf(id string, c nights.Course, found trend.Trend) table {
	t := table{ID: id, Line: c.Line, Linked: min(len(c.Nights), mostLinks/max(1, len(c.Scenarios)))}
	var before nights.Versions
	for i, n := range c.Nights {
		is := versionsOf(n, c.Line)
		h := head{Night: n, Changed: marks(before.To(is))}
		if i == 0 {
			t.First, h.Changed = h.Changed, nil
		}
		t.Heads, before = append(t.Heads, h), is
	}
	for _, name := range c.Scenarios {
		t.Rows = append(t.Rows, t.row(name, found))
	}
	return t
}

// versionsOf are those of the night's first scenario on the line.
func versionsOf(n *nights.Night, l nights.Line) nights.Versions {
	return n.Scenarios[slices.IndexFunc(n.Scenarios, func(s nights.Scenario) bool { return s.Line == l })].Versions
}

// row writes the cells of a scenario and draws its charts.
func (t *table) row(name string, found trend.Trend) row {
	r := row{Name: name}
	course := make([]*nights.Scenario, len(t.Heads))
	var cells strings.Builder
	for i, h := range t.Heads {
		s := h.Find(name, t.Line)
		r.Mutant = r.Mutant || s != nil && s.Mutant
		course[i] = s
		writeCell(&cells, h.Night, s, i >= len(t.Heads)-t.Linked)
	}
	r.Cells = template.HTML(cells.String()) // escaped by writeCell
	for _, f := range drawn {
		r.Charts = append(r.Charts, chartOf(f, course, found, t.Line.String()))
	}
	return r
}

// marks are the versions that are new. Of an image its name is enough.
func marks(changes []nights.VersionChange) (list []string) {
	for _, c := range changes {
		list = append(list, c.What+" "+path.Base(cmp.Or(c.To, "unknown")))
	}
	return list
}

// writeCell writes a verdict. Nights without the scenario have an empty cell.
func writeCell(b *strings.Builder, n *nights.Night, s *nights.Scenario, linked bool) {
	if s == nil {
		b.WriteString("<td></td>")
		return
	}
	is := letter{"U", reports.Unknown, "u"} // also of a word that this version does not know
	if at := slices.IndexFunc(letters, func(l letter) bool { return l.result == s.Result }); at >= 0 {
		is = letters[at]
	}
	b.WriteString(`<td class="` + is.class + `">`)
	if linked || !s.Result.Good() {
		b.WriteString(`<a href="` + template.HTMLEscapeString(linkTo(n, s.Name)) + `">` + is.text + `</a>`)
	} else {
		b.WriteString(is.text)
	}
	b.WriteString("</td>")
}
