package selftest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/run"
)

// Each round has its own folder, name and seed, and its commands have the seed.
func TestSettingsOfRounds(t *testing.T) {
	r := Rounds{
		Base: run.Settings{RunID: "now", Dir: "artifacts/now", Seed: 7},
		Reproduce: func(seed uint64) func(string, string) string {
			return func(name, _ string) string { return fmt.Sprintf("run %s --seed %d", name, seed) }
		},
	}
	rounds := r.settings(12)
	var seeds []uint64
	for i, s := range rounds {
		name := fmt.Sprintf("round-%03d", i+1)
		if s.RunID != "now/"+name || s.Dir != filepath.Join("artifacts/now", name) || slices.Contains(seeds, s.Seed) {
			t.Errorf("round %d: %s in %s, seed %d", i+1, s.RunID, s.Dir, s.Seed)
		}
		if got, want := s.Reproduce("chaos/a", ""), fmt.Sprintf("run chaos/a --seed %d", s.Seed); got != want {
			t.Errorf("round %d: reproduced by %q, want %q", i+1, got, want)
		}
		seeds = append(seeds, s.Seed)
	}
	if len(rounds) != 12 {
		t.Errorf("%d rounds", len(rounds))
	}
}

func TestTimeLeft(t *testing.T) {
	c := counter{began: time.Now().Add(-time.Hour), report: &Report{Asked: 1}}
	if got := c.left(1); got != "" {
		t.Errorf("after the last round: %q", got)
	}
	c.report.Asked = 3
	if got := c.left(1); got != "\nabout 2h0m0s left" {
		t.Errorf("after the first round: %q", got)
	}
}
