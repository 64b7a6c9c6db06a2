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
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

//go:embed assets
var assets embed.FS

// Write writes report.html: one page that needs neither a network nor a server.
func Write(w io.Writer, r reports.Report) error {
	t, err := template.New("").Funcs(functions).ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return fmt.Errorf("parse the page's templates: %w", err)
	}
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "page.tmpl", p)
}

// functions are what templates can call.
var functions = template.FuncMap{
	"brief": words.Brief[reports.Seconds], "count": words.Count, "number": words.Number, "moment": func(t any) string { return words.Moment(reflect.Indirect(reflect.ValueOf(t)).Int()) }, "percent": words.Percent, "plural": words.Plural,
	"class": class, "resultOf": reports.ResultOfOutcome, "anchor": Anchor, "join": strings.Join, "lower": strings.ToLower,
	"marked": marked, "nodeName": nodeName, "zoneName": zoneName,
	"add":     func(a, b int) int { return a + b },
	"several": func(n int, one string) string { return words.Plural(uint64(n), one) },
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
	// Confusion is nil when there is none to show.
	Confusion *reports.ConfusionTable
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

func newPage(r reports.Report) (page, error) {
	look, err := looks()
	if err != nil {
		return page{}, err
	}
	p := page{Report: r, Style: look.style, Script: look.script, Summary: r.Summary()}
	for _, result := range []reports.Result{reports.Held, reports.Caught, reports.Escaped, reports.Violated, reports.Missed, reports.Unknown, reports.Unsupported, reports.Interrupted, reports.NotBegun} {
		n := r.Count(result)
		if n > 0 {
			p.Counts = append(p.Counts, resultCount{result, n})
		}
		if !result.Good() {
			p.NotGood += n
		}
	}
	p.Suites, p.Confusion = suitesOf(r), reports.NewConfusionTable(r.Matrix())
	return p, nil
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
