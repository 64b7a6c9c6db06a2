package reports

import (
	"strings"

	"github.com/holdfast-ha/holdfast/reports/words"
)

// Figures are the numbers of a row of the overview, as text; a dash if there is no number.
type Figures struct {
	Requests, Failed, Disruptions, Bound, P99, Lag string
}

// Figures are the numbers of the scenario in the overview.
func (s *Scenario) Figures() Figures {
	f := Figures{Requests: "–", Failed: "–", Disruptions: "–", Bound: "–", P99: "–", Lag: "–"}
	if len(s.Lanes) > 0 {
		f.Requests, f.Failed = words.Count(s.Sent()), words.Count(s.Failed())
		f.Failed += strings.TrimSuffix(asPredicted(s.Failed(), s.Predicted()), ",")
		f.Disruptions = words.Count(uint64(s.Disruptions.Total()))
	}
	if bound, _ := s.Bounds95(); bound != nil {
		f.Bound = words.Percent(*bound)
	}
	if p99 := s.P99(); p99 > 0 {
		f.P99 = words.Brief(p99)
	}
	if s.Sent() > 0 {
		lag := s.Lag()
		f.Lag = words.Brief(lag.P50) + ", " + words.Brief(lag.P99) + ", " + words.Brief(lag.Max)
	}
	return f
}
