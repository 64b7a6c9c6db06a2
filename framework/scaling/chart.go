package scaling

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"text/template"
)

// The places of a chart, in pixels. A panel is a plot and the names of its lines beside it.
const (
	plotWidth, plotHeight   = 236, 230
	panelWidth, panelHeight = 510, 285
	plotLeft, plotTop       = 56, 58
	beside                  = plotWidth + 16
	labelHeight             = 15
	panelsAcross            = 2
	classes                 = 6 // colours
)

//go:embed assets/chart.svg.tmpl
var chartText string

var chartTemplate = template.Must(template.New("chart").Parse(chartText))

// Chart is an SVG image of how figures grow with a size, such as pods. Both axes are logarithmic, so that a figure that grows in proportion is
// parallel to the dashed line; each line has its slope after its name. Figures of one unit share a panel. It is an error if nothing was
// measured.
func Chart(size string, courses []Course) ([]byte, error) {
	c := chart{Title: "Growth with " + size + ": both axes are logarithmic, the dashed line has slope 1, and each name is followed by the slope of its line", Width: panelsAcross * panelWidth}
	for _, same := range byUnit(courses) {
		p := panelOf(size, same)
		p.X = plotLeft + len(c.Panels)%panelsAcross*panelWidth
		p.Y = plotTop + len(c.Panels)/panelsAcross*panelHeight
		c.Panels = append(c.Panels, p)
	}
	if len(c.Panels) == 0 {
		return nil, errors.New("draw a chart: nothing was measured")
	}
	c.Height = plotTop - 20 + (len(c.Panels)+panelsAcross-1)/panelsAcross*panelHeight
	var out bytes.Buffer
	if err := chartTemplate.Execute(&out, c); err != nil {
		return nil, fmt.Errorf("draw a chart: %w", err)
	}
	return out.Bytes(), nil
}

type chart struct {
	Title         string
	Width, Height int
	Panels        []panel
}

func (chart) PlotWidth() int  { return plotWidth }
func (chart) PlotHeight() int { return plotHeight }
func (chart) Below() int      { return plotHeight + 16 }
func (chart) Beside() int     { return beside }

// byUnit are the courses that were measured, those of one unit together.
func byUnit(courses []Course) (groups [][]Course) {
	for _, c := range courses {
		if len(c.points()) == 0 {
			continue
		}
		at := slices.IndexFunc(groups, func(g []Course) bool { return g[0].Unit == c.Unit })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}
