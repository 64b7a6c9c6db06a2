package launch_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/run/launch"
)

func TestReproduceRepeatsWhatMatters(t *testing.T) {
	o := launch.Options{Scope: "full", Seed: 42, Timings: "stock"}
	want := "holdfast run chaos/a --seed 42 --kubernetes v1.37.0 --timings stock"
	if got := o.Reproduce("chaos/a", "v1.37.0"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	some := launch.Options{Scope: "short", Seed: 42, Names: []string{"chaos/drain-*"}, Labels: []string{"load"}}
	if got := some.Reproduce("", ""); got != "holdfast run 'chaos/drain-*' --label load --seed 42" {
		t.Errorf("of some: %s", got)
	}
	on := launch.Options{Cluster: "demo", Scope: "short", Seed: 42}
	if got := on.Reproduce("chaos/a", "v1.37.0"); got != "holdfast run chaos/a --cluster demo --seed 42" { // which has its version
		t.Errorf("on a cluster: %s", got)
	}
	if got := o.Reproduce("", ""); got != "holdfast run --scope full --seed 42 --timings stock" {
		t.Errorf("of all: %s", got)
	}
}

func TestTheTimeBudgetIsBounded(t *testing.T) {
	for o, valid := range map[*launch.Options]bool{
		{}: true, {TimeBudget: time.Hour}: true, {TimeBudget: -time.Hour}: false, {TimeBudget: time.Hour, Incident: "x"}: false,
	} {
		if err := o.Validate(); (err == nil) != valid {
			t.Errorf("%s of incident %q: %v", o.TimeBudget, o.Incident, err)
		}
	}
}

// none provides no clusters.
type none struct{ clusters.Provider }

// Without --seed, each run has a different seed, which fits into a JSON number, and which is in the commands.
func TestSeedIsMadeAndNamed(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	seen := map[uint64]bool{}
	for range 100 {
		s, err := launch.Options{Artifacts: t.TempDir(), Scope: "short"}.Settings(t.Context(), "v1.2.3", io.Discard, provider.Provider{Provider: none{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Seed == 0 || s.Seed >= 1<<53 || seen[s.Seed] {
			t.Errorf("seed %d", s.Seed)
		}
		seen[s.Seed] = true
		if want := fmt.Sprintf("holdfast run --seed %d", s.Seed); s.Reproduce("", "") != want {
			t.Errorf("reproduced by %q, want %q", s.Reproduce("", ""), want)
		}
	}
}
