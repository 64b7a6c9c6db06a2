package run

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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

// playRounds plays a plot again and again, in the process that is its own.
func playRounds(c *fixture, n int, specs []scenario.Spec) told {
	var after []string
	whole, err := Repeat(c.t.Context(), roundsOf(c, n), specs, func(round int, f runfolder.File) {
		after = append(after, fmt.Sprintf("%d: %s of %s, ended %t", round, f.Outcome, f.ID, !f.Ended.IsZero()))
	})
	return told{Did: c.did, Err: fmt.Sprint(err), Whole: whole, After: after}
}

// Each round is a run of its own, with its own seed and record; the rounds share the clusters, and the second one begins
// where the first one ended.
func TestRepeat(t *testing.T) {
	got, _, dir, out := playPlot(t, "two rounds")
	want := told{
		Did:   []string{"open 0", "close 0", "open 0-2", "close 0-2", "open 0-3", "close 0-3"},
		Err:   "<nil>",
		Whole: 2,
		After: []string{"0: violated of r1/round-01, ended true", "1: violated of r1/round-02, ended true"},
	}
	// A scenario of the second cluster fails in its fault, which leaves the cluster as it was: it is kept.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	forth := []string{"chaos/lab held", "chaos/again violated", "mutants/uneven held", "chaos/stock unknown"}
	back := []string{"chaos/stock unknown", "mutants/uneven held", "chaos/again violated", "chaos/lab held"}
	seeds := map[uint64]bool{}
	for i, want := range [][]string{forth, back} {
		folder := filepath.Join(dir, "r1", fmt.Sprintf("round-%02d", i+1))
		file, err := runfolder.ReadFile(folder)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, outcomes(file)); diff != "" || file.Outcome != "violated" {
			t.Errorf("round %d: outcome %s (-want +got):\n%s", i+1, file.Outcome, diff)
		}
		r, err := history.Open(filepath.Join(folder, "chaos", "lab"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Seed != file.Seed || r.Header.RunID != file.ID || r.Incomplete != "" {
			t.Errorf("round %d of seed %d has a record of run %s and seed %d: %s", i+1, file.Seed, r.Header.RunID, r.Header.Seed, r.Incomplete)
		}
		seeds[file.Seed] = true
	}
	if len(seeds) != 2 {
		t.Errorf("two rounds had the seeds %v", seeds)
	}
	if n := strings.Count(out, "  HELD in "); n != 2 {
		t.Errorf("said HELD %d times:\n%s", n, out)
	}
}

// Ctrl-C in a round leaves what was found before, begins nothing else, and removes the cluster.
func TestCtrlCInARound(t *testing.T) {
	got, _, dir, _ := playPlot(t, "interrupted in the second round")
	want := told{
		Did: []string{"open 0", "close 0"}, Err: "<nil>", Whole: 1,
		After: []string{"0: held of r1/round-01, ended true", "1: interrupted of r1/round-02, ended true"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for round, want := range map[string][]string{
		"round-01": {"chaos/first held", "chaos/second held", "chaos/third held"},
		"round-02": {"chaos/third held", "chaos/second interrupted in the phase disturbed", "chaos/first not begun: the run was interrupted"}, // backwards
	} {
		file, err := runfolder.ReadFile(filepath.Join(dir, "r1", round))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, outcomes(file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", round, diff)
		}
	}
	if _, err := runfolder.ReadFile(filepath.Join(dir, "r1", "round-03")); err == nil {
		t.Error("a third round was begun")
	}
}

func TestRepeatNeedsSomething(t *testing.T) {
	c := newFixture(t)
	s := quiet()
	for name, rounds := range map[string][]Settings{
		"no rounds": nil, "no scenarios": roundsOf(c, 1), "incomplete": {*c.settings, {}},
	} {
		specs := map[bool][]scenario.Spec{true: {s}}[name != "no scenarios"]
		if whole, err := Repeat(t.Context(), rounds, specs, nil); err == nil || whole != 0 || theRun != nil {
			t.Errorf("%s: %d rounds, %v", name, whole, err)
			theRun = nil
		}
	}
}

// The seed of a round is its own, can be given on the command line, and is the same each time.
func TestRoundSeed(t *testing.T) {
	seen := map[uint64]string{}
	for seed := uint64(1); seed <= 50; seed++ {
		for round := 1; round <= 50; round++ {
			n, where := RoundSeed(seed, round), fmt.Sprint(seed, round)
			if n == 0 || n >= 1<<53 || n != RoundSeed(seed, round) || seen[n] != "" {
				t.Fatalf("seed and round %s: %d, which is also that of %s", where, n, seen[n])
			}
			seen[n] = where
		}
	}
}
