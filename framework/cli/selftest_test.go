package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/selftest"
)

// A selftest, from the command line to the exit code of its process: each round is a run with its own seed, and all rounds are counted.
func TestSelftestIsAProcess(t *testing.T) {
	for name, test := range map[string]struct {
		args    string
		code    int
		out     []string
		err     string
		rounds  map[string][]string // the scenarios of each
		deleted int                 // clusters
	}{
		"nothing can be certified": {
			args: "selftest --runs 2 --provider hamlet --seed 5", code: exit.Unknown,
			out: []string{
				": 2 rounds of 2 scenarios, about 3m0s\n", "[1/4] chaos/one", "[4/4] chaos/one",
				"\nround 1 of 2: 0 scenarios held, 0 violated, 1 unknown; 0 of 1 mutants caught, 1 unknown\n" +
					"so far: 0 of 0 broken workloads caught (nothing is known), 0 false alarms in 0 good runs (nothing is known), 2 Unknown, 0 not judged\n",
				"\nabout 0s left\n", "4 Unknown",
			},
			err: "holdfast: unknown: evidence is missing", deleted: 4, // no cluster is usable for the next scenario
			rounds: map[string][]string{
				"round-001": {"chaos/one unknown", "mutants/three unknown"}, "round-002": {"mutants/three unknown", "chaos/one unknown"},
			},
		},
		"one of them, of the full scope": {
			args: "selftest chaos/two --runs 1 --provider hamlet --seed 5", code: exit.Unknown, deleted: 1,
			rounds: map[string][]string{"round-001": {"chaos/two unknown"}},
		},
		"no cluster": {
			args: "selftest --runs 1 --provider nowhere --seed 5", code: exit.Failed,
			err:    "the harness or its environment failed before everything could be judged",
			rounds: map[string][]string{"round-001": {"chaos/one provision a cluster: no engine", "mutants/three provision a cluster: no engine"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, log, code := process(t, test.args+" --no-instrument --artifacts "+dir)
			if code != test.code || !strings.Contains(log, test.err) {
				t.Errorf("exit code %d, want %d; standard error\n%s\nwant %q", code, test.code, log, test.err)
			}
			for _, want := range append(test.out, "\nselftest: "+dir) {
				if !strings.Contains(out, want) {
					t.Errorf("said\n%s\nwant %q in it", out, want)
				}
			}
			if n := strings.Count(out, "deleted a cluster"); n != test.deleted {
				t.Errorf("%d clusters were deleted, want %d", n, test.deleted)
			}
			latest := filepath.Join(dir, runfolder.LastAttemptName)
			rounds, seeds := map[string][]string{}, map[uint64]bool{}
			for name := range test.rounds {
				file, err := runfolder.ReadFile(filepath.Join(latest, name))
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range file.Scenarios {
					rounds[name] = append(rounds[name], s.Name+" "+s.Outcome+s.Error)
					if !strings.Contains(s.Reproduce, fmt.Sprintf("holdfast run %s --seed %d", s.Name, file.Seed)) {
						t.Errorf("%s of seed %d is reproduced by %q", s.Name, file.Seed, s.Reproduce)
					}
				}
				if diff := cmp.Diff(reportFiles, written(t, filepath.Join(latest, name))); diff != "" {
					t.Errorf("reports of %s (-want +got):\n%s", name, diff)
				}
				seeds[file.Seed] = true
			}
			if diff := cmp.Diff(test.rounds, rounds); diff != "" || len(seeds) != len(rounds) {
				t.Errorf("%d seeds; rounds (-want +got):\n%s", len(seeds), diff)
			}
			for _, name := range []string{selftest.MarkdownFile, selftest.JSONFile} {
				if _, err := os.Stat(filepath.Join(latest, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The instrument needs no cluster. Its result is printed.
func TestSelftestWithoutACluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, log, code := process(t, "selftest --no-cluster --outages 0 --losses 0s --soak 400 --provider nowhere --artifacts "+dir)
	if code == exit.Failed || code == exit.BadUsage { // on a busy machine the instrument may have findings
		t.Errorf("exit code %d; standard error\n%s", code, log)
	}
	if !strings.Contains(out, " good requests of a soak failed (") || strings.Contains(out, "rounds of") {
		t.Errorf("said\n%s", out)
	}
	written, err := os.ReadFile(filepath.Join(dir, runfolder.LatestName, selftest.MarkdownFile))
	if err != nil || !strings.Contains(string(written), "### Soak") || strings.Contains(string(written), "mutants caught") {
		t.Errorf("%v; selftest.md:\n%s", err, written)
	}
}

// storedRun is the folder of a run in which a mutant was missed, caught or Unknown.
func storedRun(t *testing.T, id string, outcome string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id)
	mutant := runfolder.ScenarioResult{Name: "mutants/m", Dir: "mutants/m", Took: 1, Outcome: outcome, Mutant: &history.Mutant{CaughtBy: "Spread", Twin: "chaos/a"}}
	good := runfolder.ScenarioResult{Name: "chaos/a", Dir: "chaos/a", Took: 1, Outcome: "held"}
	if err := (runfolder.File{ID: id, Scenarios: []runfolder.ScenarioResult{mutant, good}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Stored runs are counted together.
func TestSelftestAddsUp(t *testing.T) {
	one, two := storedRun(t, "one", "held"), storedRun(t, "two", "held")
	missed, unknown := storedRun(t, "missed", "violated"), storedRun(t, "unknown", "unknown")
	for _, test := range []struct {
		from []string
		code int
		says string
	}{
		{[]string{one, two}, exit.Held, "2 of 2 broken workloads caught (at least 22.4 %), 0 false alarms in 2 good runs (at most 77.6 %), 0 Unknown, 0 not judged"},
		{[]string{one, missed, unknown}, exit.Violated, "1 of 2 broken workloads caught"},
		{[]string{one, unknown}, exit.Unknown, "1 of 1 broken workloads caught (at least 5 %), 0 false alarms in 2 good runs (at most 77.6 %), 1 Unknown"},
		{[]string{one, one}, exit.Failed, ""},
		{[]string{t.TempDir()}, exit.Failed, ""},
	} {
		artifacts := t.TempDir()
		args := []string{"selftest", "--artifacts", artifacts}
		for _, folder := range test.from {
			args = append(args, "--from", folder)
		}
		out, code, err := execute(t, args...)
		if code != test.code || !strings.Contains(out, test.says) {
			t.Errorf("%v: exit code %d, %v; want %d\n%s\nwant %q", test.from, code, err, test.code, out, test.says)
		}
		made, err := filepath.Glob(filepath.Join(artifacts, "*", selftest.MarkdownFile))
		if want := test.code != exit.Failed; err != nil || (len(made) == 1) != want {
			t.Errorf("%v: made %v, %v", test.from, made, err)
		}
	}
}
