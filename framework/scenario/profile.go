package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters"
)

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
