package scenario

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

// Mutation takes one good practice away from a scenario that holds.
type Mutation struct {
	// Name of the mutant, for example "mutants/no-prestop".
	Name string
	// Removed is the practice, in words that complete "without ...".
	Removed string
	// CaughtBy is the promise that must be broken; one of the scenario's own.
	CaughtBy invariant.Invariant
	// Harness says that what is removed is the harness's: nothing can be known then, and the promise must be Unknown.
	Harness bool
	// Cause is what the verdict must name as the reason. A mutant that is caught by a promise about failed requests has one.
	Cause invariant.Cause
	// Break removes the practice, and nothing else. It may shorten what only the twin needs, such as a hold: what is left
	// out cannot help to catch it.
	Break func(*Spec)
}

// A mutant of the short profile is not watched for as long as its twin is. The twin has to show that nothing breaks its
// promise, for as long as it takes to believe it; the mutant breaks it while the fault is on, or is missed: watching it for
// less makes it no easier to catch. What is left shows that the load flowed before, and brings in what is late.
const (
	mutantSteady    = time.Second
	mutantRecovered = 2 * time.Second
)

// Mutate registers the mutant of a good scenario. The good one, its twin, is in the same suites and must hold: then it
// is the missing practice that was caught, and not the scenario.
func Mutate(good Spec, m Mutation) Spec {
	kind := invariant.Kind(m.CaughtBy)
	if !slices.ContainsFunc(good.Promises, func(i invariant.Invariant) bool { return invariant.Kind(i) == kind }) {
		panic(fmt.Sprintf("mutant %s: its twin %s does not promise %s", m.Name, good.Name, kind))
	}
	s := good.clone()
	if !s.Full {
		s.Steady, s.Recovered = min(s.Steady, mutantSteady), min(s.Recovered, mutantRecovered)
	}
	m.Break(&s)
	s.Name, s.Stock = m.Name, false
	s.Claim = fmt.Sprintf("without %s, %s is caught", m.Removed, good.Name)
	if m.Harness {
		s.Claim = fmt.Sprintf("without %s, %s is neither held nor violated", m.Removed, good.Name)
	}
	s.Mutant = &history.Mutant{Removed: m.Removed, CaughtBy: kind, Twin: good.Name, Harness: m.Harness, Cause: string(m.Cause)}
	return Describe(s)
}

// clone shares nothing with s that a Break could reach.
func (s Spec) clone() Spec {
	s.Cluster.Zones, s.Cluster.WorkerLabels = slices.Clone(s.Cluster.Zones), maps.Clone(s.Cluster.WorkerLabels)
	s.Cluster.PerWorker = maps.Clone(s.Cluster.PerWorker)
	for key, values := range s.Cluster.PerWorker {
		s.Cluster.PerWorker[key] = slices.Clone(values)
	}
	s.Backend.Spread, s.Backend.Affinity = slices.Clone(s.Backend.Spread), slices.Clone(s.Backend.Affinity)
	s.Backend.NodeSelector = maps.Clone(s.Backend.NodeSelector)
	if s.Gateway != nil {
		gateway := *s.Gateway
		gateway.Upstreams = slices.Clone(gateway.Upstreams)
		s.Gateway = &gateway
	}
	s.Addons = slices.Clone(s.Addons)
	s.Load, s.Faults, s.Promises = slices.Clone(s.Load), slices.Clone(s.Faults), slices.Clone(s.Promises)
	return s
}
