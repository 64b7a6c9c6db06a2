package scaling

import (
	"fmt"
	"math"
	"strconv"
)

// axis places logarithms between two ends of a chart, in pixels.
type axis struct{ low, high, from, to float64 }

// margin is what an axis has beyond its values on each side, as a share of them; leastDecades is what it has at least, so that a figure that
// does not grow is a level line.
const (
	margin       = 0.06
	leastDecades = 1
)

// axisOf is the axis of positive values.
func axisOf(values []float64, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, math.Log10(v)), max(high, math.Log10(v))
	}
	more := max(margin*(high-low), (leastDecades-(high-low))/2)
	return axis{low - more, high + more, from, to}
}

// at is where a logarithm is.
func (a axis) at(log float64) float64 {
	return a.from + (log-a.low)/(a.high-a.low)*(a.to-a.from)
}

// pixel is where a value is, to a tenth of a pixel.
func (a axis) pixel(value float64) float64 { return tenth(a.at(math.Log10(value))) }

// tick is a mark of an axis.
type tick struct {
	At   float64
	Text string
}

// fewTicks is up to how many powers of ten have marks between them.
const fewTicks = 2

// ticks are the powers of ten of an axis, and where there are few, twice and five times each.
func (a axis) ticks() (list []tick) {
	first, last := int(math.Floor(a.low)), int(math.Floor(a.high))
	factors := []float64{1}
	if last-first <= fewTicks {
		factors = []float64{1, 2, 5}
	}
	for power := first; power <= last; power++ {
		for _, f := range factors {
			log := float64(power) + math.Log10(f)
			if log >= a.low && log <= a.high {
				list = append(list, tick{tenth(a.at(log)), short(f * math.Pow10(power))})
			}
		}
	}
	return list
}

// short writes the number of a mark: 20k for 20,000.
func short(n float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.of*0.999 {
			return fmt.Sprintf("%.3g%s", n/unit.of, unit.name)
		}
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

func tenth(n float64) float64 { return math.Round(10*n) / 10 }
