package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// drawn are the figures that have a chart, by their place in nights.Figures.
var drawn = placesOf("recovery", "p99", "failed", "blind", "missing evidence")

func placesOf(names ...string) (list []int) {
	for _, name := range names {
		list = append(list, slices.IndexFunc(nights.Figures, func(f nights.Figure) bool { return f.Name == name }))
	}
	return list
}

// The size of a chart, in pixels, and the most points that it has. A point for several nights shows the worst of them.
const (
	width, height = 116, 24
	mostPoints    = 90
)

// chart is the course of a figure.
type chart struct {
	Path  string // of the line; empty without a value
	Words string // for readers who do not see it
	Last  string // value
	Range string // of all values; empty if they are the same
	// Moved says how the figure has moved, if it has; Worse, that this is a regression.
	Moved string
	Worse bool
}

// chartOf draws a figure of a scenario; course has nil for nights without the scenario.
func chartOf(figure int, course []*nights.Scenario, found trend.Trend, line string) chart {
	f := nights.Figures[figure]
	values := make([]float64, len(course))
	last, n, name := math.NaN(), 0, ""
	low, high := math.Inf(1), math.Inf(-1)
	for i, s := range course {
		values[i] = math.NaN()
		if s == nil {
			continue
		}
		name = s.Name
		if v := s.Figures[figure]; !math.IsNaN(v) {
			values[i], last = v, v
			low, high, n = min(low, v), max(high, v), n+1
		}
	}
	if n == 0 {
		return chart{}
	}
	c := chart{Path: draw(thin(values), low, high), Last: f.Text(last)}
	if high > low {
		c.Range = f.Text(low) + " to " + f.Text(high)
	}
	c.Words = fmt.Sprintf("%s in %d of %d nights: %s, last %s", f.Name, n, len(course), cmp.Or(c.Range, "always the same"), c.Last)
	for _, m := range found.Changes {
		if m.Scenario == name && m.Line == line && m.Figure == f.Name {
			c.Moved = fmt.Sprintf("%s to %s since %s", f.Text(m.Before.Value), f.Text(m.After.Value), m.Since.At.UTC().Format("2006-01-02"))
			c.Worse = m.Worse
		}
	}
	return c
}

// thin takes the worst of as many neighbours as it takes to have at most mostPoints.
func thin(values []float64) (list []float64) {
	each := (len(values) + mostPoints - 1) / mostPoints
	for some := range slices.Chunk(values, max(1, each)) {
		worst := math.NaN()
		for _, v := range some {
			if !(v <= worst) && !math.IsNaN(v) {
				worst = v
			}
		}
		list = append(list, worst)
	}
	return list
}

// draw is the path of a line through the values, with a gap where there is none.
func draw(values []float64, low, high float64) string {
	const edge = 3 // so that round ends are not cut off
	var b strings.Builder
	pen := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		x, y := width/2.0, height/2.0
		if len(values) > 1 {
			x = edge + float64(i)*(width-2*edge)/float64(len(values)-1)
		}
		if high > low {
			y = edge + (high-v)/(high-low)*(height-2*edge)
		}
		b.WriteString(pen + strconv.Itoa(int(math.Round(x))) + " " + strconv.Itoa(int(math.Round(y))))
		if pen == "M" {
			b.WriteString("h2") // so that a point without neighbours is seen, too
		}
		pen = "L"
	}
	return b.String()
}
