package certify

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// Assemble makes a certificate from its runs. Missing or incomplete runs are in it as such, and certify nothing. The only error is that
// there are no profiles.
func Assemble(in Input) (*certificate.Certificate, error) {
	if len(in.Profiles) == 0 {
		return nil, errors.New("assemble certificate: no profiles, so there is nothing to certify")
	}
	before := openRun("the run before the upgrade", in.Dir, in.Before)
	upgrade := openRun("the run of the upgrade", in.Dir, in.Upgrade)
	after := openRun("the run after the upgrade", in.Dir, in.After)
	for _, f := range []*storedRun{&before, &after} {
		if in.Existing && f.dir == "" {
			f.missing = ""
		}
	}
	c := &certificate.Certificate{
		APIVersion: certificate.APIVersion, Kind: certificate.Kind, ID: in.ID, Issued: in.Issued.UTC().Truncate(time.Second), Holdfast: in.Holdfast,
		From: in.From, To: in.To, Machine: in.Machine, Seed: in.Seed, Reproduce: in.Reproduce, Planted: in.Planted,
		Upgrade: upgradeOf(&upgrade, UpgradeScenario), Scenarios: []certificate.Scenario{}, Failure: failureOf(in.Failure), Deprecations: slices.Clone(in.Deprecations),
		Skipped: []certificate.NotTried{}, NotSupported: []certificate.NotTried{},
	}
	if c.Deprecations == nil {
		c.Deprecations = []certificate.Deprecation{}
	}
	if step := firstUnfinished(&c.Upgrade); step != nil && c.Failure == nil {
		c.Failure = failureAt(step)
	}
	if in.Application != nil {
		app := openRun("the run of the upgrade with the application", in.Dir, in.ApplicationRun)
		addApplication(c, *in.Application, &app)
	}
	addScenarios(c, in, &before, &after)
	decide(c, in, []*storedRun{&before, &upgrade, &after})
	return c, nil
}

// failureAt is the failure of an upgrade that stopped at a step.
func failureAt(step *certificate.Step) *certificate.Failure {
	return failureOf(&certificate.Failure{Step: step.What, Node: step.Node, Why: cmp.Or(step.Error, "its end was never recorded")})
}

// failureOf fills in the cause if the error names it.
func failureOf(f *certificate.Failure) *certificate.Failure {
	if f == nil {
		return nil
	}
	filled := *f
	filled.Cause = cmp.Or(f.Cause, certificate.CauseOf(f.Why))
	return &filled
}

// addScenarios adds each scenario of the profiles with its two sides.
func addScenarios(c *certificate.Certificate, in Input, before, after *storedRun) {
	for _, p := range in.Profiles {
		for _, f := range p.Features {
			for _, s := range f.Scenarios {
				if scenarioOf(c, s.Name) == nil {
					addScenario(c, &s, before.side(s.Name, in.From.Kubernetes, in.Skipped[s.Name]), after.side(s.Name, in.To.Kubernetes, in.Skipped[s.Name]))
				}
			}
		}
	}
}

func addScenario(c *certificate.Certificate, in *scenario.Spec, before, after certificate.Side) {
	s := certificate.Scenario{
		Name: in.Name, Claim: in.Claim, Before: before, After: after, Verdict: worse(before.Verdict, after.Verdict),
		Differences: difference(&before, &after),
	}
	c.Scenarios = append(c.Scenarios, s)
	switch s.Verdict {
	case reports.Skipped:
		c.Skipped = append(c.Skipped, certificate.NotTried{Name: s.Name, Why: whyNotTried(&s)})
	case reports.NotSupported:
		c.NotSupported = append(c.NotSupported, certificate.NotTried{Name: s.Name, Why: whyNotTried(&s)})
	}
}

// worse is the verdict on a scenario: the worse of its sides. A scenario that was not tried on one side was not tried.
func worse(before, after reports.Result) reports.Result {
	if rank(after) > rank(before) {
		return after
	}
	return before
}

// whyNotTried is why a scenario was not tried.
func whyNotTried(s *certificate.Scenario) string {
	if s.Before.Verdict == s.Verdict {
		return s.Before.Why
	}
	return s.After.Why
}

// scenarioOf finds a scenario by name; nil if there is none.
func scenarioOf(c *certificate.Certificate, name string) *certificate.Scenario {
	i := slices.IndexFunc(c.Scenarios, func(s certificate.Scenario) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Scenarios[i]
}
