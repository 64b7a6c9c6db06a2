package index

import (
	"cmp"
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

func tablesOf(all nights.Nights, t trend.Trend) (list []table) {
	for i := range all.List {
		n := &all.List[i]
		if n.At.IsZero() {
			continue // it has no place in the order, and is among the troubled
		}
		for j := range n.Scenarios {
			s := &n.Scenarios[j]
			at := slices.IndexFunc(list, func(t table) bool { return t.Line == s.Line })
			if at < 0 {
				at = len(list)
				list = append(list, table{ID: "line-" + string(rune('a'+at%26)) + strings.Repeat("x", at/26), Line: s.Line})
			}
			list[at].add(n, s)
		}
	}
	slices.SortStableFunc(list, func(a, b table) int { // runs before certificates, and what is watched most first
		if a.Line.Certificates != b.Line.Certificates {
			return map[bool]int{false: -1, true: 1}[a.Line.Certificates]
		}
		return cmp.Or(cmp.Compare(len(b.Heads), len(a.Heads)), strings.Compare(a.Line.String(), b.Line.String()))
	})
	for i := range list {
		list[i].fill(t)
	}
	return list
}

// add adds the night's column, if it is new, and the scenario's row.
func (t *table) add(n *nights.Night, s *nights.Scenario) {
	if last := len(t.Heads) - 1; last < 0 {
		t.Heads, t.First = []head{{Night: n}}, marks(nights.Versions{}.To(s.Versions))
	} else if h := t.Heads[last]; h.Night != n {
		t.Heads = append(t.Heads, head{Night: n, Changed: marks(h.Find(h.firstOn(t.Line), t.Line).Versions.To(s.Versions))})
	}
	if !slices.ContainsFunc(t.Rows, func(r row) bool { return r.Name == s.Name }) {
		t.Rows = append(t.Rows, row{Name: s.Name, Mutant: s.Mutant})
	}
}

// marks are the versions that are new. Of an image its name is enough.
func marks(changes []nights.VersionChange) (list []string) {
	for _, c := range changes {
		list = append(list, c.What+" "+path.Base(cmp.Or(c.To, "unknown")))
	}
	return list
}

// firstOn is the name of the night's first scenario on the line, whose versions are those of the column.
func (h head) firstOn(l nights.Line) string {
	return h.Scenarios[slices.IndexFunc(h.Scenarios, func(s nights.Scenario) bool { return s.Line == l })].Name
}

// fill writes the cells and draws the charts.
func (t *table) fill(found trend.Trend) {
	slices.SortStableFunc(t.Rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	t.Linked = min(len(t.Heads), mostLinks/max(1, len(t.Rows)))
	for i := range t.Rows {
		r := &t.Rows[i]
		course := make([]*nights.Scenario, len(t.Heads))
		var cells strings.Builder
		for j := range t.Heads {
			course[j] = t.Heads[j].Find(r.Name, t.Line)
			writeCell(&cells, t.Heads[j].Night, course[j], j >= len(t.Heads)-t.Linked)
		}
		r.Cells = template.HTML(cells.String()) // escaped by writeCell
		for _, f := range drawn {
			r.Charts = append(r.Charts, chartOf(f, course, found, t.Line.String()))
		}
	}
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
