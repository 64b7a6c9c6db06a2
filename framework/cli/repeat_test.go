package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// Each round of a repeated run is a run of its own, with its own seed, folder and report. All of them are counted together.
func TestRepeatIsAProcess(t *testing.T) {
	for name, test := range map[string]struct {
		args    string
		code    int
		out     string
		rounds  map[string][]string // the scenarios of each
		deleted int                 // clusters
	}{
		"nothing can be certified": {
			args: "--provider hamlet", code: exit.Unknown, deleted: 4, // no cluster is usable for the next scenario
			out: "\n2 of 2 rounds were run: 0 of 0 mutants caught (nothing is known), 0 false alarms in 0 good runs (nothing is known), 4 Unknown of 4 runs (at least 47.3 %)\n",
			rounds: map[string][]string{
				"round-001": {"chaos/one unknown", "mutants/three unknown"}, "round-002": {"mutants/three unknown", "chaos/one unknown"},
			},
		},
		"no cluster": {
			args: "--provider nowhere chaos/two", code: exit.Failed, out: ", 2 not judged\n",
			rounds: map[string][]string{"round-001": {"chaos/two provision a cluster: no engine"}, "round-002": {"chaos/two provision a cluster: no engine"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, log, code := process(t, "run --repeat 2 --seed 5 "+test.args+" --artifacts "+dir)
			if code != test.code || !strings.Contains(out, test.out) || strings.Count(out, "deleted a cluster") != test.deleted {
				t.Errorf("exit code %d, want %d, %q and %d deleted clusters\n%s\n%s", code, test.code, test.out, test.deleted, out, log)
			}
			rounds, seeds := map[string][]string{}, map[uint64]bool{}
			for name := range test.rounds {
				folder := filepath.Join(dir, runfolder.LastAttemptName, name)
				file, err := runfolder.ReadFile(folder)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range file.Scenarios {
					rounds[name] = append(rounds[name], s.Name+" "+s.Outcome+s.Error)
					if !strings.HasPrefix(s.Reproduce, fmt.Sprintf("holdfast run %s --seed %d", s.Name, file.Seed)) {
						t.Errorf("%s of seed %d is reproduced by %q", s.Name, file.Seed, s.Reproduce)
					}
				}
				if diff := cmp.Diff(reportFiles, written(t, folder)); diff != "" {
					t.Errorf("reports of %s (-want +got):\n%s", name, diff)
				}
				seeds[file.Seed] = true
			}
			if diff := cmp.Diff(test.rounds, rounds); diff != "" || len(seeds) != len(rounds) {
				t.Errorf("%d seeds; rounds (-want +got):\n%s", len(seeds), diff)
			}
		})
	}
}
