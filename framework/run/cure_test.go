package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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
				c.takeTurn(ctx, quiet())
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
