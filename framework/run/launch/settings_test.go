package launch

import (
	"io"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
)

// none provides no clusters.
type none struct{ clusters.Provider }

// Without --seed, each run has a different seed, which fits into a JSON number.
func TestASeedIsMade(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	seen := map[uint64]bool{}
	for range 100 {
		s, err := Settings(t.Context(), run.Options{Artifacts: t.TempDir()}, Tools{Version: "v1.2.3", Out: io.Discard, Provider: provider.Provider{Provider: none{}}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Seed == 0 || s.Seed >= 1<<53 || seen[s.Seed] {
			t.Errorf("seed %d", s.Seed)
		}
		seen[s.Seed] = true
	}
}
