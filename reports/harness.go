package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Noise is how well one process of the harness ran, by its own measurement: "harness", which wrote the record, or a load worker.
type Noise struct {
	Of        string  `json:"of"`
	Pause     Seconds `json:"pauseSeconds"`     // the longest time in which it did not run
	Throttled Seconds `json:"throttledSeconds"` // the total time for which its CPU quota stopped it
	Steal     float64 `json:"steal"`            // share of its machine's CPUs that other machines got, in the worst second
	WaitCPU   float64 `json:"waitCPU"`          // share of the time in which something on its machine waited for a CPU
}

// noiseOf reads the samples of each process, in the order of their first sample, and how late watches delivered changes: nil if that
// was not measured. Older records have neither.
func noiseOf(events []history.Event) (parts []Noise, watches *Quantiles) {
	var late []time.Duration
	listened := make(map[string]time.Duration)
	waited := make(map[string]float64) // in nanoseconds
	for i := range events {
		switch e := &events[i]; {
		case e.Echo != nil && e.Echo.Error == "":
			late = append(late, e.T-e.Echo.Sent)
		case e.Noise != nil:
			parts = addNoise(parts, e.Noise)
			listened[e.Noise.Of] += e.T - e.Noise.Since
			waited[e.Noise.Of] += e.Noise.CPU * float64(e.T-e.Noise.Since)
		}
	}
	for i := range parts {
		if p := &parts[i]; listened[p.Of] > 0 {
			p.WaitCPU = waited[p.Of] / float64(listened[p.Of])
		}
	}
	slices.Sort(late)
	if q := quantilesOf(late); q.Max > 0 {
		watches = &q
	}
	return parts, watches
}

func addNoise(parts []Noise, s *history.Noise) []Noise {
	i := slices.IndexFunc(parts, func(p Noise) bool { return p.Of == s.Of })
	if i < 0 {
		i = len(parts)
		parts = append(parts, Noise{Of: s.Of})
	}
	p := &parts[i]
	p.Pause, p.Throttled, p.Steal = max(p.Pause, Seconds(s.Pause)), p.Throttled+Seconds(s.Throttled), max(p.Steal, s.Steal)
	return parts
}

// quantilesOf sorted durations, each the smallest that is not exceeded by so many.
func quantilesOf(sorted []time.Duration) Quantiles {
	if len(sorted) == 0 {
		return Quantiles{}
	}
	at := func(share float64) Seconds {
		return Seconds(sorted[min(len(sorted)-1, int(share*float64(len(sorted))))])
	}
	return Quantiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: at(1)}
}

// NoiseInWords is empty if the record has no measurement.
func (s *Scenario) NoiseInWords() string {
	var parts []string
	for _, p := range s.Noise {
		text := fmt.Sprintf("%s did not run for up to %s", p.Of, prose.Brief(p.Pause))
		if p.Throttled > 0 {
			text += fmt.Sprintf(", was throttled by its CPU quota for %s in total", prose.Brief(p.Throttled))
		}
		if p.Steal > 0 {
			text += fmt.Sprintf(", lost up to %s of its machine's CPUs to other machines", prose.Share(p.Steal))
		}
		parts = append(parts, text+fmt.Sprintf(", and something on its machine waited for a CPU %s of the time", prose.Share(p.WaitCPU)))
	}
	if w := s.WatchDelay; w != nil {
		parts = append(parts, fmt.Sprintf("watches delivered changes %s (p50) to %s (maximum) after they happened", prose.Brief(w.P50), prose.Brief(w.Max)))
	}
	return strings.Join(parts, "; ")
}

// APIAway is how long the API server was unavailable during faults of the control plane. It tells the load balancer in front of
// several control planes apart from Kubernetes itself.
type APIAway struct {
	Balancer AwayBy `json:"balancer"` // through the load balancer, as clients connect
	Own      AwayBy `json:"own"`      // by connections to each remaining API server; the worst of them
	// The same while the fault was reverted.
	BalancerReturning AwayBy `json:"-"`
	OwnReturning      AwayBy `json:"-"`

	balancer string // what it is called in words
}

// AwayBy is what new connections to one address saw, or to several of a kind: the worst of them, and the sum of their requests.
type AwayBy struct {
	// Away is the longest time without a good response. Through a load balancer it is also the time in which some responses failed.
	Away   Seconds `json:"awaySeconds"`
	Before Seconds `json:"beforeSeconds"` // the longest time from one good response to the next before the fault
	Asked  int     `json:"asked"`
	Failed int     `json:"failed"`

	addresses int
}

// apiAwayOf reads what the faults measured; nil unless both ways were.
func apiAwayOf(run history.Run) *APIAway {
	var a APIAway
	a.balancer = "the load balancer"
	if run.Header.Cluster.Provider == "kind" {
		a.balancer = "kind's load balancer"
	}
	if program := run.Header.Cluster.Balancer; program != "" {
		a.balancer += " (" + program + ")"
	}
	for _, r := range run.Reaches() {
		if r.Way == history.Control {
			continue
		}
		by, returning, away := &a.Own, &a.OwnReturning, r.Longest
		if r.Way == history.Balanced {
			by, returning, away = &a.Balancer, &a.BalancerReturning, max(r.Longest, r.Failing)
		}
		if r.Returning {
			by = returning
		}
		by.addresses++
		by.Asked, by.Failed = by.Asked+r.Asked, by.Failed+r.Failed
		by.Away, by.Before = max(by.Away, Seconds(away)), max(by.Before, Seconds(r.Before))
	}
	if a.Own.addresses == 0 || a.Balancer.addresses == 0 {
		return nil
	}
	return &a
}

// String is the whole in words.
func (a *APIAway) String() string {
	text := fmt.Sprintf("through %s %s, Kubernetes' own %s", a.balancer, a.Balancer, a.Own)
	if a.BalancerReturning.addresses > 0 && a.OwnReturning.addresses > 0 {
		text += fmt.Sprintf("; while the fault was reverted %s and %s", prose.Brief(a.BalancerReturning.Away), prose.Brief(a.OwnReturning.Away))
	}
	return text
}

// String is a time, and on how many new connections it was seen.
func (b AwayBy) String() string {
	return fmt.Sprintf("%s (%s of %s new connections had no good answer; before the fault up to %s from one to the next)",
		prose.Brief(b.Away), prose.Thousands(uint64(b.Failed)), prose.Thousands(uint64(b.Asked)), prose.Brief(b.Before))
}
