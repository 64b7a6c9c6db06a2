package certificate

import (
	"slices"

	"github.com/holdfast-ha/holdfast/reports"
)

// decide says what is certified, and what kept the rest from it.
func (c *Certificate) decide(in Input, runs []*folder) {
	gate := c.gate(runs)
	var features []Result
	for _, p := range in.Profiles {
		profile := Profile{Name: p.Name, Features: []Feature{}, Reasons: slices.Clone(gate)}
		var own []Result
		for _, f := range p.Features {
			feature, why := c.feature(f, runs)
			profile.Features = append(profile.Features, feature)
			profile.Reasons = appendNew(profile.Reasons, why...)
			own = append(own, feature.Result)
		}
		profile.Result = sumUp(own, len(gate) > 0)
		if profile.Reasons == nil {
			profile.Reasons = []string{}
		}
		c.Profiles = append(c.Profiles, profile)
		c.Reasons = appendNew(c.Reasons, profile.Reasons...)
		features = append(features, own...)
	}
	c.Result = sumUp(features, len(gate) > 0)
	if c.Reasons == nil {
		c.Reasons = []string{}
	}
}

// sumUp the results of features. Shut: the upgrade itself, or a run as a whole, keeps all of them from being certified.
func sumUp(features []Result, shut bool) Result {
	has := func(wanted ...Result) bool {
		return slices.ContainsFunc(features, func(r Result) bool { return slices.Contains(wanted, r) })
	}
	switch {
	case shut || has(NotCertified) || !has(Certified, Partial):
		return NotCertified
	case slices.ContainsFunc(features, func(r Result) bool { return r != Certified }): // whatever the word
		return Partial
	}
	return Certified
}

// feature decides about one by the verdicts on its scenarios.
func (c *Certificate) feature(in FeatureInput, runs []*folder) (Feature, []string) {
	f := Feature{Name: in.Name, Scenarios: []string{}}
	var verdicts []reports.Result
	var why []string
	for _, s := range in.Scenarios {
		f.Scenarios = append(f.Scenarios, s.Name)
		found := c.scenario(s.Name)
		verdicts = append(verdicts, found.Verdict)
		why = appendNew(why, c.reasons(in.Name, found, runs)...)
	}
	f.Result = featureResult(verdicts)
	return f, why
}

// featureResult: what is missing is told before what was left out, and nothing but Held on all sides certifies.
func featureResult(verdicts []reports.Result) Result {
	has := func(v reports.Result) bool { return slices.Contains(verdicts, v) }
	switch {
	case has(reports.Violated):
		return NotCertified
	case len(verdicts) == 0 || has(reports.Unknown):
		return NoEvidence
	case has(reports.Interrupted) || has(reports.NotBegun):
		return Interrupted
	case !slices.ContainsFunc(verdicts, func(v reports.Result) bool { return v != reports.Held }): // whatever the word
		return Certified
	case has(reports.Held):
		return Partial
	case has(reports.NotSupported):
		return NotSupported
	}
	return Skipped
}

// Broken tells whether something was seen broken: a promise, or the upgrade. If nothing was and the result is not Certified, it
// is evidence that is missing.
func (c *Certificate) Broken() bool {
	return c.upgradeBroken() || slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.Verdict == reports.Violated })
}

func (c *Certificate) upgradeBroken() bool {
	return c.Failure != nil || c.Upgrade.Verdict == reports.Violated
}

// appendNew appends what is not in a list yet.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
