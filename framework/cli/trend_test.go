package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/formats"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// storeNight stores the report of a run on the night with this number. Each scenario has an outcome, and a recovery in seconds.
func storeNight(t *testing.T, root string, number int, recovery float64, outcomes map[string]reports.Result) {
	t.Helper()
	at := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, number)
	r := reports.Report{
		RunID: at.Format("20060102-150405"), Started: at, Seed: uint64(number) + 1, Cluster: reports.Cluster{Kubernetes: "v1.37.0", Engine: "podman 5.4.2"},
	}
	for name, result := range outcomes {
		r.Scenarios = append(r.Scenarios, reports.Scenario{
			Name: name, Result: result, Verdicts: []reports.Verdict{{Numbers: map[string]float64{"recoveredSeconds": recovery, "doubts": 0}}},
		})
	}
	dir := filepath.Join(root, r.RunID)
	if err := errors.Join(os.Mkdir(dir, 0o755), formats.Write(dir, r.Completed())); err != nil {
		t.Fatal(err)
	}
}

// nightsOf stores so many runs, in which recovery takes longer or shorter from the tenth on.
func nightsOf(t *testing.T, count int, factor float64) string {
	t.Helper()
	root := t.TempDir()
	for number := range count {
		recovery := 10 + float64(number%3)/10
		if number >= 10 {
			recovery *= factor
		}
		storeNight(t, root, number, recovery, map[string]reports.Result{"chaos/a": reports.Held})
	}
	return root
}

// lastNight stores twenty good nights, and three more of another scenario. In the last one the first scenario has a result, if any.
func lastNight(t *testing.T, result reports.Result) string {
	t.Helper()
	root := nightsOf(t, 20, 1)
	for number := 20; number < 23; number++ {
		results := map[string]reports.Result{"chaos/b": reports.Held}
		if number == 22 && result != "" {
			results["chaos/a"] = result
		}
		storeNight(t, root, number, 10, results)
	}
	return root
}

func TestTrend(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string // on standard output
		err  string
	}{
		"a regression":     {[]string{nightsOf(t, 20, 1.5)}, exit.Violated, "REGRESSION  chaos/a, recovery: 10.1 s in 10 nights before, 15.1 s in 10 nights since 2026-01-11", "1 regression"},
		"an improvement":   {[]string{nightsOf(t, 20, 0.5)}, exit.Held, "improvement chaos/a, recovery: ", ""},
		"nothing moved":    {[]string{nightsOf(t, 20, 1)}, exit.Held, "0 regressions, 0 improvements; 1 figure tested", ""},
		"broken last":      {[]string{lastNight(t, reports.Violated)}, exit.Violated, "1 scenario broken, 0 regressions", "1 scenario broken"},
		"unknown last":     {[]string{lastNight(t, reports.Unknown)}, exit.Held, "unknown     chaos/a: Unknown, not good since", ""},
		"gone":             {[]string{lastNight(t, "")}, exit.Unknown, "gone        chaos/a: not judged since 2026-01-21", "1 scenario gone"},
		"too few nights":   {[]string{nightsOf(t, 8, 1)}, exit.Unknown, "too few nights to tell: at least 10", "at least 10 with a figure are needed"},
		"too few are last": {[]string{nightsOf(t, 20, 1.5), "--last", "6"}, exit.Unknown, "6 nights, 2026-01-15", "at least 10"},
		"no nights":        {[]string{nightsOf(t, 20, 1.5), "--last", "0"}, exit.BadUsage, "", "give a number above 0"},
		"nothing there":    {[]string{t.TempDir()}, exit.Failed, "", "there is no run and no certificate in it"},
		"no folder":        {[]string{filepath.Join(t.TempDir(), "absent")}, exit.Failed, "", "no such file or directory: give a folder with the folders of runs"},
		"no argument":      {nil, exit.BadUsage, "", "argument"},
	} {
		t.Run(name, func(t *testing.T) {
			out, code, err := execute(t, append([]string{"trend"}, test.args...)...)
			if code != test.code || !strings.Contains(out, test.says) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("exit code %d, %v; want %d, %q and %q\n%s", code, err, test.code, test.err, test.says, out)
			}
		})
	}
}

func TestTrendForPrograms(t *testing.T) {
	out, code, err := execute(t, "trend", nightsOf(t, 20, 1.5), "--json")
	var got trend.Trend
	if jsonErr := json.Unmarshal([]byte(out), &got); jsonErr != nil || code != exit.Violated {
		t.Fatalf("exit code %d, %v, %v\n%s", code, err, jsonErr, out)
	}
	if got.SchemaVersion != trend.SchemaVersion || got.Result != trend.Regression || len(got.Findings) != 1 || got.Findings[0].Since.Dir != "20260111-020000" {
		t.Errorf("%s", out)
	}
}

func TestReportIndex(t *testing.T) {
	root := nightsOf(t, 4, 1)
	out, code, err := execute(t, "report", root, "--index")
	if want := "index of 4 nights: " + filepath.Join(root, trend.PageFile) + "\n"; code != exit.Held || out != want {
		t.Errorf("exit code %d, %v, said %q, want %q", code, err, out, want)
	}
	if page, err := os.ReadFile(filepath.Join(root, trend.PageFile)); err != nil || !strings.Contains(string(page), "chaos/a") {
		t.Errorf("%v: %s", err, page)
	}
	for _, args := range [][]string{{"report", "--index"}, {"report", root, "--index", "--catalogue", "x.md"}} {
		if _, code, err := execute(t, args...); code != exit.BadUsage {
			t.Errorf("%v: exit code %d, %v", args, code, err)
		}
	}
	if _, code, err := execute(t, "report", t.TempDir(), "--index"); code != exit.Failed || !strings.Contains(err.Error(), "there is no run") {
		t.Errorf("nothing there: exit code %d, %v", code, err)
	}
}
