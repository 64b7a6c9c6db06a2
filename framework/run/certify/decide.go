package certify

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// decide decides what is certified, and lists the reasons why the rest is not.
func decide(c *certificate.Certificate, in Input, runs []*storedRun) {
	gate := gateReasons(c, runs)
	var features []certificate.Result
	for _, p := range in.Profiles {
		profile := certificate.Profile{Name: p.Name, Features: []certificate.Feature{}, Reasons: slices.Clone(gate)}
		var own []certificate.Result
		for _, f := range p.Features {
			feature, why := decideFeature(c, f, runs)
			profile.Features = append(profile.Features, feature)
			profile.Reasons = appendNew(profile.Reasons, why...)
			own = append(own, feature.Result)
		}
		if in.Existing {
			upgrade := upgradeFeature(c)
			profile.Features = append(profile.Features, upgrade)
			own = append(own, upgrade.Result)
		}
		profile.Result = sumUp(own, len(gate) > 0)
		if profile.Reasons == nil {
			profile.Reasons = []string{}
		}
		c.Profiles = append(c.Profiles, profile)
		c.Reasons = appendNew(c.Reasons, profile.Reasons...)
		features = append(features, own...)
	}
	if a := c.Application; a != nil {
		features = append(features, a.Result)
		c.Reasons = appendNew(c.Reasons, a.Reasons...)
	}
	c.Result = sumUp(features, len(gate) > 0)
	if c.Reasons == nil {
		c.Reasons = []string{}
	}
}

// upgradeFeature is what the recorded upgrade shows by itself.
func upgradeFeature(c *certificate.Certificate) certificate.Feature {
	return certificate.Feature{Name: UpgradeFeature, Result: featureResult([]reports.Result{c.Upgrade.Verdict}), Scenarios: []string{}}
}

// sumUp is the result of features together. Shut means that the upgrade, or a run as a whole, certifies nothing.
func sumUp(features []certificate.Result, shut bool) certificate.Result {
	has := func(wanted ...certificate.Result) bool {
		return slices.ContainsFunc(features, func(r certificate.Result) bool { return slices.Contains(wanted, r) })
	}
	switch {
	case shut || has(certificate.NotCertified) || !has(certificate.Certified, certificate.Partial):
		return certificate.NotCertified
	case slices.ContainsFunc(features, func(r certificate.Result) bool { return r != certificate.Certified }): // whatever the word
		return certificate.Partial
	}
	return certificate.Certified
}

// decideFeature decides about a feature by the verdicts on its scenarios.
func decideFeature(c *certificate.Certificate, in scenario.Feature, runs []*storedRun) (certificate.Feature, []string) {
	f := certificate.Feature{Name: in.Name, Scenarios: []string{}}
	var verdicts []reports.Result
	var why []string
	for _, s := range in.Scenarios {
		f.Scenarios = append(f.Scenarios, s.Name)
		found := scenarioOf(c, s.Name)
		verdicts = append(verdicts, found.Verdict)
		why = appendNew(why, scenarioReasons(c, in.Name, found, runs)...)
	}
	f.Result = featureResult(verdicts)
	return f, why
}

// featureResult is the result of a feature. Missing evidence takes precedence over skipped scenarios, and only Held everywhere certifies.
func featureResult(verdicts []reports.Result) certificate.Result {
	has := func(v reports.Result) bool { return slices.Contains(verdicts, v) }
	switch {
	case has(reports.Violated):
		return certificate.NotCertified
	case len(verdicts) == 0 || has(reports.Unknown):
		return certificate.NoEvidence
	case has(reports.Interrupted) || has(reports.NotBegun):
		return certificate.Interrupted
	case !slices.ContainsFunc(verdicts, func(v reports.Result) bool { return v != reports.Held }): // whatever the word
		return certificate.Certified
	case has(reports.Held):
		return certificate.Partial
	case has(reports.NotSupported):
		return certificate.NotSupported
	}
	return certificate.Skipped
}

// Broken is whether a promise, or the upgrade, was seen broken. If not, and the result is not Certified, evidence is missing.
func Broken(c *certificate.Certificate) bool {
	return upgradeBroken(c) || applicationBroken(c) || slices.ContainsFunc(c.Scenarios, func(s certificate.Scenario) bool { return s.Verdict == reports.Violated })
}

func upgradeBroken(c *certificate.Certificate) bool {
	return c.Failure != nil || c.Upgrade.Verdict == reports.Violated
}

// appendNew appends the strings that are not in a list yet.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
