package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// ran is a run with a seed of which one scenario is judged, and the next one was being run when the process was killed.
func ran(t *testing.T) (*fixture, []scenario.Spec) {
	t.Helper()
	c, first, second := newFixture(t), quiet(), quiet()
	second.Name = "chaos/second"
	specs := []scenario.Spec{first, second}
	if err := c.next(*c.settings); err != nil {
		t.Fatal(err)
	}
	c.one(t.Context(), first)
	if err := os.MkdirAll(filepath.Join(c.settings.Dir, "chaos", "second"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c, specs
}

// resumed continues the run of a fixture with a new runner, as another process would. It does not run what is left.
func resumed(t *testing.T, c *fixture, specs []scenario.Spec) (again []scenario.Spec, file runfolder.File, err error) {
	t.Helper()
	if c.lock != nil { // a killed process holds none
		if err := c.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	next := &runner{settings: c.settings}
	again, err = next.resume(*c.settings, specs)
	t.Cleanup(func() {
		if next.lock != nil {
			_ = next.lock.Close()
		}
	})
	return again, next.file, err
}

// A record that was cut off, changed or swapped never counts as kept, and neither does one that run.json contradicts.
func TestResumeKeepsOnlyWholeRecords(t *testing.T) {
	events := func(c *fixture) string { return filepath.Join(c.settings.Dir, "chaos", "quiet", history.EventsFile) }
	edit := func(t *testing.T, name string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	result := func(t *testing.T, c *fixture, change func(*runfolder.ScenarioResult)) {
		t.Helper()
		f := c.kept()
		change(&f.Scenarios[0])
		if err := f.Write(c.settings.Dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		spoil func(*testing.T, *fixture)
		why   string // part of the reason; empty: the result is kept
	}{
		"untouched": {func(*testing.T, *fixture) {}, ""},
		"half a record": {func(t *testing.T, c *fixture) {
			edit(t, events(c), func(text string) string { return text[:len(text)/2] })
		}, "its record is incomplete: "},
		"without its last line": {func(t *testing.T, c *fixture) {
			edit(t, events(c), func(text string) string { return text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1] })
		}, "its record is incomplete: "},
		"an edited record": {func(t *testing.T, c *fixture) {
			edit(t, events(c), func(text string) string { return strings.Replace(text, `"ready":true`, `"ready":null`, 1) })
		}, "its record is incomplete: "},
		"no record": {func(t *testing.T, c *fixture) {
			if err := os.Remove(events(c)); err != nil {
				t.Fatal(err)
			}
		}, "open record: no events.jsonl in "},
		"the record of another run": {func(t *testing.T, c *fixture) {
			c.settings.RunID = "another"
			other := quiet()
			if err := os.RemoveAll(filepath.Dir(events(c))); err != nil {
				t.Fatal(err)
			}
			before := c.kept()
			c.one(t.Context(), other)
			c.settings.RunID = "r1"
			if err := before.Write(c.settings.Dir); err != nil {
				t.Fatal(err)
			}
		}, "its record is that of chaos/quiet in run another with seed 4711"},
		"not judged": {func(t *testing.T, c *fixture) { result(t, c, func(s *runfolder.ScenarioResult) { s.Outcome = "" }) }, "it was not judged"},
		"a harness error": {func(t *testing.T, c *fixture) {
			result(t, c, func(s *runfolder.ScenarioResult) { s.Error = "no engine" })
		}, "the harness failed: no engine"},
		"interrupted": {func(t *testing.T, c *fixture) {
			result(t, c, func(s *runfolder.ScenarioResult) { s.Outcome, s.Interrupted = "", "interrupted in the phase steady" })
		}, "interrupted in the phase steady"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, specs := ran(t)
				test.spoil(t, c)
				again, file, err := resumed(t, c, specs)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, s := range again {
					names = append(names, s.Name)
				}
				if keeps := !slices.Contains(names, "chaos/quiet"); keeps != (test.why == "") || keeps != (len(file.Scenarios) == 1) ||
					!slices.Contains(names, "chaos/second") {
					t.Errorf("run again: %q; kept: %+v", names, file.Scenarios)
				}
				told := fmt.Sprintf("%+v", file.Resumed)
				if !strings.Contains(told, test.why) || !strings.Contains(told, "chaos/second Why:it has no result SetAside:set-aside-1/chaos/second") {
					t.Errorf("run.json says %s", told)
				}
				if runfolder.Exists(filepath.Join(c.settings.Dir, "chaos", "second")) {
					t.Error("what the killed process left is not set aside")
				}
			})
		})
	}
}

// What the new process would run differently is an error, and changes nothing.
func TestResumeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *fixture, []scenario.Spec) []scenario.Spec
		want   string
	}{
		"another seed": {func(_ *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			c.settings.Seed = 7
			return s
		}, " is the folder of run r1 with seed 4711"},
		"another run": {func(_ *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			c.settings.RunID = "r2"
			return s
		}, " is the folder of run r1"},
		"another holdfast": {func(_ *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			c.settings.Version = "v1.2.4"
			return s
		}, "it was begun by holdfast v1.2.3, and this is v1.2.4: use that one, or begin a new run"},
		"an edited run.json": {func(t *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			name := filepath.Join(c.settings.Dir, runfolder.FileName)
			text, err := os.ReadFile(name)
			errtest.Check(t, err, "")
			errtest.Check(t, os.WriteFile(name, []byte(strings.Replace(string(text), `"held"`, `"HELD"`, 1)), 0o600), "")
			return s
		}, "it was changed"},
		"a complete run": {func(t *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			f := c.kept()
			f.Ended = time.Now()
			errtest.Check(t, f.Write(c.settings.Dir), "")
			return s[:1]
		}, "it is complete: no scenario is left to run"},
		"a run in progress": {func(t *testing.T, c *fixture, s []scenario.Spec) []scenario.Spec {
			folder, err := os.Open(c.settings.Dir)
			errtest.Check(t, err, "")
			t.Cleanup(func() { _ = folder.Close() })
			errtest.Check(t, c.lock.Close(), "")
			c.lock = nil
			errtest.Check(t, unix.Flock(int(folder.Fd()), unix.LOCK_EX), "")
			return s
		}, "another process is running it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, specs := ran(t)
				specs = test.change(t, c, slices.Clone(specs))
				_, _, err := resumed(t, c, specs)
				errtest.Check(t, err, test.want)
				if runfolder.Exists(filepath.Join(c.settings.Dir, "set-aside-1")) {
					t.Error("a record was set aside")
				}
			})
		})
	}
}

// The rest of a resumed run has the Kubernetes version of its first part.
func TestAResumedRunKeepsItsKubernetesVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, specs := ran(t)
		c.kubernetes = ""
		c.file = c.kept()
		if _, why := c.resultOf(specs[0]); why != "" || c.kubernetes != "v1.37.0" {
			t.Errorf("version %q, %s", c.kubernetes, why)
		}
	})
}
