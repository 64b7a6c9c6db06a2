package scaling

import "math"

// Slope is the exponent with which the figure grows: 1 if it doubles when the size does, 2 if it becomes four times as much. It is the slope of
// a straight line that is fitted to the logarithms of both. It is NaN if there are not two different sizes with a positive value.
func (c Course) Slope() float64 {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, p := range c.points() {
		x, y := math.Log(p.size), math.Log(p.value)
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	spread := n*sumXX - sumX*sumX
	if n < 2 || spread < 1e-9 {
		return math.NaN()
	}
	return (n*sumXY - sumX*sumY) / spread
}
