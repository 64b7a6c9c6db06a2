package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// Mutation takes one good practice away from a scenario that holds.
type Mutation struct {
	// Name of the mutant, for example "mutants/no-prestop".
	Name string
	// Removed is the practice, or the practices, in words that complete "without ...".
	Removed string
	// CaughtBy is the promise that must be broken. It is one of the scenario's promises, with its parameters, or without parameters
	// if it is the only one of its kind. Break must not remove it.
	CaughtBy invariant.Invariant
	// Lanes are the lanes on each of which requests must fail. Empty: every lane with load that the promise judges.
	Lanes []history.Lane
	// Harness is set if a practice of the harness is removed. The promise must then be Unknown, for Doubt and no other reason.
	Harness bool
	Doubt   judge.Doubt
	// Cause is what the verdict must name as the cause. A mutant that is caught by a promise about failed requests needs one.
	Cause attribution.Cause
	// Reason is why the promise is broken where that is no cause of failed requests. The record can refute it.
	Reason judge.Reason
	// ByChance is set if a missing practice makes requests fail by chance only. The mutant may then escape, and how often it is caught
	// is counted.
	ByChance bool
	// Break removes the practice and nothing else. It may shorten what only the twin needs, such as Hold.
	Break func(*Spec)
}

// A mutant of the short profile is observed for a shorter time than its twin. The twin needs time to show that nothing breaks its
// promise. The mutant breaks the promise while the fault is active, or is missed. The remaining time shows that load flowed before
// the fault, and collects late results.
const (
	mutantSteady    = time.Second
	mutantRecovered = 2 * time.Second
)

// Mutate registers a mutant of a good scenario, its twin. The twin must hold, so that the missing practice is what was caught.
// Mutate panics if the mutation is invalid, which is a mistake in the source.
func Mutate(good Spec, m Mutation) Spec {
	s := good.clone()
	if !s.Full {
		s.Steady, s.Recovered = min(s.Steady, mutantSteady), min(s.Recovered, mutantRecovered)
	}
	m.Break(&s)
	s.Name, s.Stock = m.Name, false
	s.Claim = m.claim(good.Name)
	mutant, err := m.stored(good, s)
	if err != nil {
		panic(fmt.Sprintf("mutant %s of %s: %v", m.Name, good.Name, err))
	}
	s.Mutant = mutant
	return Describe(s)
}

func (m Mutation) claim(twin string) string {
	switch {
	case m.Harness:
		return fmt.Sprintf("without %s, %s is neither held nor violated", m.Removed, twin)
	case m.ByChance:
		return fmt.Sprintf("without %s, %s is caught now and then", m.Removed, twin)
	}
	return fmt.Sprintf("without %s, %s is caught", m.Removed, twin)
}

// stored is what the mutant's record says of it.
func (m Mutation) stored(good, broken Spec) (*history.Mutant, error) {
	promise, err := m.promise(good, broken)
	if err != nil {
		return nil, err
	}
	if m.Harness != (m.Doubt != "") || m.Harness && (m.Doubt != judge.DoubtStarvedWorker || promise.Kind != "NoFailedRequests") {
		return nil, fmt.Errorf("harness %v, doubt %q of %s: a mutant of the harness, and no other, plants the doubt %s of NoFailedRequests",
			m.Harness, m.Doubt, promise.Kind, judge.DoubtStarvedWorker)
	}
	lanes, err := m.lanes(promise, broken)
	if err != nil {
		return nil, err
	}
	if m.Cause == "" && !m.Harness && !judge.KnownReason(m.Reason) {
		return nil, fmt.Errorf("no cause, and the reason %q: a mutant needs a cause or a reason that a record can refute", m.Reason)
	}
	return &history.Mutant{
		Removed: m.Removed, CaughtBy: promise.Kind, Params: promise.Params, Lanes: lanes, Twin: good.Name, Harness: m.Harness,
		Doubt: string(m.Doubt), Cause: string(m.Cause), Reason: string(m.Reason), Trap: broken.Backend.AtTerm.Traps(), ByChance: m.ByChance,
	}, nil
}

// promise finds the promise that CaughtBy names.
func (m Mutation) promise(good, broken Spec) (history.Promise, error) {
	named, err := invariant.Encode(m.CaughtBy)
	if err != nil {
		return named, err
	}
	twins, left := promisesOf(good), promisesOf(broken)
	of := slices.DeleteFunc(slices.Clone(twins), func(p history.Promise) bool { return p.Kind != named.Kind })
	if reflect.ValueOf(m.CaughtBy).IsZero() && len(of) == 1 {
		named = of[0]
	}
	if !slices.ContainsFunc(of, same(named)) {
		return named, fmt.Errorf("its twin does not promise %s %s, or makes several promises of that kind", named.Kind, named.Params)
	}
	if !slices.ContainsFunc(left, same(named)) {
		return named, fmt.Errorf("it does not promise %s %s any more", named.Kind, named.Params)
	}
	return named, nil
}

func same(a history.Promise) func(history.Promise) bool {
	return func(b history.Promise) bool { return a.Kind == b.Kind && bytes.Equal(a.Params, b.Params) }
}

// promisesOf are the promises of a scenario in their stored form. A promise that cannot be stored is an error when the record begins.
func promisesOf(s Spec) (list []history.Promise) {
	for _, i := range s.Promises {
		if p, err := invariant.Encode(i); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// lanes are the lanes on which a mutant must be caught: those it names, or all with load that its promise judges.
func (m Mutation) lanes(promise history.Promise, broken Spec) ([]history.Lane, error) {
	decoded, err := invariant.Decode(promise)
	if err != nil {
		return nil, err
	}
	var planned []history.Lane
	for _, l := range broken.Load {
		planned = append(planned, l.Lane)
	}
	judged := judge.LanesOf(decoded, planned)
	for _, lane := range m.Lanes {
		if !slices.Contains(judged, lane) {
			return nil, fmt.Errorf("lane %s has no load, or %s does not judge it", lane, promise.Kind)
		}
	}
	switch {
	case m.Harness:
		return nil, nil
	case len(m.Lanes) > 0:
		return m.Lanes, nil
	}
	return judged, nil
}

// clone is a deep copy of everything that Break can change.
func (s Spec) clone() Spec {
	s.Cluster.Zones, s.Cluster.PerWorker = slices.Clone(s.Cluster.Zones), maps.Clone(s.Cluster.PerWorker)
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
	if s.Simulated != nil {
		simulated := *s.Simulated
		simulated.Backend.Spread, simulated.Backend.Affinity = slices.Clone(simulated.Backend.Spread), slices.Clone(simulated.Backend.Affinity)
		s.Simulated = &simulated
	}
	s.Addons = slices.Clone(s.Addons)
	s.Load, s.Faults, s.Promises = slices.Clone(s.Load), slices.Clone(s.Faults), slices.Clone(s.Promises)
	return s
}
