package certify

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// shop is an application without a result.
func shop() *certificate.Application {
	return &certificate.Application{
		Name: "shop", Source: "shop/holdfast.yaml", Digest: "sha256:cc", Images: []string{"web:1"},
		Probes: []certificate.ApplicationProbe{{Name: "web", URL: "http://web/", Rate: 50}},
	}
}

// ofShop makes a record that of the application.
func ofShop(b *historytest.Builder) *historytest.Builder {
	return b.Header(func(h *history.Header) { h.Scenario = ApplicationScenario })
}

// withShop stores the run of an application beside three runs in which all held.
func withShop(t *testing.T, f found) Input {
	t.Helper()
	in := input(t, sides{})
	in.Application, in.ApplicationRun = shop(), filepath.Join(in.Dir, "application")
	f.name = ApplicationScenario
	if f.record == nil {
		f.record = upgraded()
		if f.outcome == verdict.Violated {
			failing(f.record)
		}
	}
	ofShop(f.record)
	stored(t, in.ApplicationRun, from, f)
	return in
}

// The application is certified only by a whole record of its own upgrade, and takes nothing from the profiles.
func TestTheApplication(t *testing.T) {
	const profiles = " = Core: certified (certified, certified) Extended: certified (certified)"
	held := found{outcome: verdict.Held}
	step := func(s history.Step) found {
		return found{outcome: verdict.Held, record: upgraded().Step(32*time.Second, s)}
	}
	for name, test := range map[string]struct {
		run    found
		in     func(*Input)
		whole  certificate.Result
		result certificate.Result
		reason string
		broken bool
	}{
		"held":     {run: held, whole: certificate.Certified, result: certificate.Certified},
		"violated": {run: violated, whole: certificate.NotCertified, result: certificate.NotCertified, reason: `application shop: the promise "no request fails, on any lane" was broken: 21 of 600`, broken: true},
		"unknown":  {run: unknown, whole: certificate.Partial, result: certificate.NoEvidence, reason: "application shop: nothing is known about its upgrade: no verdict: the load worker"},
		"not ready before the upgrade": {
			run: found{err: "probe web: 404"}, whole: certificate.Partial, result: certificate.NoEvidence, reason: "nothing is known about its upgrade: ",
		},
		"its record is gone": {
			run: found{outcome: verdict.Held, lost: true}, whole: certificate.Partial, result: certificate.NoEvidence, reason: "the record is incomplete",
		},
		"its record has no step": {
			run:   found{outcome: verdict.Held, record: light(ApplicationScenario, to)},
			whole: certificate.Partial, result: certificate.NoEvidence, reason: "its record has no step of the upgrade",
		},
		"a step that failed": {
			run:   step(history.Step{ID: 9, What: "drain", Node: "w2", Stage: history.StepEnd, Error: "Cannot evict pod"}),
			whole: certificate.NotCertified, result: certificate.NotCertified, reason: `application shop: the upgrade stopped at "drain" on w2: Cannot evict pod`, broken: true,
		},
		"the record of another upgrade": {
			run: found{outcome: verdict.Held, record: upgraded().
				Step(32*time.Second, history.Step{ID: 9, What: "drain", Node: "w2", To: "v1.35.0", Stage: history.StepBegin}).
				Step(33*time.Second, history.Step{ID: 9, What: "drain", Node: "w2", To: "v1.35.0", Stage: history.StepEnd})},
			whole: certificate.Partial, result: certificate.NoEvidence, reason: "its record is of an upgrade to v1.35.0, not to v1.37.0",
		},
		"no run": {
			run: held, in: func(in *Input) { in.ApplicationRun = filepath.Join(in.Dir, "none") },
			whole: certificate.Partial, result: certificate.NoEvidence, reason: "the run of the upgrade with the application proves nothing: it was not begun",
		},
		"the run of holdfast's own workload": {
			run: held, in: func(in *Input) { in.ApplicationRun = in.Upgrade },
			whole: certificate.Partial, result: certificate.NoEvidence, reason: "has no record of the scenario",
		},
		"interrupted": {
			run: found{interrupted: "interrupted in the phase steady"}, whole: certificate.Partial, result: certificate.Interrupted, reason: "interrupted in the phase steady",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := withShop(t, test.run)
			if test.in != nil {
				test.in(&in)
			}
			c := assemble(t, in)
			a := c.Application
			if a.Result != test.result || Broken(c) != test.broken || results(c) != string(test.whole)+profiles {
				t.Errorf("application %s, broken %t, %s", a.Result, Broken(c), results(c))
			}
			all := strings.Join(a.Reasons, "\n")
			if (test.reason == "") != (all == "") || !strings.Contains(all, test.reason) || !strings.Contains(strings.Join(c.Reasons, "\n"), all) {
				t.Errorf("reasons %q of %q, want %q", a.Reasons, c.Reasons, test.reason)
			}
		})
	}
}

func TestThePlanHasTheApplicationOnce(t *testing.T) {
	plan := NewPlan(profiles(), scenario.Spec{Name: UpgradeScenario, About: time.Minute}, func(s scenario.Spec) scenario.Spec { return s }, false)
	runs, about := plan.Runs(), plan.About()
	plan.Application = &Application{Application: *shop(), Upgrade: scenario.Spec{Name: ApplicationScenario, About: time.Hour}}
	if plan.Runs() != runs+1 || plan.About() != about+time.Hour || len(plan.Apps()) != 1 {
		t.Errorf("%d runs, about %s; without the application %d, %s", plan.Runs(), plan.About(), runs, about)
	}
}

// The application's result is compared as that of a profile is; another application is none of it.
func TestCompareApplications(t *testing.T) {
	with := func(name string, digest string, v reports.Result, r certificate.Result) *certificate.Certificate {
		c := certified()
		c.Application = &certificate.Application{Name: name, Digest: digest, Result: r, Upgrade: certificate.Upgrade{Side: certificate.Side{Verdict: v}}}
		return c
	}
	held := with("shop", "1", reports.Held, certificate.Certified)
	what := func(changes []Change) (list []string) {
		for _, c := range changes {
			list = append(list, c.What+": "+c.Was+", "+c.Is)
		}
		return list
	}
	for name, test := range map[string]struct {
		a, b                          *certificate.Certificate
		regressed, missing, different []string
	}{
		"the same": {a: held, b: held},
		"violated now": {
			a: held, b: with("shop", "1", reports.Violated, certificate.NotCertified),
			regressed: []string{"the upgrade with application shop: Held, Violated", "application shop: certified, not certified"},
		},
		"unknown now": {
			a: held, b: with("shop", "1", reports.Unknown, certificate.NoEvidence),
			missing: []string{"the upgrade with application shop: Held, Unknown", "application shop: certified, unknown"},
		},
		"gone":         {a: held, b: certified(), regressed: []string{"application shop: certified, gone"}},
		"another":      {a: held, b: with("cart", "1", reports.Held, certificate.Certified), regressed: []string{"application shop: certified, gone"}},
		"new":          {a: certified(), b: held, different: []string{"application shop: not there, certified"}},
		"another text": {a: held, b: with("shop", "2", reports.Held, certificate.Certified), different: []string{"digest of application shop: 1, 2"}},
	} {
		d := Compare(test.a, test.b)
		if diff := cmp.Diff([][]string{test.regressed, test.missing, test.different}, [][]string{what(d.Regressions), what(d.Missing), what(d.Different)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
