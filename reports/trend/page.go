package trend

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// WriteText writes the lines, what was found on each, and the summary as the last line.
func (t Trend) WriteText(out io.Writer) error {
	var b strings.Builder
	for _, l := range t.Lines {
		fmt.Fprintf(&b, "%s: %s\n", l.Name, l.Text())
		for _, f := range t.On(l.Name) {
			fmt.Fprintf(&b, "%-11s %s\n", strings.Replace(f.Word, "regression", "REGRESSION", 1), f.Text)
		}
	}
	for _, left := range prose.First(t.Left, 10) {
		fmt.Fprintf(&b, "%-11s %s\n", "left out", left)
	}
	_, err := io.WriteString(out, b.String()+t.Summary+"\n")
	return err
}

// On are the findings on a line.
func (t Trend) On(line string) (list []Finding) {
	for _, f := range t.Findings {
		if f.Line == line {
			list = append(list, f)
		}
	}
	return list
}

// Text says how many nights the line has, and what they lack.
func (l Line) Text() string {
	text := fmt.Sprintf("%s, %s to %s", prose.Count(l.Nights, "night"), l.From.UTC().Format("2006-01-02"), l.To.UTC().Format("2006-01-02"))
	if l.NotJudged > 0 {
		text += "; without figures " + prose.Count(l.NotJudged, "scenario") + " not judged"
	}
	if l.Ended {
		text += "; left out, because its last night was long ago"
	}
	return text
}

// PageFile is the name of the page about all nights, in the folder that it is about.
const PageFile = "index.html"

//go:embed assets
var assets embed.FS

// table is the nights of a line on the page.
type table struct {
	Line
	Heads []*Night
	Rows  []row
	Found []Finding
}

type row struct {
	Name   string
	Mutant bool
	Cells  []cell
}

type cell struct{ Result, Class, Link string }

// Link is the address of the night, relative to the folder that the nights are from.
func (n *Night) Link() string { return (&url.URL{Path: n.Page}).String() }

// WritePage writes one page about the last 90 nights of each line: a row for each scenario and a column for each night. It loads nothing and
// needs no server.
func WritePage(w io.Writer, all []*Night) error {
	t, style, _, err := page.Parse(assets, "assets/page.tmpl", nil)
	if err != nil {
		return err
	}
	own, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return fmt.Errorf("read the page's style: %w", err)
	}
	found := Of(all, DefaultLast)
	lines, _ := linesOf(all, 90)
	var tables []table
	for _, l := range lines {
		one := table{Line: *l, Heads: l.nights, Found: found.On(l.Name)}
		for _, name := range l.scenarios {
			one.Rows = append(one.Rows, l.row(name))
		}
		tables = append(tables, one)
	}
	return t.ExecuteTemplate(w, "page.tmpl", struct {
		Style, OwnStyle template.CSS // ours, embedded
		Nights, Last    int
		Trend           Trend
		Tables          []table
	}{style, template.CSS(own), len(all), DefaultLast, found, tables})
}

func (l *Line) row(name string) row {
	r := row{Name: name}
	for _, n := range l.nights {
		var c cell
		if s := n.Find(name, l.Name); s != nil {
			r.Mutant = r.Mutant || s.Mutant
			c = cell{string(s.Result), "u", n.Link()}
			switch {
			case s.Result.Good():
				c.Class = "h"
			case s.Result.Broken():
				c.Class = "b"
			}
			switch {
			case !strings.HasSuffix(n.Page, ".html"):
			case name == upgrade:
				c.Link += "#upgrade"
			default:
				c.Link += "#" + page.Anchor(name)
			}
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}
