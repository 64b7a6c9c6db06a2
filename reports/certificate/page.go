package certificate

import (
	"embed"
	"html/template"
	"io"
	"strconv"

	"github.com/holdfast-ha/holdfast/reports/page"
)

var (
	//go:embed assets/certificate.tmpl
	templates embed.FS
	//go:embed assets/certificate.css
	ownStyle template.CSS
)

// WriteHTML writes certificate.html: one page that needs neither a network nor a server. It looks like the report of a run.
func WriteHTML(w io.Writer, c *Certificate) error {
	t, style, script, err := page.Parse(templates, "assets/certificate.tmpl", template.FuncMap{
		"look": look, "share": share, "maybe": maybe, "skew": skew, "secs": seconds, "latency": latency, "warned": warned,
	})
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, "certificate.tmpl", data{c, style, ownStyle, script, rows(c)})
}

// data is what the template shows.
type data struct {
	*Certificate
	Style, OwnStyle template.CSS // ours, embedded
	Script          template.JS  // ours, embedded
	Rows            []row
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
}

func rows(c *Certificate) (list []row) {
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		list = append(list, row{s, []sideRow{{&s.Before, "before", c.From.Kubernetes}, {&s.After, "after", c.To.Kubernetes}}})
	}
	return list
}
