package scaling

import (
	"cmp"
	"math"
	"slices"
)

// figure is a number of a measurement whose growth is of interest.
type figure[M any] struct {
	name, unit string
	of         func(M) float64
}

// Course is a figure at each size that was measured, in the order of the measurements. A value that is not positive was not measured.
type Course struct {
	Name, Unit    string
	Sizes, Values []float64
}

// point is what a figure was at a size.
type point struct{ size, value float64 }

// points are what was measured, the smallest size first. A log-log chart has no place for other values.
func (c Course) points() (list []point) {
	for i, size := range c.Sizes {
		if v := c.Values[i]; positive(size) && positive(v) {
			list = append(list, point{size, v})
		}
	}
	slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(a.size, b.size) })
	return list
}

// positive reports whether a number has a logarithm that can be drawn.
func positive(n float64) bool { return n > 0 && !math.IsInf(n, 0) }

// coursesOf are the courses of figures over measurements.
func coursesOf[M any](all []M, size func(M) float64, figures []figure[M]) (list []Course) {
	for _, f := range figures {
		c := Course{Name: f.name, Unit: f.unit}
		for _, m := range all {
			c.Sizes, c.Values = append(c.Sizes, size(m)), append(c.Values, f.of(m))
		}
		list = append(list, c)
	}
	return list
}
