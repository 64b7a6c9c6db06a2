package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// calm is a fixture whose clusters are not watched.
func calm(t *testing.T) *fixture {
	c := newFixture(t)
	c.onCreate = func(*clustertest.Cluster) {}
	return c
}

// called is the quiet scenario with other names.
func called(names ...string) (all []scenario.Spec) {
	for _, name := range names {
		s := quiet()
		s.Name = name
		all = append(all, s)
	}
	return all
}

func threeClusters() []scenario.Spec {
	all := called("chaos/lab", "chaos/stock", "chaos/again", "mutants/uneven")
	all[1].Cluster.Profile = clusters.Stock
	all[1].Faults = []fault.Fault{staged{name: "A", err: errors.New("boom")}}
	all[2].Cluster.Profile, all[2].Cluster.ControlPlanes = clusters.Lab, 1 // the defaults, written out
	all[2].Backend.Spread, all[2].Promises = nil, []invariant.Invariant{invariant.Spread{TopologyKey: "kubernetes.io/hostname"}}
	all[2].Backend.Replicas = 7 // over six nodes
	all[3].Backend, all[3].Promises = all[2].Backend, all[2].Promises
	all[3].Mutant = &history.Mutant{CaughtBy: "Spread", Removed: "evenness", Twin: "chaos/lab"}
	return all
}

// interruptedIn makes a scenario interrupt a run, if it is to.
func interruptedIn(s *scenario.Spec, t *testing.T, when func() bool) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	s.Faults = append(s.Faults, errand{name: "Ctrl-C", do: func(ctx context.Context) error {
		if when() {
			cancel()
			<-ctx.Done()
		}
		return ctx.Err()
	}})
	return ctx
}

// outcomes of a run's scenarios, in order.
func outcomes(f runfolder.File) (words []string) {
	for _, s := range f.Scenarios {
		words = append(words, s.Name+" "+s.Outcome+s.Error+s.Interrupted+s.NotBegun)
	}
	return words
}

// Scenarios for one cluster come one after the other, whatever became of those before, and the last cluster is removed.
func TestScenarios(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calm(t)
		file, err := Scenarios(t.Context(), *c.settings, threeClusters())
		want := []string{"chaos/lab held", "chaos/again violated", "mutants/uneven held", "chaos/stock unknown"}
		if diff := cmp.Diff(want, outcomes(file)); diff != "" || err != nil || file.Outcome != "violated" || file.Ended.IsZero() {
			t.Errorf("%v, outcome %s, ended %s; scenarios (-want +got):\n%s", err, file.Outcome, file.Ended, diff)
		}
		if diff := cmp.Diff([]string{"open 0", "close 0", "open 0-2", "close 0-2"}, c.did); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
		for _, word := range []string{"  HELD in ", "  VIOLATED in ", "  CAUGHT in ", "  UNKNOWN in "} {
			if strings.Count(c.out.String(), word) != 1 {
				t.Errorf("said:\n%s\nwant %q once", &c.out, word)
			}
		}
		if _, err := Scenarios(t.Context(), *c.settings, nil); err == nil {
			t.Error("a run of nothing began")
		}
	})
}

// Runs that follow each other in a process, as those of a test that watches its files, share a cluster until the caller gives it back.
func TestRunsShareACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calm(t)
		c.settings.Shared = &Pool{}
		for _, id := range []string{"r1", "r2"} {
			c.settings.RunID, c.settings.Dir = id, filepath.Join(filepath.Dir(c.settings.Dir), id)
			if file, err := Scenarios(t.Context(), *c.settings, called("chaos/first")); err != nil || file.Outcome != "held" {
				t.Errorf("%s: %v, outcome %s", id, err, file.Outcome)
			}
		}
		if err := c.settings.Shared.Discard(t.Context()); err != nil || !slices.Equal(c.did, []string{"open 0", "close 0"}) {
			t.Errorf("%q, %v", c.did, err)
		}
	})
}

// An interruption undoes the faults of the scenario at hand, keeps what was recorded, begins no other, and removes the cluster.
func TestAnInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := calm(t), called("chaos/first", "chaos/second", "chaos/third")
		ctx := interruptedIn(&all[1], t, func() bool { return true })
		file, err := Scenarios(ctx, *c.settings, all)
		want := []string{"chaos/first held", "chaos/second interrupted in the phase disturbed", "chaos/third not begun: the run was interrupted"}
		if diff := cmp.Diff(want, outcomes(file)); diff != "" || err != nil || file.Outcome != runfolder.OutcomeInterrupted {
			t.Errorf("%v, outcome %s, interrupted by %q; scenarios (-want +got):\n%s", err, file.Outcome, file.Interrupted, diff)
		}
		if strings.Contains(c.out.String(), "UNKNOWN") || strings.Count(c.out.String(), "  INTERRUPTED in ") != 1 {
			t.Errorf("said\n%s\nwant INTERRUPTED, and nothing of a doubt", &c.out)
		}
		if again := file.Scenarios[2].Reproduce; again != "again chaos/third " {
			t.Errorf("the scenario that was not begun is reproduced by %q", again)
		}
		if diff := cmp.Diff([]string{"open 0", "close 0"}, c.did); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
		r := c.recorded(all[1])
		healed := 0
		for _, e := range r.Events {
			if e.Fault != nil && e.Fault.Stage == history.Healed && e.Fault.Error == "" {
				healed++
			}
		}
		if healed != 2 || r.Incomplete != "" {
			t.Errorf("%d faults of 2 are undone; incomplete: %q", healed, r.Incomplete)
		}
	})
}

// A cluster that could not be removed takes nothing from the verdicts, and is not passed over in silence.
func TestAClusterThatCannotBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calm(t)
		c.settings.Close = func(context.Context, clusters.Cluster) error { return errors.New("no engine") }
		file, err := Scenarios(t.Context(), *c.settings, called("chaos/first"))
		if err != nil || file.Outcome != "held" || !strings.Contains(c.out.String(), "give back cluster 0: no engine") {
			t.Errorf("%v, outcome %s; said:\n%s", err, file.Outcome, &c.out)
		}
	})
}

// A panic in the harness, such as in a provider of a user's own, fails the scenario, and the cluster is removed.
func TestAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calm(t)
		c.settings.Describe = func(clusters.Cluster) ClusterFacts { panic("a bug") }
		file, err := Scenarios(t.Context(), *c.settings, called("chaos/first"))
		if err != nil || !strings.HasPrefix(file.Scenarios[0].Error, "panic: a bug") || !slices.Equal(c.did, []string{"open 0", "close 0"}) {
			t.Errorf("%v, %+v, %q", err, file.Scenarios, c.did)
		}
	})
}

// What another program runs, such as Ginkgo's command, has the same run.json.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := calm(t), threeClusters()
		c.settings.Kubernetes, c.settings.Args = "v1.36.3", []string{"run", "--timings", "lab"}
		c.settings.Machine = &runfolder.Machine{Cores: 5, Arch: "arm64"}
		s, err := Start(*c.settings)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"", "unknown: ", "violated: ", ""} {
			skipped, err := s.Scenario(t.Context(), all[i])
			if skipped != "" || (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %q, %v", all[i].Name, skipped, err)
			}
		}
		if err := s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := c.kept()
		if f.ID != "r1" || f.Holdfast != "v1.2.3" || f.Kubernetes != "v1.36.3" || f.Seed != 4711 || f.Reproduce != "again  v1.36.3" || f.Machine.Cores != 5 ||
			!slices.Equal(f.Args, c.settings.Args) || len(f.Scenarios) != 4 || f.Outcome != "violated" {
			t.Errorf("run.json: %+v", f)
		}
	})
}

func TestStartWantsAllOfItsSettings(t *testing.T) {
	for name, spoil := range map[string]func(*Settings){
		"Dir": func(s *Settings) { s.Dir = "" }, "RunID": func(s *Settings) { s.RunID = "" },
		"Open": func(s *Settings) { s.Open = nil }, "Close": func(s *Settings) { s.Close = nil },
		"Describe": func(s *Settings) { s.Describe = nil }, "Executable": func(s *Settings) { s.Executable = "" },
		"Reproduce": func(s *Settings) { s.Reproduce = nil }, "Progress": func(s *Settings) { s.Progress = nil },
	} {
		s := *newFixture(t).settings
		spoil(&s)
		if _, err := Start(s); err == nil || err.Error() != "start run: its settings are incomplete" {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// What lies in the way of a record is found before a cluster is made.
func TestStartWhereNothingCanBeWritten(t *testing.T) {
	s := *newFixture(t).settings
	if err := os.WriteFile(s.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(s)
	errtest.Check(t, err, "keep room for the report: ")
}

// roundsOf are the settings of n rounds of a fixture's run.
func roundsOf(c *fixture, n int) (rounds []Settings) {
	for i := range n {
		s := *c.settings
		name := fmt.Sprintf("round-%02d", i+1)
		s.RunID, s.Dir, s.Seed = s.RunID+"/"+name, filepath.Join(s.Dir, name), RoundSeed(s.Seed, i+1)
		rounds = append(rounds, s)
	}
	return rounds
}

// Each round is a run of its own, with its own seed and record; the rounds share the clusters, and the second one begins
// where the first one ended. An interruption leaves what was found before, and begins nothing else.
func TestRepeat(t *testing.T) {
	interrupted := called("chaos/first", "chaos/second", "chaos/third")
	for name, test := range map[string]struct {
		specs  []scenario.Spec
		rounds int
		whole  int
		did    []string
		want   [][]string
	}{
		"two": {threeClusters(), 2, 2, []string{"open 0", "close 0", "open 0-2", "close 0-2", "open 0-3", "close 0-3"}, [][]string{
			{"violated", "chaos/lab held", "chaos/again violated", "mutants/uneven held", "chaos/stock unknown"},
			{"violated", "chaos/stock unknown", "mutants/uneven held", "chaos/again violated", "chaos/lab held"},
		}},
		"interrupted in the second": {interrupted, 3, 1, []string{"open 0", "close 0"}, [][]string{
			{"held", "chaos/first held", "chaos/second held", "chaos/third held"},
			{"interrupted", "chaos/third held", "chaos/second interrupted in the phase disturbed", "chaos/first not begun: the run was interrupted"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, seconds := calm(t), 0
				specs := slices.Clone(test.specs)
				ctx := t.Context()
				if test.rounds == 3 {
					ctx = interruptedIn(&specs[1], t, func() bool { seconds++; return seconds == 2 })
				}
				var got [][]string
				seeds := map[uint64]bool{}
				whole, err := Repeat(ctx, roundsOf(c, test.rounds), specs, func(round int, f runfolder.File) {
					got = append(got, append([]string{f.Outcome}, outcomes(f)...))
					r, err := history.Open(filepath.Join(c.settings.Dir, fmt.Sprintf("round-%02d", round+1), filepath.FromSlash(f.Scenarios[0].Name)))
					if err != nil || r.Header.Seed != f.Seed || r.Header.RunID != f.ID || f.Ended.IsZero() || seeds[f.Seed] {
						t.Errorf("%s of seed %d has a record of run %s and seed %d: %v", f.ID, f.Seed, r.Header.RunID, r.Header.Seed, err)
					}
					seeds[f.Seed] = true
				})
				if diff := cmp.Diff(test.want, got) + cmp.Diff(test.did, c.did); diff != "" || whole != test.whole || err != nil {
					t.Errorf("%d whole, %v (-want +got):\n%s", whole, err, diff)
				}
			})
		})
	}
}

func TestRepeatNeedsSomething(t *testing.T) {
	c := newFixture(t)
	for name, rounds := range map[string][]Settings{
		"no rounds": nil, "no scenarios": roundsOf(c, 1), "incomplete": {*c.settings, {}},
	} {
		specs := map[bool][]scenario.Spec{true: {quiet()}}[name != "no scenarios"]
		if whole, err := Repeat(t.Context(), rounds, specs, nil); err == nil || whole != 0 {
			t.Errorf("%s: %d rounds, %v", name, whole, err)
		}
	}
}

// The seed of a round is its own, can be given on the command line, and is the same each time.
func TestRoundSeed(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := uint64(1); seed <= 50; seed++ {
		for round := 1; round <= 50; round++ {
			n := RoundSeed(seed, round)
			if n == 0 || n >= 1<<53 || n != RoundSeed(seed, round) || seen[n] {
				t.Fatalf("seed %d, round %d: %d", seed, round, n)
			}
			seen[n] = true
		}
	}
}

// An interrupted run is continued by another process: what was judged is kept, the rest is run again.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := calm(t), called("chaos/first", "chaos/second", "chaos/third")
		first := true
		ctx := interruptedIn(&all[1], t, func() bool { return first })
		before, err := Scenarios(ctx, *c.settings, all)
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(c.settings.Dir, "chaos", "first", history.EventsFile)
		record, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		first, c.did = false, nil
		c.settings.Resumed = time.Now().Add(time.Minute)
		file, err := Resume(t.Context(), *c.settings, all)
		if diff := cmp.Diff([]string{"chaos/first held", "chaos/second held", "chaos/third held"}, outcomes(file)); diff != "" || file.Outcome != "held" || err != nil {
			t.Errorf("%v, outcome %s; scenarios (-want +got):\n%s", err, file.Outcome, diff)
		}
		if len(c.did) != 2 || c.did[0] == "open 0" || file.Interrupted != "" || !file.Ended.After(before.Ended) {
			t.Errorf("resumed with %q; run.json: %+v", c.did, file)
		}
		want := []runfolder.Again{
			{Name: "chaos/second", Why: "interrupted in the phase disturbed", SetAside: "set-aside-1/chaos/second"},
			{Name: "chaos/third", Why: "not begun: the run was interrupted"},
		}
		if len(file.Resumed) != 1 || file.Resumed[0].Holdfast != "v1.2.3" {
			t.Fatalf("resumed: %+v", file.Resumed)
		}
		if diff := cmp.Diff(want, file.Resumed[0].Again); diff != "" {
			t.Errorf("run again (-want +got):\n%s", diff)
		}
		if now, err := os.ReadFile(kept); err != nil || string(now) != string(record) {
			t.Errorf("the record that was kept has changed, or %v", err)
		}
		aside, err := history.Open(filepath.Join(c.settings.Dir, "set-aside-1", "chaos", "second"))
		if err != nil || aside.Interrupted() == "" {
			t.Errorf("the old record is set aside with %v, interrupted %q", err, aside.Interrupted())
		}
		if !strings.Contains(c.out.String(), "resume run r1: 1 of 3 scenarios have their result already\n") {
			t.Errorf("said:\n%s", &c.out)
		}
	})
}
