// Package fit measures what the machine of a cluster's nodes carries beside the cluster, before any load, and chooses what scenarios may ask of it.
//
// It judges nothing, and on a machine that carries what scenarios ask for it changes nothing.
package fit

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// step is what a machine must carry at least so that requests are sent at a share of the scenarios' own rates. Each request takes processor time
// of the load worker, the network, and one or two servers; in the trial it is one small answer.
type step struct{ processors, requests, rate float64 }

// steps are in descending order. Beside a cluster of five to eight nodes, two calm cores carried 1.6 to 1.9 processors and 4,300 to 5,300 requests a
// second in 12 runs; beside compilers 0.9 and 2,700, in a run in which all 23 scenarios were judged. With a quota of half they carried 0.77 and
// 2,100, and all were judged; with a third 0.46 to 0.57 and 660 to 1,140, and half of the rate was carried. With a quarter it is 0.30 and 830, and
// with a sixth 0.12 to 0.21 and 460 to 570: the nodes want all processors nearly all the time, and requests go out in bursts at the whole and at
// half of the rate.
var steps = []step{{0.68, 800, 1}, {0.35, 400, 0.5}, {0.26, 150, 0.25}}

const (
	// slowestStart is how long a pod may take to start. A scenario starts dozens.
	slowestStart = 30 * time.Second
	// strained is a time for a pod's start from which nodes may miss their heartbeats: calm machines took 0.3 to 0.8 s.
	strained = 8 * time.Second
	// patient is the grace period of nodes on a machine that carries less than scenarios ask for. It is not measured: longer would make scenarios of
	// lost nodes longer.
	patient = 20 * time.Second
)

// Carries reports whether a machine carries the least that holdfast needs.
func Carries(m runfolder.Fit) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return carries(m, s) })
}

func carries(m runfolder.Fit, s step) bool {
	return m.Processors >= s.processors && m.Requests >= s.requests && m.PodStart <= slowestStart
}

// Choose completes a measurement with what scenarios may ask of the machine. rate is that of --load-rate, with which no machine is refused; 0: not
// given. The error is a *TooSlowError.
func Choose(m runfolder.Fit, rate float64) (runfolder.Fit, error) {
	i := slices.IndexFunc(steps, func(s step) bool { return carries(m, s) })
	switch {
	case i < 0 && rate == 0:
		return m, &TooSlowError{m}
	case i < 0:
		i = len(steps) - 1
	}
	m.Rate = steps[i].rate
	if i > 0 {
		m.LoadWorkers = 1
	}
	if i > 0 || m.PodStart > strained {
		m.NodeMonitorGrace = patient
	}
	if rate > 0 {
		m.Rate, m.LoadWorkers = rate, 0
	}
	return m, nil
}

// TooSlowError means that a machine does not carry the least that holdfast needs.
type TooSlowError struct{ Measured runfolder.Fit }

func (e *TooSlowError) Error() string {
	least, m := steps[len(steps)-1], e.Measured
	return fmt.Sprintf("this machine is too slow: beside an idle cluster, holdfast needs at least %.2g of a processor, %.0f small requests a second and a pod's start within %s; "+
		"this machine gives the nodes %.2g of a processor and %.0f requests a second, and a pod starts in %s; "+
		"use a machine with more processors or a larger quota, end what runs beside, or use --load-rate 0.25 to try nevertheless",
		least.processors, least.requests, slowestStart, m.Processors, m.Requests, m.PodStart.Round(100*time.Millisecond))
}

// Apply is a scenario as the machine carries it, with a note for the reader of its verdicts if that is not as it was written.
func Apply(f runfolder.Fit, s scenario.Spec) scenario.Spec {
	var changes []string
	if f.Rate > 0 && f.Rate != 1 && len(s.Load) > 0 {
		s.Load = slices.Clone(s.Load)
		for i := range s.Load {
			s.Load[i].Rate *= f.Rate
		}
		changes = append(changes, fmt.Sprintf("requests are sent at %.3g of the scenario's rate, so that shorter outages are missed (--load-rate changes it)", f.Rate))
		least := settled
		if compares(s) {
			least = max(least, min(steady(s.Load), longestSteady))
		}
		if longer := least - s.Steady; longer > 0 {
			s.Steady, s.About = s.Steady+longer, s.About+longer
			changes = append(changes, fmt.Sprintf("they flow for %s before the first fault (connections must be open, and enough answers must come to compare later ones with)",
				s.Steady.Round(100*time.Millisecond)))
		}
	}
	if f.LoadWorkers > 0 && s.LoadWorkers.Count > f.LoadWorkers+s.LoadWorkers.OnWorkers {
		s.LoadWorkers.Count = f.LoadWorkers + s.LoadWorkers.OnWorkers
		changes = append(changes, fmt.Sprintf("%s send them (--load-workers changes it)", prose.Count(s.LoadWorkers.Count, "load worker")))
	}
	was := s.Cluster.Timings()
	if later := f.NodeMonitorGrace - was.NodeMonitorGrace; later > 0 && s.Cluster.Profile != clusters.Stock {
		if s.Hold > was.NodeMonitorGrace { // the fault lasts until the loss is noticed
			s.Hold, s.About = s.Hold+later, s.About+later
		}
		changes = append(changes, fmt.Sprintf("a node may be silent for %s instead of %s (--timings stock changes it)", f.NodeMonitorGrace, was.NodeMonitorGrace))
	}
	if len(changes) > 0 {
		s.Notes = append(slices.Clone(s.Notes), fmt.Sprintf("The machine gives the nodes %.2g of a processor beside the cluster: %s.", f.Processors, prose.List(changes)))
	}
	return s
}

// settled is how long requests flow at least before the first fault. With a third of two processors the first answers take up to a second: a mutant
// that deletes pods after one second deletes them while connections are still opened, clients give up some of those that they kept, and in one of
// five runs of mutants/drops-at-sigterm none was left that led to a deleted pod.
const settled = 3 * time.Second

// longestSteady bounds how long a slow machine may take until there are enough answers to compare later ones with.
const longestSteady = 30 * time.Second

// steady is how long requests must flow until each lane has half again as many answers as later ones are compared with.
func steady(lanes []load.Lane) (longest time.Duration) {
	for _, l := range lanes {
		if l.Lane != history.LaneControl {
			longest = max(longest, time.Duration(1.5*evidence.MinRequests/l.Rate*float64(time.Second)))
		}
	}
	return longest
}

// compares reports whether a scenario compares how long answers take with how long they took before its first fault. A mutant does if that is
// what must catch it.
func compares(s scenario.Spec) bool {
	kind := invariant.Kind(invariant.AnswersWithin{})
	if s.Mutant != nil {
		return s.Mutant.CaughtBy == kind
	}
	return slices.ContainsFunc(s.Promises, func(p invariant.Invariant) bool { return invariant.Kind(p) == kind })
}

// Timings are those of a cluster whose nodes may be silent for as long as was chosen.
func Timings(f runfolder.Fit, t clusters.Timings) history.Timings {
	t.NodeMonitorGrace = max(t.NodeMonitorGrace, f.NodeMonitorGrace)
	return history.Timings(t)
}
