package scaling

import (
	"cmp"
	"math"
	"slices"
)

// Figure is a number of a measurement whose growth is of interest.
type Figure[M any] struct {
	Name string
	Unit string
	Of   func(M) float64
}

// Course is a figure at each size that was measured, in the order of the measurements. A value that is not positive was not measured.
type Course struct {
	Name, Unit    string
	Sizes, Values []float64
}

// Slope is the exponent with which the figure grows; see Slope.
func (c Course) Slope() float64 { return Slope(c.Sizes, c.Values) }

// Point is what a figure was at a size.
type Point struct{ Size, Value float64 }

// points are what was measured, the smallest size first. A log-log chart has no place for other values.
func (c Course) points() (list []Point) {
	for i, size := range c.Sizes {
		if v := c.Values[i]; positive(size) && positive(v) {
			list = append(list, Point{size, v})
		}
	}
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Compare(a.Size, b.Size) })
	return list
}

// positive reports whether a number has a logarithm that can be drawn.
func positive(n float64) bool { return n > 0 && !math.IsInf(n, 0) }

// coursesOf are the courses of figures over measurements.
func coursesOf[M any](all []M, size func(M) float64, figures []Figure[M]) (list []Course) {
	for _, f := range figures {
		c := Course{Name: f.Name, Unit: f.Unit}
		for _, m := range all {
			c.Sizes, c.Values = append(c.Sizes, size(m)), append(c.Values, f.Of(m))
		}
		list = append(list, c)
	}
	return list
}
