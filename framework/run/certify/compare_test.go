package certify

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// written by hand: what Compare looks at, and nothing else.
func certified() *certificate.Certificate {
	side := func(kind string) certificate.Side {
		return certificate.Side{
			Verdict: reports.Held, Promises: []certificate.Promise{{Promise: "a promise", Kind: kind, Verdict: reports.Held}}, RecoverySeconds: new(2.0), SettledSkew: new(0),
			Lanes: []certificate.Lane{{Name: "fresh", P99Seconds: 0.01}, {Name: "control", P99Seconds: 9}},
		}
	}
	c := &certificate.Certificate{
		ID: "1", Result: certificate.Certified, From: certificate.Release{Kubernetes: from}, To: certificate.Release{Kubernetes: to},
		Upgrade: certificate.Upgrade{Scenario: UpgradeScenario, Side: side("NoFailedRequests")},
		Profiles: []certificate.Profile{
			{Name: "Core", Result: certificate.Certified, Features: []certificate.Feature{
				{Name: "drain", Result: certificate.Certified, Scenarios: []string{"chaos/drain"}},
				{Name: "rollout", Result: certificate.Certified, Scenarios: []string{"chaos/rollout"}},
			}},
			{Name: "Extended", Result: certificate.Certified, Features: []certificate.Feature{{Name: "node kill", Result: certificate.Certified, Scenarios: []string{"chaos/kill"}}}},
		},
	}
	for _, name := range []string{"chaos/drain", "chaos/rollout", "chaos/kill"} {
		c.Scenarios = append(c.Scenarios, certificate.Scenario{Name: name, Verdict: reports.Held, Before: side("NoFailedRequests"), After: side("NoFailedRequests")})
	}
	return c
}

// breaks makes the side after of chaos/drain, and what follows from it.
func breaks(v reports.Result, feature, core certificate.Result) func(*certificate.Certificate) {
	return func(c *certificate.Certificate) {
		s := &c.Scenarios[0]
		s.Verdict, s.After.Verdict, s.After.Why = v, v, "it was seen"
		if s.After.Promises[0].Verdict = v; v != reports.Violated && v != reports.Unknown {
			s.After.Promises = nil
		}
		c.Profiles[0].Features[0].Result, c.Profiles[0].Result, c.Result = feature, core, core
	}
}

func TestCompare(t *testing.T) {
	const kind = ", promise NoFailedRequests"
	nothing := func(*certificate.Certificate) {}
	for name, test := range map[string]struct {
		a, b                         func(*certificate.Certificate)
		regressed, missing           []string // what: was, is
		better, different, scenarios []string
	}{
		"the same": {a: nothing, b: nothing},
		"violated now": {
			a: nothing, b: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), scenarios: []string{"chaos/drain"},
			regressed: []string{
				"profile Core: certified, not certified", "feature drain of Core: certified, not certified",
				"chaos/drain after the upgrade: Held, Violated", "chaos/drain after the upgrade" + kind + ": Held, Violated",
			},
		},
		"unknown now": {
			a: nothing, b: breaks(reports.Unknown, certificate.NoEvidence, certificate.Partial),
			missing: []string{
				"chaos/drain after the upgrade: Held, Unknown", "chaos/drain after the upgrade" + kind + ": Held, Unknown",
				"feature drain of Core: certified, unknown", "profile Core: certified, partial",
			},
		},
		"skipped now": {
			a: nothing, b: breaks(reports.Skipped, certificate.Skipped, certificate.Partial), scenarios: []string{"chaos/drain"},
			regressed: []string{
				"profile Core: certified, partial", "feature drain of Core: certified, skipped", "chaos/drain after the upgrade: Held, Skipped",
			},
		},
		"not supported now": {
			a: nothing, b: breaks(reports.NotSupported, certificate.NotSupported, certificate.Partial), scenarios: []string{"chaos/drain"},
			regressed: []string{
				"profile Core: certified, partial", "feature drain of Core: certified, not supported", "chaos/drain after the upgrade: Held, Not supported",
			},
		},
		"a scenario vanished": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Scenarios = c.Scenarios[1:]
				c.Profiles[0].Features[0].Scenarios = nil
			},
			regressed: []string{"chaos/drain: Held, gone"}, scenarios: []string{"chaos/drain"},
		},
		"a scenario vanished that had not held": {
			a: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), b: func(c *certificate.Certificate) {
				breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified)(c)
				c.Scenarios[0].Before.Verdict = reports.Violated
				c.Scenarios = c.Scenarios[1:]
			},
			regressed: []string{"chaos/drain: Violated, gone"}, scenarios: []string{"chaos/drain"}, // before the upgrade it had
		},
		"a feature vanished": {
			a: nothing, b: func(c *certificate.Certificate) { c.Profiles[0].Features = c.Profiles[0].Features[1:] },
			regressed: []string{"feature drain of Core: certified, gone"},
		},
		"a profile vanished": {
			a: nothing, b: func(c *certificate.Certificate) { c.Profiles = c.Profiles[:1] },
			regressed: []string{"profile Extended: certified, gone"},
		},
		"a promise vanished": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Scenarios[0].After.Promises[0] = certificate.Promise{Promise: "another", Kind: "Spread", Verdict: reports.Held}
			},
			regressed: []string{"chaos/drain after the upgrade" + kind + ": Held, gone"}, scenarios: []string{"chaos/drain"},
		},
		"a promise has another limit": {
			a: nothing, b: func(c *certificate.Certificate) { c.Scenarios[0].After.Promises[0].Promise = "within 20s" },
		},
		"an upgrade that stopped": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Failure = &certificate.Failure{Step: "drain", Node: "w1", Why: "no room"}
				c.Profiles[0].Result, c.Profiles[1].Result = certificate.NotCertified, certificate.NotCertified
			},
			regressed: []string{"profile Core: certified, not certified", "profile Extended: certified, not certified", "the upgrade: Held, Violated"},
			scenarios: []string{UpgradeScenario},
		},
		"an upgrade of which nothing is known": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Upgrade.Verdict, c.Upgrade.Promises = reports.Unknown, nil
				c.Profiles[0].Result, c.Profiles[1].Result = certificate.NotCertified, certificate.NotCertified
			},
			missing: []string{"the upgrade: Held, Unknown", "profile Core: certified, not certified", "profile Extended: certified, not certified"},
		},
		"still violated": {a: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), b: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified)},
		"mended": {
			a: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), b: nothing,
			better: []string{
				"chaos/drain after the upgrade: Violated, Held", "chaos/drain after the upgrade" + kind + ": Violated, Held",
				"feature drain of Core: not certified, certified", "profile Core: not certified, certified",
			},
		},
		"from unknown to violated": { // nothing shows that it was broken before
			a: breaks(reports.Unknown, certificate.NoEvidence, certificate.Partial), b: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), scenarios: []string{"chaos/drain"},
			regressed: []string{"chaos/drain after the upgrade: Unknown, Violated", "chaos/drain after the upgrade" + kind + ": Unknown, Violated"},
			different: []string{"feature drain of Core: unknown, not certified", "profile Core: partial, not certified"},
		},
		"from violated to unknown": {
			a: breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified), b: breaks(reports.Unknown, certificate.NoEvidence, certificate.Partial),
			different: []string{
				"chaos/drain after the upgrade: Violated, Unknown", "chaos/drain after the upgrade" + kind + ": Violated, Unknown",
				"feature drain of Core: not certified, unknown", "profile Core: not certified, partial",
			},
		},
		"from unknown to skipped": {
			a: breaks(reports.Unknown, certificate.NoEvidence, certificate.Partial), b: breaks(reports.Skipped, certificate.Skipped, certificate.Partial),
			different: []string{"chaos/drain after the upgrade: Unknown, Skipped", "feature drain of Core: unknown, skipped"},
		},
		"a new scenario": {
			a: func(c *certificate.Certificate) { c.Scenarios = c.Scenarios[1:] }, b: nothing, different: []string{"chaos/drain: not there, Held"},
		},
		"numbers": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Scenarios[0].After.RecoverySeconds, c.Scenarios[0].After.SettledSkew = new(7.1), new(2)
				c.Scenarios[0].After.Lanes[0].P99Seconds = 0.3
				c.Scenarios[1].After.RecoverySeconds, c.Scenarios[1].After.SettledSkew = new(6.9), new(1) // within what chance does
				c.Scenarios[1].After.Lanes[0].P99Seconds = 0.2
				c.Scenarios[1].After.Lanes[1].P99Seconds = 1 // of the control lane
			},
			different: []string{
				"chaos/drain after the upgrade, recovery: 2 s, 7.1 s", "chaos/drain after the upgrade, p99: 10 ms, 300 ms",
				"chaos/drain after the upgrade, skew: 0, 2",
			},
		},
		"planted, and an API that is deprecated": {
			a: nothing, b: func(c *certificate.Certificate) {
				c.Planted, c.Deprecations = "no preStop", []certificate.Deprecation{{Object: "Endpoints backend", API: "v1"}}
			},
			different: []string{"planted regression: none, no preStop", "deprecated API of Endpoints backend: not there, v1"},
		},
	} {
		a, b := certified(), certified()
		test.a(a)
		test.b(b)
		d := Compare(a, b)
		lines := func(changes []Change) (list []string) {
			for _, c := range changes {
				list = append(list, c.What+": "+c.Was+", "+c.Is)
			}
			return list
		}
		want := [][]string{test.regressed, test.missing, test.better, test.different, test.scenarios}
		got := [][]string{lines(d.Regressions), lines(d.Missing), lines(d.Better), lines(d.Different), slices.Clip(append([]string(nil), d.Scenarios...))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: regressed, missing, better, different, scenarios (-want +got):\n%s", name, diff)
		}
		if again := Compare(b, b); len(again.Regressions)+len(again.Missing)+len(again.Better)+len(again.Different) > 0 {
			t.Errorf("%s: it differs from itself: %+v", name, again)
		}
	}
}

// Of what regressed, the cause is told.
func TestCompareNamesTheCause(t *testing.T) {
	a, b := certified(), certified()
	breaks(reports.Violated, certificate.NotCertified, certificate.NotCertified)(b)
	b.Scenarios[0].After.Promises[0].Cause = "late-withdrawal"
	d := Compare(a, b)
	if i := slices.IndexFunc(d.Regressions, func(c Change) bool { return strings.Contains(c.Why, "cause: late-withdrawal (sent to a pod") }); i < 0 {
		t.Errorf("no cause in %+v", d.Regressions)
	}
}
