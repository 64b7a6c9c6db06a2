package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
)

var reportFiles = []string{reports.HTMLFile, reports.JSONFile, reports.JUnitFile, reports.MarkdownFile}

// written lists the reports that lie in a folder.
func written(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, name := range reportFiles {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(text) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// A run ends with one line of counts, its reports, and the exit code of its outcome.
func TestTheEndOfARun(t *testing.T) {
	for _, test := range []struct {
		records []*historytest.Builder
		code    int
		summary string
	}{
		{
			[]*historytest.Builder{still(t, "chaos/a"), still(t, "chaos/b"), mutant(broken(t, "mutants/c"))}, ExitHeld,
			"2 scenarios held, 0 violated, 0 unknown; 1 of 1 mutants caught",
		},
		{
			[]*historytest.Builder{still(t, "chaos/a"), mutant(still(t, "mutants/c"))}, ExitViolated,
			"1 scenarios held, 0 violated, 0 unknown; 0 of 1 mutants caught",
		},
		{
			[]*historytest.Builder{broken(t, "chaos/a"), still(t, "chaos/b").Incomplete("killed")}, ExitViolated,
			"0 scenarios held, 1 violated, 1 unknown; 0 of 0 mutants caught",
		},
		{
			[]*historytest.Builder{still(t, "chaos/a"), mutant(still(t, "mutants/c").Incomplete("killed"))}, ExitUnknown,
			"1 scenarios held, 0 violated, 0 unknown; 0 of 1 mutants caught",
		},
	} {
		dir, file := stored(t, test.records...)
		var out bytes.Buffer
		err := report(&out, dir, file)
		if code := ExitCode(err); code != test.code {
			t.Errorf("%s: exit code %d, %v; want %d", test.summary, code, err, test.code)
		}
		want := "\n" + test.summary + "\nreport: " + filepath.Join(dir, reports.HTMLFile) + "\n"
		if out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
		if diff := cmp.Diff(reportFiles, written(t, dir)); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		// Judging it again, from the record alone, comes to the same.
		if _, code, err := execute(t, "judge", dir); code != test.code {
			t.Errorf("judged again: exit code %d, %v; want %d", code, err, test.code)
		}
	}
	// A run whose reports cannot be written has failed, whatever came of its scenarios.
	var out bytes.Buffer
	if err := report(&out, filepath.Join(t.TempDir(), "none"), history.RunFile{}); ExitCode(err) != ExitFailed || out.Len() > 0 {
		t.Errorf("no folder: %v, said %q", err, out.String())
	}
}

// What was found is no matter of `holdfast report`: it succeeds when the reports are written.
func TestReport(t *testing.T) {
	dir, _ := stored(t, broken(t, "chaos/a"))
	out, code, err := execute(t, "report", dir)
	if want := "report: " + filepath.Join(dir, reports.HTMLFile) + "\n"; code != ExitHeld || out != want {
		t.Errorf("exit code %d, %v, %q; want 0 and %q", code, err, out, want)
	}
	if diff := cmp.Diff(reportFiles, written(t, dir)); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestReportOnWhatIsNoRun(t *testing.T) {
	dir, _ := stored(t)
	whole, err := os.ReadFile(filepath.Join(dir, history.RunFileName))
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(whole, []byte(`"format": 1`), []byte(`"format": 9`), 1)
	changed := bytes.Replace(whole, []byte(`"seed": 1`), []byte(`"seed": 2`), 1)
	for name, test := range map[string]struct{ text, want string }{
		"cut off": {string(whole[:len(whole)/2]), "run.json is damaged"},
		"changed": {string(changed), "it was changed"}, "newer": {string(newer), "is of format 9"},
		"empty": {"", "run.json is damaged"}, "of something else": {"{}", "is no description of a run"},
	} {
		dir := t.TempDir()
		overwrite(t, filepath.Join(dir, history.RunFileName), test.text)
		_, code, err := execute(t, "report", dir)
		if code != ExitFailed || !strings.Contains(err.Error(), test.want) || written(t, dir) != nil {
			t.Errorf("run.json %s: exit code %d, %v, reports %v; want 3, %q and none", name, code, err, written(t, dir), test.want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	overwrite(t, file, "")
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none"), file} {
		if _, code, err := execute(t, "report", path); code != ExitFailed || !strings.Contains(err.Error(), path) {
			t.Errorf("report %s: exit code %d, %v; want 3 and the path", path, code, err)
		}
	}
}

// A run without scenarios has a report, which certifies nothing; a run of which only records are left has one too.
func TestReportOnPartOfARun(t *testing.T) {
	empty, _ := stored(t)
	killed, _ := stored(t, still(t, "chaos/a"))
	if err := os.Remove(filepath.Join(killed, history.RunFileName)); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"no scenarios": empty, "no run.json": killed} {
		_, code, err := execute(t, "report", dir)
		if diff := cmp.Diff(reportFiles, written(t, dir)); code != ExitHeld || diff != "" {
			t.Errorf("%s: exit code %d, %v; reports (-want +got):\n%s", what, code, err, diff)
		}
		text, err := os.ReadFile(filepath.Join(dir, reports.MarkdownFile))
		if err != nil || !strings.Contains(strings.ToLower(string(text)), "unknown") {
			t.Errorf("%s: the report says, %v\n%s\nwant it to say unknown", what, err, text)
		}
	}
}
