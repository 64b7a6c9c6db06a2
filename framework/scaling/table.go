package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// PodTable is a table in Markdown: a row for each measurement, the smallest first, and the slope of each figure over the number of pods. The
// measurements are of one scenario, with the same timings: a slope over several would be that of none.
func PodTable(all []Measurement) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b Measurement) int {
		return cmp.Or(cmp.Compare(a.Pods, b.Pods), cmp.Compare(a.Nodes, b.Nodes), a.At.Compare(b.At))
	})
	rows := make([][]string, len(all))
	for i, m := range all {
		rows[i] = []string{grouped(float64(m.Nodes)), grouped(float64(m.Pods)), cmp.Or(m.Outcome, "none"), strconv.Itoa(m.Gaps)}
	}
	return table([]string{"nodes", "pods", "verdict", "gaps"}, rows, []string{"", "slope over pods", "", ""}, PodCourses(all))
}

// table is a table in Markdown. Each row has cells of its own, and then the value of each course; the last row has the slopes.
func table(heads []string, rows [][]string, last []string, courses []Course) string {
	var text strings.Builder
	line := func(own []string, of func(Course) string) {
		for _, cell := range own {
			text.WriteString("| " + cell + " ")
		}
		for _, c := range courses {
			text.WriteString("| " + of(c) + " ")
		}
		text.WriteString("|\n")
	}
	line(heads, Course.title)
	text.WriteString(strings.Repeat("| ---: ", len(heads)+len(courses)) + "|\n")
	for i, row := range rows {
		line(row, func(c Course) string { return number(c.Values[i]) })
	}
	line(last, func(c Course) string { return slopeText(c.Slope()) })
	return text.String()
}

// title is the name of a figure, with its unit.
func (c Course) title() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + ", " + c.Unit
}

// slopeText writes a slope; a dash: it is not known.
func slopeText(slope float64) string {
	if math.IsNaN(slope) {
		return "–"
	}
	return fmt.Sprintf("%.2f", slope)
}

// number writes three significant digits, and whole numbers from 100 on. What was not measured is a dash.
func number(n float64) string {
	switch {
	case n == 0:
		return "–"
	case n >= 100:
		return grouped(n)
	}
	return fmt.Sprintf("%.3g", n)
}
