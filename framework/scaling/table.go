package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Table is a table in Markdown: a row for each measurement, the smallest first, and the slope of each figure over the number of pods.
func Table(all []Measurement) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b Measurement) int {
		return cmp.Or(cmp.Compare(a.Pods, b.Pods), cmp.Compare(a.Nodes, b.Nodes), a.At.Compare(b.At))
	})
	var text strings.Builder
	text.WriteString("| nodes | pods | verdict | gaps |")
	for _, f := range Figures() {
		text.WriteString(" " + f.Name)
		if f.Unit != "" {
			text.WriteString(", " + f.Unit)
		}
		text.WriteString(" |")
	}
	text.WriteString("\n" + strings.Repeat("| ---: ", 4+len(Figures())) + "|\n")
	for _, m := range all {
		fmt.Fprintf(&text, "| %d | %d | %s | %d |", m.Nodes, m.Pods, cmp.Or(m.Outcome, "none"), m.Gaps)
		for _, f := range Figures() {
			text.WriteString(" " + number(f.Of(m)) + " |")
		}
		text.WriteString("\n")
	}
	text.WriteString("| | slope over pods | | |")
	for _, f := range Figures() {
		sizes, costs := make([]float64, len(all)), make([]float64, len(all))
		for i, m := range all {
			sizes[i], costs[i] = float64(m.Pods), f.Of(m)
		}
		slope := "–"
		if s := Slope(sizes, costs); !math.IsNaN(s) {
			slope = fmt.Sprintf("%.2f", s)
		}
		text.WriteString(" " + slope + " |")
	}
	return text.String() + "\n"
}

// number writes three significant digits, and whole numbers from 100 on. What was not measured is a dash.
func number(n float64) string {
	switch {
	case n == 0:
		return "–"
	case n >= 100:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.3g", n)
}
