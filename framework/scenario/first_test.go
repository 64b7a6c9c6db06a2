package scenario_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// What tells most comes first, in its own order, and nothing is lost or changed.
func TestMostTellingFirst(t *testing.T) {
	all := []scenario.Spec{{Name: "chaos/delete-pods"}, {Name: "mutants/no-prestop"}, {Name: "chaos/kill-one-worker"}, {Name: "chaos/rolling-update"}, {Name: "chaos/scale-up-and-down"}}
	sorted := scenario.MostTellingFirst(all)
	want := []string{"chaos/rolling-update", "mutants/no-prestop", "chaos/kill-one-worker", "chaos/delete-pods", "chaos/scale-up-and-down"}
	if got := scenario.Names(sorted); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for i, s := range sorted {
		if s.First != (i < 3) {
			t.Errorf("%s: first is %v", s.Name, s.First)
		}
	}
	if all[1].First || all[0].Name != "chaos/delete-pods" {
		t.Error("the scenarios that were passed in have changed")
	}
}
