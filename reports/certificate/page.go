package certificate

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/holdfast-ha/holdfast/reports/page"
	"github.com/holdfast-ha/holdfast/reports/words"
)

//go:embed assets
var assets embed.FS

// WriteHTML writes certificate.html: one page that needs neither a network nor a server. It looks like the report of a run.
func WriteHTML(w io.Writer, c *Certificate) error {
	t, style, script, err := page.Parse(assets, "assets/certificate.tmpl", template.FuncMap{
		"look": look, "share": share, "maybe": maybe, "skew": skew, "secs": seconds, "latency": latency, "warned": warned,
		"count": counted, "plural": func(n int, one string) string { return words.Plural(uint64(max(0, n)), one) },
	})
	if err != nil {
		return err
	}
	own, err := assets.ReadFile("assets/certificate.css")
	if err != nil {
		return fmt.Errorf("read the page's style: %w", err)
	}
	return t.ExecuteTemplate(w, "certificate.tmpl", data{
		Certificate: c, Cores: c.Machine.Cores, Style: style, OwnStyle: template.CSS(own), Script: script, Rows: rows(c),
	})
}

// data is what the template shows.
type data struct {
	*Certificate
	Cores           int
	Style, OwnStyle template.CSS // ours, embedded
	Script          template.JS  // ours, embedded
	Rows            []row
}

// counted formats a count.
func counted(n any) string {
	switch n := n.(type) {
	case uint64:
		return words.Count(n)
	case int:
		return words.Count(uint64(max(0, n)))
	}
	return fmt.Sprint(n)
}

// Bar is a step and its place on the time axis of the upgrade.
type Bar struct {
	Step
	X, W string
	Bad  bool
}

// Bars are the steps with their places.
func (u *Upgrade) Bars() (list []Bar) {
	if len(u.Steps) == 0 {
		return nil
	}
	begin, end := u.Steps[0].BeganSeconds, u.Steps[0].BeganSeconds
	for _, s := range u.Steps {
		begin, end = min(begin, s.BeganSeconds), max(end, s.BeganSeconds+s.TookSeconds)
	}
	const least = 0.4 // so that a short step is visible
	for _, s := range u.Steps {
		whole := max(end-begin, 1e-9)
		w := max(least, 100*s.TookSeconds/whole)
		x := min(100*(s.BeganSeconds-begin)/whole, 100-w)
		list = append(list, Bar{Step: s, X: percentage(x), W: percentage(w), Bad: s.Result != StepDone})
	}
	return list
}

func percentage(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

// row is a scenario and its two sides.
type row struct {
	*Scenario
	Sides []sideRow
}

type sideRow struct {
	*Side
	When, Version string
	P99           float64
}

func rows(c *Certificate) (list []row) {
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		list = append(list, row{s, []sideRow{
			{&s.Before, "before", c.From.Kubernetes, s.Before.P99()}, {&s.After, "after", c.To.Kubernetes, s.After.P99()},
		}})
	}
	return list
}
