package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

var reportFiles = []string{formats.HTMLFile, formats.JSONFile, formats.JUnitFile, formats.MarkdownFile}

// written lists the reports in a folder.
func written(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, name := range reportFiles {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(text) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// A run ends with a summary line, its reports, and the exit code of its outcome.
func TestTheEndOfARun(t *testing.T) {
	for _, test := range []struct {
		records []*historytest.Builder
		code    int
		summary string
	}{
		{
			[]*historytest.Builder{still(t, "chaos/a"), still(t, "chaos/b"), mutant(broken(t, "mutants/c"))}, exit.Held,
			"2 scenarios held, 0 violated, 0 unknown; 1 of 1 mutants caught; mutants/c: its twin was not run",
		},
		{
			[]*historytest.Builder{still(t, "chaos/a"), mutant(still(t, "mutants/c"))}, exit.Violated,
			"1 scenario held, 0 violated, 0 unknown; 0 of 1 mutants caught, 1 missed; mutants/c: its twin was not run",
		},
		{
			[]*historytest.Builder{broken(t, "chaos/a"), still(t, "chaos/b").Incomplete("killed")}, exit.Violated,
			"0 scenarios held, 1 violated, 1 unknown",
		},
		{
			[]*historytest.Builder{still(t, "chaos/a"), mutant(still(t, "mutants/c").Incomplete("killed"))}, exit.Unknown,
			"1 scenario held, 0 violated, 0 unknown; 0 of 1 mutants caught, 1 unknown",
		},
	} {
		dir, file := storeRun(t, test.records...)
		var out bytes.Buffer
		err := report(&out, dir, file)
		if code := exit.Code(err); code != test.code {
			t.Errorf("%s: exit code %d, %v; want %d", test.summary, code, err, test.code)
		}
		want := "\n" + test.summary + "\nreport: " + filepath.Join(dir, formats.HTMLFile) + "\n"
		if out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
		if diff := cmp.Diff(reportFiles, written(t, dir)); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		// judge comes to the same result.
		if _, code, err := execute(t, "judge", dir); code != test.code {
			t.Errorf("judged again: exit code %d, %v; want %d", code, err, test.code)
		}
	}
}

// If the report or run.json cannot be written, for example because the disk is full, a run with a broken promise still exits with 1, and
// a run that held exits with 3. Both print their summary.
func TestTheEndOfARunThatCannotBeWritten(t *testing.T) {
	full := errors.New("write run.json: no space left on device")
	for want, record := range map[int]*historytest.Builder{
		exit.Violated: broken(t, "chaos/a"), exit.Failed: still(t, "chaos/a"),
	} {
		dir, file := storeRun(t, record)
		for what, end := range map[string]func(io.Writer) error{
			"the reports": func(out io.Writer) error { return report(out, filepath.Join(dir, "none"), file) },
			"run.json":    func(out io.Writer) error { return report(out, dir, file, full) },
			"the screen":  func(io.Writer) error { return report(brokenPipe{}, dir, file) },
		} {
			var out bytes.Buffer
			if err := end(&out); exit.Code(err) != want {
				t.Errorf("%s cannot be written: exit code %d, want %d: %v", what, exit.Code(err), want, err)
			} else if what == "the reports" && !strings.Contains(out.String(), summaryOf(file)) {
				t.Errorf("said %q", out.String())
			}
		}
	}
}

// brokenPipe is an output whose reader has closed it.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// report has the same result and exit code as the run and judge, whether its record is complete or not.
func TestReport(t *testing.T) {
	for what, test := range map[string]struct {
		record *historytest.Builder
		spoil  string // the file in which a byte is changed
		code   int
		line   string
	}{
		"held":     {still(t, "chaos/a"), "", exit.Held, "held: 1 held. 0 of 0 requests failed"},
		"violated": {broken(t, "chaos/a"), "", exit.Violated, "violated: 1 violated. "},
		"caught":   {mutant(broken(t, "mutants/a")), "", exit.Held, "held: 1 mutant caught.\n"},
		"missed":   {mutant(still(t, "mutants/a")), "", exit.Violated, "violated: 1 mutant missed.\n"},
		"damaged": {still(t, "chaos/a"), "chaos/a/events.jsonl", exit.Unknown,
			"unknown: 1 unknown. 0 of 0 requests failed over 1 disruption event. The requests of 1 scenario could not be read completely, so the sum is too low.\n"},
		"run.json is changed": {still(t, "chaos/a"), runfolder.FileName, exit.Failed, "unknown: 1 unknown. "},
	} {
		t.Run(what, func(t *testing.T) {
			dir, _ := storeRun(t, test.record)
			if test.spoil != "" {
				turn(t, filepath.Join(dir, filepath.FromSlash(test.spoil)))
			}
			out, code, err := execute(t, "report", dir)
			want := "report: " + filepath.Join(dir, formats.HTMLFile) + "\n"
			if code != test.code || !strings.HasPrefix(out, test.line) || !strings.HasSuffix(out, want) {
				t.Errorf("exit code %d, %v, %q; want %d, %q and %q", code, err, out, test.code, test.line, want)
			}
			if diff := cmp.Diff(reportFiles, written(t, dir)); diff != "" {
				t.Errorf("reports (-want +got):\n%s", diff)
			}
			if _, judged, err := execute(t, "judge", dir); judged != code {
				t.Errorf("judge ends with %d: %v", judged, err)
			}
		})
	}
}

// turn changes the last digit in the first half of a file.
func turn(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndexAny(text[:len(text)/2], "0123456789")
	text[at] ^= 1 // another digit
	overwrite(t, name, string(text))
}

// The report of a damaged run.json calls the lost values unknown.
func TestReportOnARunWithoutItsDescription(t *testing.T) {
	dir, file := storeRun(t, still(t, "chaos/a"))
	file.Seed = 0
	if err := file.Write(dir); err != nil { // with a correct checksum
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(){
		"without a seed": func() {}, "changed": func() { turn(t, filepath.Join(dir, runfolder.FileName)) },
	} {
		spoil()
		_, code, err := execute(t, "report", dir)
		text, readErr := os.ReadFile(filepath.Join(dir, formats.MarkdownFile))
		if code == exit.Held || readErr != nil || strings.Contains(string(text), "seed 0") || !strings.Contains(string(text), "run.json") {
			t.Errorf("%s: exit code %d, %v\n%s", what, code, err, text)
		}
	}
}

// If run.json was edited to call a scenario interrupted or not begun, the scenario's record still counts.
func TestWhatTheRecordSaysOfAnInterruption(t *testing.T) {
	for what, edit := range map[string]func(*runfolder.ScenarioResult){
		"interrupted": func(s *runfolder.ScenarioResult) { s.Interrupted = "interrupted in the phase steady" },
		"not begun":   func(s *runfolder.ScenarioResult) { s.NotBegun = "not begun: the run was interrupted" },
	} {
		dir, file := storeRun(t, broken(t, "chaos/a"))
		s := &file.Scenarios[0]
		s.Outcome, s.Verdicts = "", nil
		edit(s)
		if err := file.Write(dir); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"report", "judge"} {
			if out, code, err := execute(t, command, dir); code != exit.Violated {
				t.Errorf("%s: %s ends with %d, %v; want 1\n%s", what, command, code, err, out)
			}
		}
	}
}

// Every output of an interrupted run calls it interrupted, and none says that evidence is missing. In JUnit, a scenario that was not begun
// is skipped, and an interrupted scenario is an error, like a test that did not end.
func TestARunThatWasInterrupted(t *testing.T) {
	ended := history.Event{T: historytest.SeenAt, Trouble: &history.Trouble{What: "interrupted", Interrupted: true}}
	cut := func() *historytest.Builder { return still(t, "chaos/b").Event(ended) }
	lost := func() *historytest.Builder { return broken(t, "chaos/b").Event(ended) }
	for what, test := range map[string]struct {
		by     string
		record *historytest.Builder
		code   int
		sum    string
	}{
		"by SIGINT":          {"SIGINT", cut(), exit.Interrupted, "1 scenario held, 0 violated, 0 unknown; 1 interrupted, 2 not begun"},
		"by SIGTERM":         {"SIGTERM", cut(), exit.Terminated, "1 scenario held, 0 violated, 0 unknown; 1 interrupted, 2 not begun"},
		"by a limit":         {"suite timeout occurred", cut(), exit.Failed, "1 scenario held, 0 violated, 0 unknown; 1 interrupted, 2 not begun"},
		"broken before":      {"SIGINT", lost(), exit.Violated, "1 scenario held, 1 violated, 0 unknown; 0 interrupted, 2 not begun"},
		"a mutant":           {"SIGINT", mutant(lost()), exit.Interrupted, "1 scenario held, 0 violated, 0 unknown; 1 interrupted, 2 not begun"},
		"a mutant that held": {"SIGINT", mutant(cut()), exit.Interrupted, "1 scenario held, 0 violated, 0 unknown; 1 interrupted, 2 not begun"},
	} {
		t.Run(what, func(t *testing.T) {
			dir, file := storeRun(t, still(t, "chaos/a"), test.record)
			file.Interrupted = test.by
			for _, name := range []string{"chaos/c", "chaos/d"} {
				file.Scenarios = append(file.Scenarios, runfolder.ScenarioResult{Name: name, Dir: name, NotBegun: "not begun: the run was interrupted"})
			}
			if err := file.Write(dir); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := report(&out, dir, file)
			if code := exit.Code(err); code != test.code || !strings.HasPrefix(out.String(), "\n"+test.sum+"\n") {
				t.Errorf("exit code %d, %v, %q; want %d and %q", code, err, out.String(), test.code, test.sum)
			}
			for _, again := range []string{"judge", "report"} {
				out, code, err := execute(t, again, dir)
				if code != test.code || again == "judge" && !strings.HasSuffix(out, test.sum+"\n") {
					t.Errorf("%s: exit code %d, %v\n%s\nwant %d", again, code, err, out, test.code)
				}
			}
			for _, name := range reportFiles {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || !bytes.Contains(bytes.ToLower(text), []byte("not begun")) || bytes.Contains(text, []byte("❔")) {
					t.Errorf("%s, %v:\n%s", name, err, text)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, formats.JUnitFile))
			errors := map[bool]string{true: `errors="0"`, false: `errors="1"`}[test.code == exit.Violated]
			if err != nil || !strings.Contains(string(text), errors+` skipped="2"`) {
				t.Errorf("%v, want %s and 2 skipped\n%s", err, errors, text)
			}
		})
	}
}

func TestReportOnWhatIsNoRun(t *testing.T) {
	dir, _ := storeRun(t)
	whole, err := os.ReadFile(filepath.Join(dir, runfolder.FileName))
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(whole, []byte(`"format": 1`), []byte(`"format": 9`), 1)
	changed := bytes.Replace(whole, []byte(`"seed": 1`), []byte(`"seed": 2`), 1)
	for name, test := range map[string]struct{ text, want string }{
		"cut off": {string(whole[:len(whole)/2]), "run.json is damaged"},
		"changed": {string(changed), "it was changed"}, "newer": {string(newer), "is of format 9"},
		"empty": {"", "run.json is damaged"}, "of something else": {"{}", "is not a run file of holdfast"},
	} {
		dir := t.TempDir()
		overwrite(t, filepath.Join(dir, runfolder.FileName), test.text)
		_, code, err := execute(t, "report", dir)
		if code != exit.Failed || !strings.Contains(err.Error(), test.want) || written(t, dir) != nil {
			t.Errorf("run.json %s: exit code %d, %v, reports %v; want 3, %q and none", name, code, err, written(t, dir), test.want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	overwrite(t, file, "")
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none"), file} {
		if _, code, err := execute(t, "report", path); code != exit.Failed || !strings.Contains(err.Error(), path) {
			t.Errorf("report %s: exit code %d, %v; want 3 and the path", path, code, err)
		}
	}
}

// A run without scenarios has a report, which is Unknown. A run of which only records are left has a report, too.
func TestReportOnPartOfARun(t *testing.T) {
	empty, _ := storeRun(t)
	killed, _ := storeRun(t, still(t, "chaos/a"))
	if err := os.Remove(filepath.Join(killed, runfolder.FileName)); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"no scenarios": empty, "no run.json": killed} {
		_, code, err := execute(t, "report", dir)
		if diff := cmp.Diff(reportFiles, written(t, dir)); code != exit.Unknown || diff != "" {
			t.Errorf("%s: exit code %d, %v; reports (-want +got):\n%s", what, code, err, diff)
		}
		text, err := os.ReadFile(filepath.Join(dir, formats.MarkdownFile))
		if err != nil || !strings.Contains(strings.ToLower(string(text)), "unknown") {
			t.Errorf("%s: the report says, %v\n%s\nwant it to say unknown", what, err, text)
		}
	}
}
