package certificate

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// Assemble makes a certificate of three runs. What is missing or cut off is in it as such, and keeps it from being certified;
// an error means that there is nothing that could be said, for nobody asked for a profile.
func Assemble(in Input) (*Certificate, error) {
	if len(in.Profiles) == 0 {
		return nil, errors.New("assemble certificate: no profiles, so nothing is to be certified")
	}
	before := openFolder("the run before the upgrade", in.Dir, in.Before)
	upgrade := openFolder("the run of the upgrade", in.Dir, in.Upgrade)
	after := openFolder("the run after the upgrade", in.Dir, in.After)
	c := &Certificate{
		APIVersion: APIVersion, Kind: Kind, ID: in.ID, Issued: in.Issued.UTC().Truncate(time.Second), Holdfast: in.Holdfast,
		From: in.From, To: in.To, Machine: in.Machine, Seed: in.Seed, Reproduce: in.Reproduce, Planted: in.Planted,
		Upgrade: upgradeOf(&upgrade), Scenarios: []Scenario{}, Failure: failureOf(in.Failure), Deprecations: slices.Clone(in.Deprecations),
		Skipped: []NotTried{}, NotSupported: []NotTried{},
	}
	if c.Deprecations == nil {
		c.Deprecations = []Deprecation{}
	}
	if step := c.Upgrade.stopped(); step != nil && c.Failure == nil {
		why := cmp.Or(step.Error, "its end was never recorded")
		c.Failure = failureOf(&Failure{Step: step.What, Node: step.Node, Why: why})
	}
	c.compare(in, &before, &after)
	c.decide(in, []*folder{&before, &upgrade, &after})
	return c, nil
}

// failureOf fills in the cause where the words of the failure tell it.
func failureOf(f *Failure) *Failure {
	if f == nil {
		return nil
	}
	filled := *f
	filled.Cause = cmp.Or(f.Cause, CauseOf(f.Why))
	return &filled
}

// compare lays each scenario's sides beside each other.
func (c *Certificate) compare(in Input, before, after *folder) {
	for _, p := range in.Profiles {
		for _, f := range p.Features {
			for _, s := range f.Scenarios {
				if c.scenario(s.Name) == nil {
					c.add(s, before.side(s.Name, in.From.Kubernetes, in.Skipped[s.Name]), after.side(s.Name, in.To.Kubernetes, in.Skipped[s.Name]))
				}
			}
		}
	}
}

func (c *Certificate) add(in ScenarioInput, before, after Side) {
	s := Scenario{
		Name: in.Name, Claim: in.Claim, Before: before, After: after, Verdict: together(before.Verdict, after.Verdict),
		Differences: difference(&before, &after),
	}
	c.Scenarios = append(c.Scenarios, s)
	switch s.Verdict {
	case reports.Skipped:
		c.Skipped = append(c.Skipped, NotTried{s.Name, s.whyNot()})
	case reports.NotSupported:
		c.NotSupported = append(c.NotSupported, NotTried{s.Name, s.whyNot()})
	}
}

// together is the verdict on a scenario: the worse of its sides, and what was not tried on one side was not tried.
func together(before, after reports.Result) reports.Result {
	if rank(after) > rank(before) {
		return after
	}
	return before
}

// whyNot is why it was not tried.
func (s *Scenario) whyNot() string {
	if s.Before.Verdict == s.Verdict {
		return s.Before.Why
	}
	return s.After.Why
}

// scenario finds one by its name; nil: there is none.
func (c *Certificate) scenario(name string) *Scenario {
	i := slices.IndexFunc(c.Scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Scenarios[i]
}
