package index

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/page"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// FileName is the name of the page, in the folder that it is about.
const FileName = "index.html"

//go:embed assets
var assets embed.FS

// Replace writes the page into the folder that the nights are from, completely or not at all.
func Replace(root string, all nights.Nights) error {
	if err := reports.Replace(filepath.Join(root, FileName), all, Write); err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	return nil
}

// Write writes the page. Its links are relative to the folder that the nights are from.
func Write(w io.Writer, all nights.Nights) error {
	t, style, _, err := page.Parse(assets, "assets/index.tmpl", nil)
	if err != nil {
		return err
	}
	own, err := assets.ReadFile("assets/index.css")
	if err != nil {
		return fmt.Errorf("read the page's style: %w", err)
	}
	return t.ExecuteTemplate(w, "index.tmpl", newPage(all, style, template.CSS(own)))
}

// data is what the template shows.
type data struct {
	Style, OwnStyle template.CSS // ours, embedded
	Nights          nights.Nights
	Runs            int
	Certificates    int
	Troubled        []head
	Absurd          []head
	Trend           trend.Trend
	Last            int
	Tables          []table
	Figures         []nights.Figure
}

func newPage(all nights.Nights, style, own template.CSS) data {
	p := data{Style: style, OwnStyle: own, Nights: all, Last: trend.DefaultLast, Trend: trend.Of(all, trend.DefaultLast)}
	for i := range all.List {
		n := &all.List[i]
		if n.Certificate {
			p.Certificates++
		} else {
			p.Runs++
		}
		if n.Trouble != "" {
			p.Troubled = append(p.Troubled, head{Night: n})
		}
		if len(n.Absurd) > 0 {
			p.Absurd = append(p.Absurd, head{Night: n})
		}
	}
	p.Tables = tablesOf(all, p.Trend)
	for _, i := range drawn {
		p.Figures = append(p.Figures, nights.Figures[i])
	}
	return p
}

// SeveralLines is whether a change must say on which line it is.
func (d data) SeveralLines() bool { return len(d.Tables) > 1 }

// Link is the address of the night.
func (h head) Link() string { return link(h.Night) }

// link is the address of what a reader can open of a night: its page, or its folder.
func link(n *nights.Night) string {
	return (&url.URL{Path: cmp.Or(n.Page, n.Dir+"/")}).String()
}

// linkTo is the address of a scenario in a night.
func linkTo(n *nights.Night, scenario string) string {
	switch {
	case !n.Anchors:
		return link(n)
	case n.Certificate && scenario == nights.Upgrade:
		return link(n) + "#upgrade"
	}
	return link(n) + "#" + page.Anchor(scenario)
}
