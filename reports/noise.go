package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Noise is how well the harness itself ran during a scenario, by its own measurement.
type Noise struct {
	// Parts are the process that wrote the record, and the load workers, in the order in which they were heard.
	Parts []NoisePart
	// Watches is how much later than they happened changes came to the record. P99 is the worst of fewer than a hundred.
	Watches Quantiles
}

// NoisePart is one process of the harness.
type NoisePart struct {
	Of        string
	Pause     time.Duration // the longest that it stood still
	Throttled time.Duration // in all
	Steal     float64       // share of its machine's processors given to others: the worst second
	WaitCPU   float64       // share of time in which something on its machine waited for a processor, of the whole
}

// noiseOf reads the samples. A record that is older than they are has none.
func noiseOf(events []history.Event) (n Noise) {
	var late []time.Duration
	listened := make(map[string]time.Duration)
	waited := make(map[string]float64) // in nanoseconds
	for i := range events {
		switch e := &events[i]; {
		case e.Echo != nil && e.Echo.Error == "":
			late = append(late, e.T-e.Echo.Sent)
		case e.Noise != nil:
			n.part(e.Noise)
			listened[e.Noise.Of] += e.T - e.Noise.Since
			waited[e.Noise.Of] += e.Noise.CPU * float64(e.T-e.Noise.Since)
		}
	}
	for i := range n.Parts {
		if p := &n.Parts[i]; listened[p.Of] > 0 {
			p.WaitCPU = waited[p.Of] / float64(listened[p.Of])
		}
	}
	slices.Sort(late)
	n.Watches = quantilesOf(late)
	return n
}

// part adds a sample.
func (n *Noise) part(s *history.Noise) {
	i := slices.IndexFunc(n.Parts, func(p NoisePart) bool { return p.Of == s.Of })
	if i < 0 {
		i = len(n.Parts)
		n.Parts = append(n.Parts, NoisePart{Of: s.Of})
	}
	p := &n.Parts[i]
	p.Pause, p.Throttled, p.Steal = max(p.Pause, s.Pause), p.Throttled+s.Throttled, max(p.Steal, s.Steal)
}

// quantilesOf sorted durations, each the smallest that is not exceeded by so many.
func quantilesOf(sorted []time.Duration) Quantiles {
	if len(sorted) == 0 {
		return Quantiles{}
	}
	at := func(share float64) time.Duration { return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))] }
	return Quantiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: sorted[len(sorted)-1]}
}

// String says it in words; empty for a record that does not tell.
func (n Noise) String() string {
	var parts []string
	for _, p := range n.Parts {
		text := fmt.Sprintf("%s stood still for %s at the most", p.Of, brief(p.Pause))
		if p.Throttled > 0 {
			text += fmt.Sprintf(", kept from running by its quota for %s in all", brief(p.Throttled))
		}
		if p.Steal > 0 {
			text += fmt.Sprintf(", with up to %s of its machine's processors given to others", percent(p.Steal))
		}
		parts = append(parts, text+fmt.Sprintf(", on a machine where something waited for a processor %s of the time", percent(p.WaitCPU)))
	}
	if n.Watches.Max > 0 {
		parts = append(parts, fmt.Sprintf("changes came to the record %s (p50) to %s (at the most) after they happened", brief(n.Watches.P50), brief(n.Watches.Max)))
	}
	return strings.Join(parts, "; ")
}
