package trend

import "math"

// Measured are the figures that the scenario has, by their names.
func (s *Scenario) Measured() map[string]float64 {
	has := make(map[string]float64)
	for i, f := range Figures {
		if v := s.figures[i]; !math.IsNaN(v) {
			has[f.Name] = v
		}
	}
	return has
}
