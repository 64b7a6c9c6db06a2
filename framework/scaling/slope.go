package scaling

import "math"

// Slope is the exponent with which a cost grows: 1 if it doubles when the size does, 2 if it becomes four times as much. It is the slope of
// a straight line that is fitted to the logarithms of both. It is NaN if there are not two different sizes with a positive cost.
func Slope(sizes, costs []float64) float64 {
	var n, sumX, sumY, sumXX, sumXY float64
	for i := range sizes {
		if !(sizes[i] > 0) || !(costs[i] > 0) || math.IsInf(sizes[i]+costs[i], 0) {
			continue
		}
		x, y := math.Log(sizes[i]), math.Log(costs[i])
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	spread := n*sumXX - sumX*sumX
	if n < 2 || spread < 1e-9 {
		return math.NaN()
	}
	return (n*sumXY - sumX*sumY) / spread
}
