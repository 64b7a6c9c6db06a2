package apptest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Each scenario lacks one practice, and has all others.
func TestAblationTakesAwayOnePracticeAtATime(t *testing.T) {
	a, _ := read(t, careful)
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, tried, err := test.Ablate(2)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
		text, sleeps, probes := "", 0, 0
		for _, m := range s.App.Manifests {
			raw, err := m.Object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			text += string(raw)
		}
		sleeps, probes = strings.Count(text, "preStop"), strings.Count(text, "readinessProbe")
		switch {
		case strings.HasPrefix(s.Name, "ablate/prestop"):
			if sleeps != 0 || probes != 1 {
				t.Errorf("%s: %d preStop hooks and %d readiness probes", s.Name, sleeps, probes)
			}
		case strings.HasPrefix(s.Name, "ablate/replicas"):
			if s.App.Workloads[0].Replicas != 1 || sleeps != 1 {
				t.Errorf("%s: %d replicas", s.Name, s.App.Workloads[0].Replicas)
			}
		case strings.HasPrefix(s.Name, "ablate/budget"):
			if strings.Contains(text, "PodDisruptionBudget") || probes != 1 {
				t.Errorf("%s has a budget", s.Name)
			}
		}
		if mutant := strings.HasPrefix(s.Name, "ablate/"); mutant != (s.Mutant != nil) || mutant && (!s.Mutant.ByChance || s.Mutant.Twin == "") {
			t.Errorf("%s: mutant %+v", s.Name, s.Mutant)
		}
	}
	want := []string{
		"app/rollout", "app/drain",
		"ablate/prestop-web-1", "ablate/prestop-web-2", "ablate/readiness-web-1", "ablate/readiness-web-2", "ablate/surge-web-1", "ablate/surge-web-2",
		"ablate/replicas-web-1", "ablate/replicas-web-2", "ablate/budget-web-1", "ablate/budget-web-2",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if len(tried.Removals) != 5 {
		t.Errorf("%d ablations, want 5", len(tried.Removals))
	}
}

// Where there is nothing to take away, the audit may have something to add.
func TestNothingToTakeAway(t *testing.T) {
	a, _ := read(t, strings.Replace(manifests, "replicas: 3", "replicas: 1", 1))
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, tried, err := test.Ablate(1)
	if err != nil || len(specs) != 2 || specs[0].Name != "app/rollout" || specs[1].Name != "app/drain" {
		t.Fatalf("%v of %d scenarios", err, len(specs))
	}
	if text := tried.Table(runfolder.File{}); !strings.Contains(text, "no practice that could be taken away") {
		t.Errorf("got %q", text)
	}
}

// rowsOf checks that a table has a row with each text in the row of each key.
func rowsOf(t *testing.T, table string, rows map[string]string) {
	t.Helper()
	for key, want := range rows {
		found := false
		for row := range strings.Lines(table) {
			found = found || strings.Contains(row, key) && strings.Contains(row, want)
		}
		if !found {
			t.Errorf("no row of %s with %q in\n%s", key, want, table)
		}
	}
}

// said is a verdict on a promise about failed requests, as run.json has it.
func said(kind, outcome, failed string) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"kind":"DrainCompletes","outcome":"violated"}`),
		json.RawMessage(`{"kind":"` + kind + `","outcome":"` + outcome + `","numbers":{"failed":` + failed + `}}`)}
}

func TestTheTableSaysWhatEachPracticeIsWorth(t *testing.T) {
	const none, few = "NoFailedRequests", "FewFailedRequests"
	file := runfolder.File{Scenarios: []runfolder.ScenarioResult{
		{Name: "app/rollout", Outcome: "held", Verdicts: said(none, "held", "0")}, {Name: "app/drain", Outcome: "unknown"},
		{Name: "app/rollout-b", Outcome: "held", Verdicts: said(few, "held", "2")},
		{Name: "a-1", Outcome: "held", Verdicts: said(none, "violated", "65")}, {Name: "a-2", Outcome: "held", Verdicts: said(none, "held", "0")},
		{Name: "a-3", Outcome: "unknown", Verdicts: said(none, "violated", "65")},
		{Name: "b-1", Outcome: "held", Verdicts: said(none, "held", "0")}, {Name: "c-1", Outcome: "unknown"},
		{Name: "f-1", Outcome: "held", Verdicts: said(none, "violated", "1")}, // by chance, as with the hook
		{Name: "d-1", Outcome: "held", Verdicts: said(few, "violated", "12")}, {Name: "d-2", Outcome: "held", Verdicts: said(few, "held", "3")},
	}}
	removal := func(place, twin string, without ...string) apptest.Removal {
		return apptest.Removal{Practice: apptest.Practice{Place: place, Removed: "the hook", Fault: "rollout"}, Twin: twin, Without: without}
	}
	tried := apptest.Trial{Removals: []apptest.Removal{
		removal("web.yaml:1", "app/rollout", "a-1", "a-2", "a-3"), removal("web.yaml:2", "app/rollout", "b-1"), removal("web.yaml:3", "app/rollout", "c-1"),
		removal("web.yaml:4", "app/drain", "b-1"), removal("web.yaml:5", "app/rollout-b", "d-1", "d-2"), removal("web.yaml:6", "app/rollout", "e-1"),
		removal("web.yaml:7", "app/scale", "b-1"), removal("web.yaml:8", "app/rollout", "f-1"),
	}}
	rowsOf(t, tried.Table(file), map[string]string{
		"web.yaml:1": "requests were lost in 1 of 2 (65 and 0 requests failed; with it 0)", "web.yaml:2": "not noticed in 1 of 1 (0 requests failed; with it 0):",
		"web.yaml:3": "not known: no run without it could be judged", "web.yaml:4": "not known: with it, app/drain was unknown",
		"web.yaml:5": "more requests were lost in 1 of 2 (12 and 3 requests failed; with it 2)", "web.yaml:6": "not known: no run without it",
		"web.yaml:7": "not known: with it, app/scale was not judged", "web.yaml:8": "not noticed in 1 of 1 (1 request failed; with it 0):",
	})
}

// A test may allow failures. A practice is worth something if clearly more requests fail without it.
func TestTheTableComparesLosses(t *testing.T) {
	const kind = "FewFailedRequests"
	results := []runfolder.ScenarioResult{{Name: "app/rollout", Outcome: "held", Verdicts: said(kind, "held", "40")}}
	for name, of := range map[string][2]string{
		"a-1": {"held", "131"}, "a-2": {"held", "128"}, "b-1": {"held", "70"}, "b-2": {"held", "45"}, "c-1": {"held", "85"}, "c-2": {"held", "86"},
	} {
		results = append(results, runfolder.ScenarioResult{Name: name, Outcome: "held", Verdicts: said(kind, of[0], of[1])})
	}
	removal := func(place string, without ...string) apptest.Removal {
		return apptest.Removal{Practice: apptest.Practice{Place: place, Removed: "the hook", Fault: "rollout"}, Twin: "app/rollout", Without: without}
	}
	tried := apptest.Trial{Removals: []apptest.Removal{
		removal("cfg.yaml:1", "a-1", "a-2"), removal("cfg.yaml:2", "b-1", "b-2"), removal("cfg.yaml:3", "c-1", "c-2"),
	}}
	rowsOf(t, tried.Table(runfolder.File{Scenarios: results}), map[string]string{
		"cfg.yaml:1": "more requests were lost in 2 of 2 (131 and 128 requests failed; with it 40)",
		"cfg.yaml:2": "not noticed in 2 of 2 (70 and 45 requests failed; with it 40): nothing shows",
		"cfg.yaml:3": "more requests were lost in 1 of 2 (85 and 86 requests failed; with it 40)", // more than twice as many, and five
	})
}

// A scenario that loses a request with a practice still shows what is lost without it, if that is clearly more.
func TestTheTableComparesWithABrokenTwin(t *testing.T) {
	const kind = "NoFailedRequests"
	results := []runfolder.ScenarioResult{{Name: "app/rollout", Outcome: "violated", Verdicts: said(kind, "violated", "1")}}
	for name, failed := range map[string]string{"a-1": "93", "b-1": "7", "c-1": "8"} {
		results = append(results, runfolder.ScenarioResult{Name: name, Outcome: "held", Verdicts: said(kind, "violated", failed)})
	}
	removal := func(place, without string) apptest.Removal {
		return apptest.Removal{Practice: apptest.Practice{Place: place, Removed: "the hook", Fault: "rollout"}, Twin: "app/rollout", Without: []string{without}}
	}
	tried := apptest.Trial{Removals: []apptest.Removal{removal("web.yaml:1", "a-1"), removal("web.yaml:2", "b-1"), removal("web.yaml:3", "c-1")}}
	rowsOf(t, tried.Table(runfolder.File{Scenarios: results}), map[string]string{
		"web.yaml:1": "more requests were lost in 1 of 1 (93 requests failed; with it 1)",
		"web.yaml:2": "not noticed in 1 of 1 (7 requests failed; with it 1): nothing shows",
		"web.yaml:3": "more requests were lost in 1 of 1 (8 requests failed; with it 1)",
	})
}

// finding is what the audit found, with a patch.
func finding(t *testing.T, rule string, fixable bool) history.Finding {
	t.Helper()
	f := history.Finding{Rule: rule, Commands: []string{"kubectl patch for " + rule}}
	if fixable {
		raw, err := json.Marshal([]audit.Step{{Do: audit.Patch, Command: f.Commands[0], Target: audit.Target{Kind: "Deployment", Name: "web"}, Body: json.RawMessage(`{}`)}})
		if err != nil {
			t.Fatal(err)
		}
		f.Fix = raw
	}
	return f
}

// What the audit proposes is tried under the fault that it is for, if that breaks a promise, and with nothing else changed.
func TestAdditions(t *testing.T) {
	a, file := read(t, manifests)
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, tried, err := test.Ablate(2)
	if err != nil {
		t.Fatal(err)
	}
	twin := func(name string) scenario.Spec {
		return specs[slices.IndexFunc(specs, func(s scenario.Spec) bool { return s.Name == name })]
	}
	found := []history.Finding{finding(t, "no-prestop", true), finding(t, "no-readiness-probe", false), finding(t, "no-budget", true), finding(t, "fixed-node-ports", true)}
	more, err := tried.Add(twin("app/rollout"), verdict.Violated, found)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range more {
		names = append(names, s.Name)
		if len(s.Fix) != 1 || s.Fix[0].Command != "kubectl patch for no-prestop" || s.Lot != "app/rollout" || s.Mutant != nil || len(s.Faults) != 1 {
			t.Errorf("%s: fix %+v, lot %q", s.Name, s.Fix, s.Lot)
		}
	}
	if diff := cmp.Diff([]string{"add/no-prestop-web-1", "add/no-prestop-web-2"}, names); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	for what, outcome := range map[string]verdict.Outcome{"held": verdict.Held, "unknown": verdict.Unknown} {
		if more, err := tried.Add(twin("app/drain"), outcome, found); len(more) > 0 || err != nil {
			t.Errorf("after a drain that was %s: %d scenarios, %v", what, len(more), err)
		}
	}
	if more, err := tried.Add(more[0], verdict.Violated, found); len(more) > 0 || err != nil {
		t.Errorf("after an addition itself: %d scenarios, %v", len(more), err)
	}
	if more, err := tried.Add(specs[len(specs)-1], verdict.Held, found); len(more) > 0 || err != nil {
		t.Errorf("after %s: %d scenarios, %v", specs[len(specs)-1].Name, len(more), err)
	}
	const none = "NoFailedRequests"
	table := tried.Table(runfolder.File{Scenarios: []runfolder.ScenarioResult{
		{Name: "app/rollout", Outcome: "violated", Verdicts: said(none, "violated", "54")}, {Name: "app/drain", Outcome: "unknown"},
		{Name: "add/no-prestop-web-1", Outcome: "held", Verdicts: said(none, "held", "0")},
		{Name: "add/no-prestop-web-2", Outcome: "violated", Verdicts: said(none, "violated", "1")},
	}})
	rowsOf(t, table, map[string]string{
		"no-prestop: no preStop hook":       "app/rollout was held in 1 of 2 (0 and 1 requests failed; without it 54)",
		file + ":4":                         "no-prestop",
		"no-budget: no PodDisruptionBudget": "not tried: without it, app/drain was unknown",
		"fixed-node-ports":                  "not tried: it is for node-kill, which was not run",
		"patch for no-prestop:":             "kubectl patch for no-prestop",
		"WHERE":                             "MISSING PRACTICE",
	})
	if strings.Contains(table, "no-readiness-probe") || strings.Contains(table, "kubectl patch for no-budget") {
		t.Errorf("what has no patch, and a patch that cured nothing, are no advice:\n%s", table)
	}
}

// A patch is proposed only if each judged run with it was better than the one without it.
func TestAPatchIsProposedIfItHelpsEachTime(t *testing.T) {
	const none = "NoFailedRequests"
	for what, test := range map[string]struct {
		without string // requests that failed
		with    [][2]string
		want    bool
	}{
		"held in three of three":                         {"54", [][2]string{{"held", "0"}, {"held", "0"}, {"held", "0"}}, true},
		"held in one of three":                           {"54", [][2]string{{"held", "0"}, {"violated", "50"}, {"violated", "60"}}, false},
		"held in two of three":                           {"54", [][2]string{{"held", "0"}, {"held", "0"}, {"violated", "40"}}, false},
		"one request by chance":                          {"54", [][2]string{{"held", "0"}, {"violated", "1"}}, true},
		"only by chance before":                          {"1", [][2]string{{"held", "0"}, {"held", "0"}}, false},
		"one could not be judged":                        {"54", [][2]string{{"held", "0"}, {"unknown", "9"}}, true},
		"none could be judged":                           {"54", [][2]string{{"unknown", "0"}}, false},
		"nothing failed, and a drain was blocked":        {"0", [][2]string{{"held", "0"}}, true},
		"nothing failed, and a drain is blocked as ever": {"0", [][2]string{{"violated", "0"}}, false},
	} {
		results := []runfolder.ScenarioResult{{Name: "app/drain", Outcome: "violated", Verdicts: said(none, "violated", test.without)}}
		a := apptest.Addition{Rule: "no-budget", Twin: "app/drain", Commands: []string{"kubectl patch"}}
		for i, with := range test.with {
			name := fmt.Sprint("add/", i)
			a.With = append(a.With, name)
			results = append(results, runfolder.ScenarioResult{Name: name, Outcome: with[0], Verdicts: said(none, with[0], with[1])})
		}
		table := (&apptest.Trial{Additions: []apptest.Addition{a}}).Table(runfolder.File{Scenarios: results})
		if got := strings.Contains(table, "patch for no-budget: kubectl patch"); got != test.want {
			t.Errorf("%s: proposed: %t\n%s", what, got, table)
		}
	}
}

// Each rule of the audit is for a fault.
func TestEveryRuleIsForAFault(t *testing.T) {
	a, _ := read(t, manifests)
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, _, err := test.Ablate(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range audit.Rules {
		_, tried, err := test.Ablate(1)
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		for _, s := range specs[:2] {
			more, err := tried.Add(s, verdict.Violated, []history.Finding{finding(t, rule.ID, true)})
			if err != nil {
				t.Fatal(err)
			}
			tries += len(more)
		}
		if len(tried.Additions) != 1 || tried.Additions[0].Fault == "" || tries == 0 && tried.Additions[0].Fault != "node-kill" {
			t.Errorf("%s: %d scenarios, %+v", rule.ID, tries, tried.Additions)
		}
	}
}
