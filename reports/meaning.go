package reports

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// Meaning says what the requests of a scenario prove.
func (s *Scenario) Meaning() string {
	if s.Result == NotBegun {
		return ""
	}
	return s.seenByClients() + s.maskedByGateway()
}

// maskedByGateway says which failures clients did not see because a gateway tried again; empty without a gateway.
func (s *Scenario) maskedByGateway() string {
	var tries, masked uint64
	for i := range s.Lanes {
		tries += s.Lanes[i].GatewayTries
		masked += s.Lanes[i].MaskedByGateway
	}
	own := ""
	if g := s.Gateway; g != nil {
		own = fmt.Sprintf(" By its own count the gateway received %s, made %s, masked %s and failed %s.", words.Plural(g.Requests, "request"),
			words.Plural(g.Tries, "attempt"), words.Count(g.Masked), words.Count(g.Failed))
	}
	if tries == 0 {
		return own
	}
	return fmt.Sprintf(" The gateway masked failures of %s, which succeeded only because it tried another upstream; it made %s for all requests that were answered.",
		words.Plural(masked, "request"), words.Plural(tries, "attempt")) + own
}

func (s *Scenario) seenByClients() string {
	n, failed := s.Sent(), s.Failed()
	events := uint64(s.Disruptions.Total())
	over := fmt.Sprintf("over %s (%s, %s)", words.Plural(events, "disruption event"),
		words.Plural(uint64(s.Disruptions.PodTerminations), "pod termination"),
		words.Plural(uint64(s.Disruptions.NodeLosses), "node loss"))
	switch {
	case n == 0 && len(s.Lanes) == 0:
		return "This scenario has no load. It is judged by scheduling and evictions."
	case n == 0:
		return "No request was sent."
	case failed > 0:
		return fmt.Sprintf("%s of %s requests failed (%s) %s.", words.Count(failed), words.Count(n),
			words.Percent(float64(failed)/float64(n)), over)
	}
	bound, _ := s.Bounds95()
	text := fmt.Sprintf("0 of %s requests failed %s. 0 of N is not zero: with 95 %% confidence at most %s of such requests fail",
		words.Count(n), over, words.Percent(*bound))
	if len(s.Lanes) > 1 {
		text += " on a lane"
	}
	text += ", if they are independent"
	if events > 0 {
		text += fmt.Sprintf(", and at most %s of such disruptions, if they are independent too, fail a request", words.Percent(stats.UpperBound95(events)))
	}
	return text + "."
}
