package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ClusterTable is a table in Markdown: a row for each measurement, the smallest first, and the slopes of each group. The measurements are of one
// scenario, with the same timings: a slope over several would be that of none.
func ClusterTable(all []Measurement) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b Measurement) int {
		return cmp.Or(cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Pods, b.Pods), a.At.Compare(b.At))
	})
	rows := make([][]string, len(all))
	for i, m := range all {
		rows[i] = []string{grouped(float64(m.Nodes)), grouped(float64(m.Pods)), cmp.Or(m.Outcome, "none"), strconv.Itoa(m.Gaps)}
	}
	var slopes []slopeLine
	for _, g := range Groups(all) {
		slopes = append(slopes, slopeLine{[]string{"slope over " + g.Size + " with " + g.Fixed, "", "", ""}, g.Courses()})
	}
	return table([]string{"nodes", "pods", "verdict", "gaps"}, rows, clusterCourses(all, func(m Measurement) int { return m.Pods }), slopes...)
}

// slopeLine is a line of a table with the slope of each course, after cells of its own.
type slopeLine struct {
	own     []string
	courses []Course
}

// table is a table in Markdown. Each row has cells of its own, and then the value of each course; the last rows have slopes.
func table(heads []string, rows [][]string, courses []Course, slopes ...slopeLine) string {
	var text strings.Builder
	line := func(own []string, courses []Course, of func(Course) string) {
		for _, cell := range own {
			text.WriteString("| " + cell + " ")
		}
		for _, c := range courses {
			text.WriteString("| " + of(c) + " ")
		}
		text.WriteString("|\n")
	}
	line(heads, courses, Course.title)
	text.WriteString(strings.Repeat("| ---: ", len(heads)+len(courses)) + "|\n")
	for i, row := range rows {
		line(row, courses, func(c Course) string { return number(c.Values[i]) })
	}
	for _, s := range slopes {
		line(s.own, s.courses, func(c Course) string { return slopeText(c.Slope()) })
	}
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
	if math.Abs(slope) < 0.005 {
		slope = 0 // without a minus, which would depend on how a processor rounds
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
