package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// panel is the part of a chart for one unit.
type panel struct {
	X, Y       int
	Unit       string
	Across, Up []tick
	One        reference
	Lines      []line
}

// reference is a line of slope 1.
type reference struct{ X1, Y1, X2, Y2 float64 }

// line is a figure.
type line struct {
	Class    int
	Path, To string // To leads from its last point to its label
	Label    string
	LabelY   float64
	Dots     []dot
	end      dot
}

// dot is a measurement.
type dot struct {
	X, Y float64
	Text string
}

// unitWords are what units are called in a chart; others are called as they are.
var unitWords = map[string]string{"": "number", "s": "seconds", "ms": "milliseconds"}

// panelOf draws courses of one unit, each of which has a point.
func panelOf(size string, courses []Course) panel {
	var sizes, values []float64
	for _, c := range courses {
		for _, p := range c.points() {
			sizes, values = append(sizes, p.size), append(values, p.value)
		}
	}
	x, y := axisOf(sizes, 0, plotWidth), axisOf(values, plotHeight, 0)
	unit := courses[0].Unit
	p := panel{Unit: unit, Across: x.ticks(), Up: y.ticks(), One: one(x, y)}
	if words, is := unitWords[unit]; is {
		p.Unit = words
	}
	for i, c := range courses {
		p.Lines = append(p.Lines, lineOf(size, c, i%classes, x, y))
	}
	p.label()
	return p
}

// one is the line of slope 1 through the middle of a plot, as far as it is in it.
func one(x, y axis) reference {
	half := min(x.high-x.low, y.high-y.low) / 2
	midX, midY := (x.low+x.high)/2, (y.low+y.high)/2
	return reference{tenth(x.at(midX - half)), tenth(y.at(midY - half)), tenth(x.at(midX + half)), tenth(y.at(midY + half))}
}

// lineOf draws a course: a dot for each measurement, and a line through their means.
func lineOf(size string, c Course, class int, x, y axis) line {
	l := line{Class: class, Label: c.Name + " " + slopeText(c.Slope())}
	for _, p := range c.points() {
		text := fmt.Sprintf("%s at %s %s: %s", c.Name, grouped(p.size), size, strings.TrimSpace(number(p.value)+" "+c.Unit))
		l.Dots = append(l.Dots, dot{x.pixel(p.size), y.pixel(p.value), text})
	}
	pen := "M"
	for _, p := range means(c.points()) {
		l.end = dot{X: x.pixel(p.size), Y: y.pixel(p.value)}
		l.Path += fmt.Sprintf("%s%v %v", pen, l.end.X, l.end.Y)
		pen = "L"
	}
	return l
}

// means are the geometric means of the values at each size; points are sorted by size.
func means(points []point) (list []point) {
	for len(points) > 0 {
		n, sum := 0, 0.0
		for ; n < len(points) && points[n].size == points[0].size; n++ {
			sum += math.Log(points[n].value)
		}
		list = append(list, point{points[0].size, math.Exp(sum / float64(n))})
		points = points[n:]
	}
	return list
}

// label places the names of the lines beside the plot, each as near to the end of its line as the others leave room.
func (p *panel) label() {
	order := make([]*line, len(p.Lines))
	for i := range p.Lines {
		order[i] = &p.Lines[i]
	}
	slices.SortStableFunc(order, func(a, b *line) int { return cmp.Compare(a.end.Y, b.end.Y) })
	for i, l := range order {
		l.LabelY = l.end.Y
		if i > 0 {
			l.LabelY = max(l.LabelY, order[i-1].LabelY+labelHeight)
		}
	}
	lowest := float64(plotHeight)
	for _, l := range slices.Backward(order) {
		l.LabelY = min(l.LabelY, lowest)
		lowest = l.LabelY - labelHeight
		l.To = fmt.Sprintf("M%v %vL%d %v", l.end.X, l.end.Y, beside-4, l.LabelY)
	}
}

// grouped writes a whole number with commas between its thousands.
func grouped(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
