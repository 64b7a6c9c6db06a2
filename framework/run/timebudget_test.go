package run

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// What is left out is listed as not begun, with the reason, and the run is not whole. What tells most is run although no time is left.
func TestARunThatRunsOutOfTime(t *testing.T) {
	c := newFixture(t)
	c.budget.Limit, c.budget.Began = time.Minute, time.Unix(0, 0) // and the fixture's run began in 1970
	telling, other := quiet(), quiet()
	telling.Name, telling.First, other.Name = "chaos/telling", true, "chaos/other"
	chosen := []scenario.Spec{other, telling}
	synctest.Test(t, func(t *testing.T) {
		for _, s := range ByCluster(chosen) {
			c.takeTurn(t.Context(), s)
		}
	})
	if err := c.finish(chosen); err != nil {
		t.Fatal(err)
	}
	f := c.kept()
	names := []string{f.Scenarios[0].Name, f.Scenarios[1].Name}
	if !slices.Equal(names, []string{"chaos/telling", "chaos/other"}) || f.Scenarios[0].NotBegun != "" {
		t.Errorf("what tells most was left out, or came last: %+v", f.Scenarios)
	}
	if got, want := f.Scenarios[1].NotBegun, "not begun: --time-budget 1m0s"; got != want || f.Interrupted != runfolder.OutOfTime+"1m0s" {
		t.Errorf("got %q of a run interrupted by %q, want %q", got, f.Interrupted, want)
	}
	if want := "chaos/other is left out: it would not end within --time-budget 1m0s"; !strings.Contains(c.out.String(), want) {
		t.Errorf("%q is not in\n%s", want, c.out.String())
	}
}

// Scenarios on another cluster do not come between those that tell most.
func TestWhatComesFirstComesBeforeOtherClusters(t *testing.T) {
	small := clusters.Spec{Zones: []string{"a"}}
	got := ByCluster([]scenario.Spec{{Name: "a", First: true}, {Name: "b", First: true, Cluster: small}, {Name: "c"}, {Name: "d", Cluster: small}, {Name: "e"}})
	var names []string
	for _, s := range got {
		names = append(names, s.Name)
	}
	if want := []string{"a", "b", "c", "e", "d"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}
