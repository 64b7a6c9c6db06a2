// Package page writes report.html, the page of a run: each scenario with its verdicts, and a timeline of faults, pods, requests, failures
// and latency on one axis. Other pages can share its look, see Parse.
//
// A page is one file that loads nothing. Everything recorded is escaped, because names and messages come from the cluster.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports"
)

var (
	//go:embed assets/*.tmpl
	templates embed.FS
	//go:embed assets/report.css
	style template.CSS
	//go:embed assets/report.js
	script template.JS
)

// Write writes report.html: one page that needs neither a network nor a server.
func Write(w io.Writer, r reports.Report) error {
	t, _, _, err := Parse(templates, "assets/*.tmpl", nil)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "page.tmpl", newPage(r))
}

// Parse parses templates together with the shared templates ("symbols", "icon", "badge", "command"), and returns the shared style and
// script. The templates can call the functions in more, and the shared ones, such as brief and percent.
func Parse(pages fs.FS, pattern string, more template.FuncMap) (*template.Template, template.CSS, template.JS, error) {
	t, err := template.New("").Funcs(functions).Funcs(more).ParseFS(templates, "assets/parts.tmpl")
	if err == nil {
		t, err = t.ParseFS(pages, pattern)
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("parse the page's templates: %w", err)
	}
	return t, style, script, nil
}

// functions are what templates can call.
var functions = template.FuncMap{
	"brief": prose.Brief[reports.Seconds], "count": prose.Thousands, "number": prose.Number, "moment": func(t any) string { return prose.Moment(reflect.Indirect(reflect.ValueOf(t)).Int()) }, "percent": prose.Share, "plural": prose.Counted,
	"class": class, "resultOf": reports.ResultOfOutcome, "anchor": Anchor, "join": strings.Join, "lower": strings.ToLower,
	"marked": marked, "nodeName": nodeName, "zoneName": zoneName,
	"add":     func(a, b int) int { return a + b },
	"several": func(n int, one string) string { return prose.Counted(uint64(n), one) },
}

// page is the data of the template.
type page struct {
	reports.Report
	Style  template.CSS // ours, embedded
	Script template.JS  // ours, embedded
	Suites []suite
	// Summary is one sentence; Counts are the same as a row of figures.
	Summary string
	Counts  []resultCount
	NotGood int
}

type resultCount struct {
	Result reports.Result
	N      int
}

type suite struct {
	Name     string
	Sections []section
}

// section is a scenario on the page.
type section struct {
	*reports.Scenario
	Short        string // its name without the suite
	Figures      reports.Figures
	Meaning      string
	Timeline     timeline
	Strip        strip
	NoiseInWords string // how the harness itself ran, in words
	Data         plotData
	Damage       string         // why the record is incomplete, unless Why says so
	TwinSays     reports.Result // a mutant's twin; empty when it is not on the page
}

func newPage(r reports.Report) page {
	p := page{Report: r, Style: style, Script: script, Summary: r.Summary()}
	for _, result := range []reports.Result{reports.Held, reports.Caught, reports.Escaped, reports.Violated, reports.Missed, reports.Unknown, reports.Unsupported, reports.Interrupted, reports.NotBegun} {
		n := r.Count(result)
		if n > 0 {
			p.Counts = append(p.Counts, resultCount{result, n})
		}
		if !result.Good() {
			p.NotGood += n
		}
	}
	p.Suites = suitesOf(r)
	return p
}

func suitesOf(r reports.Report) []suite {
	results := make(map[string]reports.Result)
	for i := range r.Scenarios {
		results[r.Scenarios[i].Name] = r.Scenarios[i].Result
	}
	var list []suite
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		name, short := reports.SplitName(s.Name)
		n := slices.IndexFunc(list, func(u suite) bool { return u.Name == name })
		if n < 0 {
			n = len(list)
			list = append(list, suite{Name: name})
		}
		sec := section{
			Scenario: s, Short: short, Figures: s.Figures(), Meaning: s.Meaning(), Timeline: layout(s), Strip: newStrip(s),
			Data: newPlotData(s), NoiseInWords: s.NoiseInWords(),
		}
		if !strings.Contains(s.Why, s.Incomplete) {
			sec.Damage = s.Incomplete
		}
		if s.Mutant != nil {
			sec.TwinSays = results[s.Mutant.Twin]
		}
		list[n].Sections = append(list[n].Sections, sec)
	}
	return list
}

// marked is text in which words between backticks are code.
func marked(s string) template.HTML {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // a backtick without its partner is text
		return template.HTML(template.HTMLEscapeString(s))
	}
	var b strings.Builder
	for i, part := range parts {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// class is the style class of a result.
func class(r reports.Result) string { return strings.ReplaceAll(strings.ToLower(string(r)), " ", "-") }

var notInAnchors = regexp.MustCompile(`[^A-Za-z0-9]+`)

// Anchor is a scenario's id on the page.
func Anchor(name string) string { return "s-" + notInAnchors.ReplaceAllString(name, "-") }
