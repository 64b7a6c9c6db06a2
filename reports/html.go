package reports

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

//go:embed assets
var assets embed.FS

// writeHTML writes report.html: one page that needs neither a network nor a server.
func writeHTML(w io.Writer, r Report) error {
	t, err := template.New("").Funcs(words).ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return fmt.Errorf("parse the page's templates: %w", err)
	}
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "page.tmpl", p)
}

// words are the functions that templates call.
var words = template.FuncMap{
	"brief": brief[Seconds], "count": count, "number": number, "moment": func(t any) string { return moment(reflect.Indirect(reflect.ValueOf(t)).Int()) }, "percent": percent, "plural": plural,
	"class": class, "resultOf": resultOf, "anchor": anchor, "join": strings.Join, "lower": strings.ToLower,
	"pairs": pairs, "nodeName": nodeName, "zoneName": zoneName,
	"add": func(a, b int) int { return a + b },
}

// page is the data of the template.
type page struct {
	Report
	Style  template.CSS // ours, embedded
	Script template.JS  // ours, embedded
	Suites []suite
	// Summary is one sentence; Counts are the same as a row of figures.
	Summary string
	Counts  []resultCount
	NotGood int
	// Confusion is nil when there is none to show.
	Confusion *confusionTable
}

type resultCount struct {
	Result Result
	N      int
}

type suite struct {
	Name     string
	Sections []section
}

// section is a scenario on the page.
type section struct {
	*Scenario
	Short        string // its name without the suite
	Figures      figures
	Meaning      string
	Timeline     timeline
	Strip        strip
	NoiseInWords string // how the harness itself ran, in words
	Data         plotData
	Damage       string // why the record is incomplete, unless Why says so
	TwinSays     Result // a mutant's twin; empty when it is not on the page
}

func newPage(r Report) (page, error) {
	look, err := looks()
	if err != nil {
		return page{}, err
	}
	p := page{Report: r, Style: look.style, Script: look.script, Summary: r.summary()}
	for _, result := range []Result{Held, Caught, Escaped, Violated, Missed, Unknown, Unsupported, Interrupted, NotBegun} {
		n := r.Count(result)
		if n > 0 {
			p.Counts = append(p.Counts, resultCount{result, n})
		}
		if !result.Good() {
			p.NotGood += n
		}
	}
	p.Suites, p.Confusion = suitesOf(r), newConfusionTable(r.matrix())
	return p, nil
}

func suitesOf(r Report) []suite {
	results := make(map[string]Result)
	for i := range r.Scenarios {
		results[r.Scenarios[i].Name] = r.Scenarios[i].Result
	}
	var list []suite
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		name, short := split(s.Name)
		n := slices.IndexFunc(list, func(u suite) bool { return u.Name == name })
		if n < 0 {
			n = len(list)
			list = append(list, suite{Name: name})
		}
		sec := section{
			Scenario: s, Short: short, Figures: s.figures(), Meaning: s.meaning(), Timeline: layout(s), Strip: newStrip(s),
			Data: newPlotData(s), NoiseInWords: s.noiseInWords(),
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

// Kinds lists the failures of the lane by kind, the most frequent first.
func (l Lane) Kinds() string {
	kinds := slices.SortedFunc(maps.Keys(l.Outcomes), func(a, b history.Outcome) int {
		if l.Outcomes[a] != l.Outcomes[b] {
			return int(l.Outcomes[b]) - int(l.Outcomes[a])
		}
		return strings.Compare(string(a), string(b))
	})
	var parts []string
	for _, k := range kinds {
		parts = append(parts, count(l.Outcomes[k])+" "+string(k))
	}
	return strings.Join(parts, ", ")
}

// figure is a number of a verdict.
type figure struct{ Name, Value string }

// pairs are the numbers of a verdict by name, as text.
func pairs(v Verdict) []figure {
	var list []figure
	for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
		list = append(list, figure{key, number(v.Numbers[key])})
	}
	return list
}

// class is the style class of a result.
func class(r Result) string { return strings.ReplaceAll(strings.ToLower(string(r)), " ", "-") }

var notInAnchors = regexp.MustCompile(`[^A-Za-z0-9]+`)

// anchor is a scenario's id on the page.
func anchor(name string) string { return "s-" + notInAnchors.ReplaceAllString(name, "-") }
