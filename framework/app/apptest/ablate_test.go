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
	a := read(t, careful)
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
	a := read(t, strings.Replace(shop, "replicas: 3", "replicas: 1", 1))
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, tried, err := test.Ablate(1)
	if err != nil || len(specs) != 2 || specs[0].Name != "app/rollout" || specs[1].Name != "app/drain" {
		t.Fatalf("%v of %d scenarios", err, len(specs))
	}
	if text := tried.Table(runfolder.File{}); !strings.Contains(text, "no practice that could be taken away") {
		t.Errorf("got %q", text)
	}
}

// said is a verdict on a promise about failed requests, as run.json has it.
func said(kind, outcome, failed string) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"kind":"DrainCompletes","outcome":"violated"}`),
		json.RawMessage(`{"kind":"` + kind + `","outcome":"` + outcome + `","numbers":{"failed":` + failed + `}}`)}
}

// A practice is worth something if clearly more requests fail without it: more than a few, and more than twice as many as with it. A test may allow
// failures, and a scenario that loses a request with a practice still shows what is lost without it.
func TestTheTableSaysWhatEachPracticeIsWorth(t *testing.T) {
	got := map[string]string{}
	for name, test := range map[string]struct {
		with    [2]string   // the outcome of the scenario with the practice, and its failed requests
		without [][2]string // those without it
	}{
		"lost in one of two, one unknown": {[2]string{"held", "0"}, [][2]string{{"held", "65"}, {"held", "0"}, {"unknown", "65"}}},
		"not noticed":                     {[2]string{"held", "0"}, [][2]string{{"held", "0"}}},
		"by chance, as with it":           {[2]string{"held", "0"}, [][2]string{{"held", "1"}}},
		"none could be judged":            {[2]string{"held", "0"}, [][2]string{{"unknown", "0"}}},
		"the twin was unknown":            {[2]string{"unknown", "0"}, [][2]string{{"held", "9"}}},
		"the twin was not judged":         {[2]string{"", "0"}, [][2]string{{"held", "9"}}},
		"none was run":                    {[2]string{"held", "0"}, nil},
		"a few with it":                   {[2]string{"held", "2"}, [][2]string{{"held", "12"}, {"held", "3"}}},
		"many with it, more without":      {[2]string{"held", "40"}, [][2]string{{"held", "131"}, {"held", "128"}}},
		"many with it, not twice":         {[2]string{"held", "40"}, [][2]string{{"held", "70"}, {"held", "45"}}},
		"many with it, at the limit":      {[2]string{"held", "40"}, [][2]string{{"held", "85"}, {"held", "86"}}},
		"a broken twin":                   {[2]string{"violated", "1"}, [][2]string{{"held", "93"}}},
		"a broken twin, below the limit":  {[2]string{"violated", "1"}, [][2]string{{"held", "7"}}},
		"a broken twin, above it":         {[2]string{"violated", "1"}, [][2]string{{"held", "8"}}},
	} {
		const kind = "FewFailedRequests"
		r := apptest.Removal{Practice: apptest.Practice{Place: "web.yaml:1", Removed: "the hook", Fault: "rollout"}, Twin: "app/rollout"}
		file := runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: r.Twin, Outcome: test.with[0], Verdicts: said(kind, "held", test.with[1])}}}
		for i, one := range test.without {
			r.Without = append(r.Without, fmt.Sprint("a-", i))
			file.Scenarios = append(file.Scenarios, runfolder.ScenarioResult{Name: r.Without[i], Outcome: one[0], Verdicts: said(kind, "held", one[1])})
		}
		rows := strings.Split((&apptest.Trial{Removals: []apptest.Removal{r}}).Table(file), "\n")
		got[name] = rows[3] + "\n"
	}
	golden(t, "ablation.txt", got)
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
	a := read(t, shop)
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
	golden(t, "additions.txt", map[string]string{"after a rollout that was violated": table})
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
	a := read(t, shop)
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
