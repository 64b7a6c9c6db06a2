package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/formats"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// The run, judge, report, JUnit and the nights of a trend agree on a run from which something is missing: it is no success. The two runs of
// which judge once said 0 are "killed" and "the environment failed".
func TestEveryConsumerAgreesOnARunThatIsNotWhole(t *testing.T) {
	chosen := func(f *runfolder.File, names ...string) {
		for _, name := range names {
			f.Chosen = append(f.Chosen, runfolder.Chosen{Name: name})
		}
	}
	again := func(f *runfolder.File, s runfolder.ScenarioResult) { f.Scenarios = append(f.Scenarios, s) }
	const nowhere, withoutRunFile = "provision a cluster: no engine", "without run.json"
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string, f *runfolder.File)
		code  int
		says  string // judge
		whole bool   // run.json alone lacks nothing
	}{
		"killed": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Ended = time.Time{}
			chosen(f, "chaos/a", "chaos/b", "chaos/c", "chaos/d")
		}, exit.Unknown, "run r1: the run has no result of 3 scenarios of the 4 that were chosen: chaos/b, chaos/c and chaos/d", false},
		"killed after its last scenario": {func(_ *testing.T, _ string, f *runfolder.File) { f.Ended = time.Time{} }, exit.Unknown,
			"run r1: the run did not end: it was killed, or is still running", false},
		"killed before it judged a record": {func(t *testing.T, dir string, f *runfolder.File) {
			b := still(t, "chaos/b").Header(func(h *history.Header) { h.RunID = "r1" })
			store(t, dir, b)
			f.Ended = time.Time{}
		}, exit.Unknown, "the run did not end", false},
		"one is gone from run.json": {func(_ *testing.T, _ string, f *runfolder.File) { chosen(f, "chaos/a", "chaos/b") }, exit.Unknown,
			"no result of 1 scenario of the 2 that were chosen: chaos/b", false},
		"the environment failed": {func(_ *testing.T, _ string, f *runfolder.File) {
			again(f, runfolder.ScenarioResult{Name: "chaos/b", Dir: "chaos/b", Error: nowhere})
		}, exit.Failed, "chaos/b: the harness or its environment failed: " + nowhere, false},
		"the environment failed after a record that holds": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Scenarios[0].Error, f.Scenarios[0].Outcome, f.Scenarios[0].Verdicts = nowhere, "", nil
		}, exit.Failed, "chaos/a: the harness or its environment failed: " + nowhere, false},
		"the environment failed in a killed run": {func(_ *testing.T, _ string, f *runfolder.File) {
			again(f, runfolder.ScenarioResult{Name: "chaos/b", Dir: "chaos/b", Error: nowhere})
			f.Ended = time.Time{}
		}, exit.Failed, nowhere, false},
		"a signal ended it, which its record does not say": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Interrupted, f.Scenarios[0].Interrupted, f.Scenarios[0].Outcome = "SIGINT", "interrupted while the cluster was disturbed", ""
		}, exit.Interrupted, "1 interrupted, 0 not begun", false},
		"left out for want of time": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Interrupted = runfolder.OutOfTime + "40m0s"
			again(f, runfolder.ScenarioResult{Name: "chaos/b", Dir: "chaos/b", NotBegun: "not begun: " + f.Interrupted})
		}, exit.Unknown, "0 interrupted, 1 not begun", false},
		withoutRunFile: {func(*testing.T, string, *runfolder.File) {}, exit.Unknown, "run r1: its folder has no run.json", true},
		"the record cannot be read": {func(t *testing.T, dir string, _ *runfolder.File) {
			overwrite(t, filepath.Join(dir, "chaos", "a", history.EventsFile), "")
		}, exit.Failed, "", true},
		"of another run": {func(_ *testing.T, _ string, f *runfolder.File) { f.ID = "r2" }, exit.Failed, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := storeRun(t, still(t, "chaos/a"))
			test.spoil(t, dir, &file)
			if err := file.Write(dir); err != nil {
				t.Fatal(err)
			}
			if name == withoutRunFile {
				if err := os.Remove(filepath.Join(dir, runfolder.FileName)); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{dir, filepath.Dir(dir)} {
				if out, code, err := execute(t, "judge", path); code != test.code || !strings.Contains(out, test.says) {
					t.Errorf("judge %s: exit code %d, %v; want %d and %q\n%s", path, code, err, test.code, test.says, out)
				}
			}
			if out, code, err := execute(t, "report", dir); code != test.code {
				t.Errorf("report: exit code %d, %v; want %d\n%s", code, err, test.code, out)
			}
			if code := exit.Code(outcomeOf(file)); code != test.code && !test.whole {
				t.Errorf("the run ends with %d; want %d", code, test.code)
			}
			junit, err := os.ReadFile(filepath.Join(dir, formats.JUnitFile))
			if err != nil || !strings.Contains(string(junit), "<error ") {
				t.Errorf("JUnit has no error, %v:\n%s", err, junit)
			}
			all, err := trend.Read(filepath.Dir(dir))
			if err != nil || len(all) != 1 || all[0].Result == reports.Held {
				t.Errorf("the nights: %v, %+v", err, all)
			}
		})
	}
}
