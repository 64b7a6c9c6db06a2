// Package scenario is what an author of scenarios writes: a claim that can be false, with its workload, load, faults and
// promises, as one literal (Spec); a mutant of it (Mutate); an incident that it reproduces (DescribeIncident); and a profile that
// it belongs to (DescribeProfile). Describe registers a scenario, and panics if the literal makes no sense. Choose and ChooseFor select scenarios by
// name, by scope and by the cluster that they fit.
//
// It runs nothing. See package run.
package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// stockSuffix ends the name of a scenario with Kubernetes' own timings.
const stockSuffix = "-stock"

// All are the scenarios described so far, in order.
var All []Spec

// Describe adds a scenario to All and returns it, so that a mutant can be made of it. It panics if the spec is invalid, which is a
// mistake in the source.
func Describe(s Spec) Spec {
	s = s.WithDefaults()
	if err := s.Validate(); err != nil {
		panic(err)
	}
	if slices.ContainsFunc(All, func(other Spec) bool { return other.Name == s.Name }) {
		panic(fmt.Sprintf("scenario %s: there is one of that name already", s.Name))
	}
	All = append(All, s)
	if s.Stock && s.Cluster.Profile != clusters.Stock {
		stock := s.InStock()
		stock.Name += stockSuffix
		stock.Full = true
		Describe(stock)
	}
	return s
}

// InStock is the scenario with the timings that Kubernetes has by default.
func (s Spec) InStock() Spec {
	stock := s.Cluster
	stock.Profile = clusters.Stock
	return s.On(stock, 0)
}

// Incident is a real outage that can be reproduced on one machine, with its fix. Its scenarios prove it: mutants show the
// symptom, and scenarios with the same workload show the fix.
type Incident struct {
	history.Incident
	Scenarios []Spec // in the order in which to read them
}

// Incidents are all incidents described so far.
var Incidents []Incident

// DescribeIncident adds an incident to Incidents. It panics if the incident proves nothing, which is a mistake in the source.
func DescribeIncident(i Incident) Incident {
	if err := i.validate(); err != nil {
		panic(err)
	}
	Incidents = append(Incidents, i)
	return i
}

func (i Incident) validate() error {
	broken := func(s Spec) bool { return s.Mutant != nil }
	mended := func(s Spec) bool { return s.Mutant == nil }
	switch {
	case !namePattern.MatchString("incidents/" + i.Name):
		return fmt.Errorf("incident %q: want a name such as maintenance-took-us-out", i.Name)
	case slices.ContainsFunc(Incidents, func(other Incident) bool { return other.Name == i.Name }):
		return fmt.Errorf("incident %s: there is one of that name already", i.Name)
	case i.Story == "" || i.Symptom == "" || i.Cause == "" || i.Fix == "":
		return fmt.Errorf("incident %s: want its story, symptom, cause and fix", i.Name)
	case !slices.ContainsFunc(i.Scenarios, broken) || !slices.ContainsFunc(i.Scenarios, mended):
		return fmt.Errorf("incident %s: want a mutant that shows it, and a scenario that shows it mended", i.Name)
	}
	return nil
}

// upgrade is the scenario that upgrades a cluster. The version is filled in by Upgrade.
var upgrade *Spec

// DescribeUpgrade sets the scenario that Upgrade returns. There is only one, and it is part of no scope. DescribeUpgrade panics if
// the spec is invalid or does not upgrade the whole cluster, which is a mistake in the source.
func DescribeUpgrade(s Spec) Spec {
	s = s.WithDefaults()
	err := s.Validate()
	switch {
	case err != nil:
	case upgrade != nil:
		err = fmt.Errorf("scenario %s: %s is the one that upgrades", s.Name, upgrade.Name)
	case !slices.ContainsFunc(s.Faults, isFault[fault.UpgradeControlPlane]) || !slices.ContainsFunc(s.Faults, isFault[fault.UpgradeWorkers]):
		err = fmt.Errorf("scenario %s: want faults that upgrade the control plane and the workers", s.Name)
	}
	if err != nil {
		panic(err)
	}
	upgrade = &s
	return s
}

// isFault reports whether a fault is of a type.
func isFault[T fault.Fault](f fault.Fault) bool {
	_, of := f.(T)
	return of
}

// Upgrade is the scenario that upgrades a cluster to a version. After is called when the control plane is upgraded, and before is
// called before the first worker is drained. Both may be nil.
func Upgrade(to string, after, before fault.Arrange) (Spec, error) {
	if upgrade == nil {
		return Spec{}, errors.New("upgrade: no scenario for it was described")
	}
	s := *upgrade
	s.Faults = slices.Clone(s.Faults)
	for i, f := range s.Faults {
		switch f.(type) {
		case fault.UpgradeControlPlane:
			s.Faults[i] = fault.UpgradeControlPlane{To: to, After: after}
		case fault.UpgradeWorkers:
			s.Faults[i] = fault.UpgradeWorkers{To: to, Before: before}
		}
	}
	return s, nil
}

// Profile is what a cluster must be able to do to be certified: features, each proven by scenarios. All scenarios run before and
// after an upgrade, on the same cluster. So all of them need the default cluster.
type Profile struct {
	Name     string // "Core"
	Features []Feature
}

// Feature is a part of a profile, with a result of its own.
type Feature struct {
	Name      string // "pod delete"
	Scenarios []Spec // in the order in which they are run
}

// Profiles are all profiles described so far.
var Profiles []Profile

// DescribeProfile adds a profile to Profiles. It panics if the profile is invalid, which is a mistake in the source.
func DescribeProfile(p Profile) Profile {
	if err := p.validate(); err != nil {
		panic(err)
	}
	Profiles = append(Profiles, p)
	return p
}

// Scenarios are the scenarios of all features. A scenario of several features is listed once.
func (p Profile) Scenarios() (list []Spec) {
	seen := make(map[string]bool)
	for _, f := range p.Features {
		for _, s := range f.Scenarios {
			if !seen[s.Name] {
				seen[s.Name] = true
				list = append(list, s)
			}
		}
	}
	return list
}

// Patterns of the names of profiles and features.
var (
	profilePattern = regexp.MustCompile(`^[A-Z][a-z]+$`)
	featurePattern = regexp.MustCompile(`^[a-z]+([ -][a-z]+)*$`)
)

func (p Profile) validate() error {
	switch {
	case !profilePattern.MatchString(p.Name):
		return fmt.Errorf("profile %q: want a name such as Core", p.Name)
	case slices.ContainsFunc(Profiles, func(other Profile) bool { return other.Name == p.Name }):
		return fmt.Errorf("profile %s: there is one of that name already", p.Name)
	case len(p.Features) == 0:
		return fmt.Errorf("profile %s: no features, so nothing is certified", p.Name)
	}
	seen := make(map[string]bool)
	for _, f := range p.Features {
		err := f.validate()
		if err == nil && seen[f.Name] {
			err = errors.New("there is one of that name already")
		}
		if err != nil {
			return fmt.Errorf("profile %s, feature %q: %w", p.Name, f.Name, err)
		}
		seen[f.Name] = true
	}
	return nil
}

func (f Feature) validate() error {
	switch {
	case !featurePattern.MatchString(f.Name):
		return errors.New(`want a name such as "pod delete"`)
	case len(f.Scenarios) == 0:
		return errors.New("no scenarios: a feature without a scenario cannot be certified")
	}
	wanted := fmt.Sprintf("%+v", defaultCluster())
	for i, s := range f.Scenarios {
		same := func(other Spec) bool { return other.Name == s.Name }
		switch {
		case s.Mutant != nil:
			return fmt.Errorf("%s is a mutant: what is broken on purpose certifies nothing", s.Name)
		case fmt.Sprintf("%+v", s.WithDefaults().Cluster.WithDefaults()) != wanted:
			return fmt.Errorf("%s wants another cluster than the default one, and all share the one that is upgraded", s.Name)
		case slices.ContainsFunc(f.Scenarios[:i], same):
			return fmt.Errorf("%s twice", s.Name)
		}
	}
	return nil
}

// defaultCluster is the cluster of a spec without a cluster.
func defaultCluster() clusters.Spec { return Spec{}.WithDefaults().Cluster.WithDefaults() }
