package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// A fix is judged by the cause that it is for. That nothing fails any more is said only where that was seen.
func TestWhatAFixDid(t *testing.T) {
	const late, cut = "requests were sent to a pod that had stopped listening", "requests were cut by a server"
	broken := result{outcome: verdict.Violated, remedies: []judge.Remedy{
		{Rule: "no-prestop", Why: late, Fix: json.RawMessage(`[{}]`)}, {Why: "advice without a fix"},
	}}
	for name, test := range map[string]struct {
		again result
		want  string
	}{
		"held": {result{outcome: verdict.Held}, "cured by no-prestop: app/rollout-fixed"},
		"another cause": {
			result{outcome: verdict.Violated, remedies: []judge.Remedy{{Why: cut + ": let it finish"}}},
			"cured by no-prestop of what it is for: app/rollout-fixed; what is left has another cause: " + cut + ": let it finish",
		},
		"the same cause": {
			result{outcome: verdict.Violated, remedies: []judge.Remedy{{Why: cut + ": let it finish"}, {Why: late + ": let it sleep longer"}}},
			"not cured by no-prestop: app/rollout-fixed",
		},
		"no known cause": {result{outcome: verdict.Violated}, "not cured by no-prestop: app/rollout-fixed"},
		"unknown":        {result{outcome: verdict.Unknown, remedies: []judge.Remedy{{Why: cut}}}, "not cured by no-prestop: app/rollout-fixed"},
		"interrupted":    {result{interrupted: true}, "not cured by no-prestop: app/rollout-fixed"},
	} {
		if got := cured(broken, test.again, "no-prestop", "app/rollout-fixed"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// Further scenarios follow the one that they are made of, and none follows them.
func TestFurtherScenarios(t *testing.T) {
	named := func(name string) scenario.Spec {
		s := quiet()
		s.Name = name
		return s
	}
	for what, test := range map[string]struct {
		more   []scenario.Spec
		err    error
		cancel bool
		want   []string
	}{
		"two":            {more: []scenario.Spec{named("add/a"), named("add/b")}, want: []string{"chaos/quiet held", "add/a held", "add/b held"}},
		"none":           {want: []string{"chaos/quiet held"}},
		"an error":       {err: errors.New("the fix is no patch"), want: []string{"chaos/quiet held"}},
		"an interrupted": {more: []scenario.Spec{named("add/a")}, cancel: true, want: []string{"chaos/quiet held"}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newFixture(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var asked []string
				c.settings.Further = func(of scenario.Spec, outcome verdict.Outcome, _ []history.Finding) ([]scenario.Spec, error) {
					asked = append(asked, of.Name+" "+string(outcome))
					if test.cancel {
						cancel()
					}
					return test.more, test.err
				}
				c.takeTurn(ctx, []scenario.Spec{quiet()})
				var got []string
				for _, s := range c.kept().Scenarios {
					got = append(got, s.Name+" "+s.Outcome)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("run.json (-want +got):\n%s", diff)
				}
				if !slices.Equal(asked, []string{"chaos/quiet held"}) {
					t.Errorf("asked after %q", asked)
				}
				if test.err != nil && !strings.Contains(c.out.String(), test.err.Error()) {
					t.Errorf("not told: %v", test.err)
				}
			})
		})
	}
}
