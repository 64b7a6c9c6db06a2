package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports/index"
	"github.com/holdfast-ha/holdfast/reports/nights/nightstest"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// nightsOf stores so many runs, in which recovery takes longer or shorter from the tenth on.
func nightsOf(t *testing.T, count int, factor float64) string {
	t.Helper()
	root := t.TempDir()
	for number := range count {
		s := nightstest.Scenario{Name: "chaos/a", Outcome: verdict.Held, Recovery: 10 + float64(number%3)/10, P99: 0.004, Blind: 0.1}
		if number >= 10 {
			s.Recovery *= factor
		}
		nightstest.Usual(number, s).Store(t, root)
	}
	return root
}

// lastNight stores twenty good nights, and three more of another scenario. In the last one the first scenario has an outcome, if any.
func lastNight(t *testing.T, outcome verdict.Outcome) string {
	t.Helper()
	root := nightsOf(t, 20, 1)
	for number := 20; number < 23; number++ {
		other := nightstest.Scenario{Name: "chaos/b", Outcome: verdict.Held, Recovery: 10, P99: 0.004, Blind: 0.1}
		n := nightstest.Usual(number, other)
		if number == 22 && outcome != "" {
			n.Scenarios = append(n.Scenarios, nightstest.Scenario{Name: "chaos/a", Outcome: outcome})
		}
		n.Store(t, root)
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
		"a regression":     {[]string{nightsOf(t, 20, 1.5)}, exit.Violated, "REGRESSION  chaos/a, recovery: 10.1 s in 10 nights before, 15.1 s in 10 nights since 2026-01-11", "a figure got worse"},
		"an improvement":   {[]string{nightsOf(t, 20, 0.5)}, exit.Held, "better      chaos/a, recovery: ", ""},
		"nothing moved":    {[]string{nightsOf(t, 20, 1)}, exit.Held, "0 regressions, 0 improvements; 1 figure tested", ""},
		"broken last":      {[]string{lastNight(t, verdict.Violated)}, exit.Violated, "1 scenario broken; 0 regressions", "1 scenario broken"},
		"unknown last":     {[]string{lastNight(t, verdict.Unknown)}, exit.Held, "not good    chaos/a: Unknown, not good since", ""},
		"gone":             {[]string{lastNight(t, "")}, exit.Unknown, "gone        chaos/a: not judged since 2026-01-21", "1 scenario gone"},
		"too few nights":   {[]string{nightsOf(t, 8, 1)}, exit.Unknown, "too few nights to tell: at least 10", "at least 10 with a figure are needed"},
		"too few are last": {[]string{nightsOf(t, 20, 1.5), "--last", "6"}, exit.Unknown, "6 nights, 2026-01-15", "at least 10"},
		"no nights":        {[]string{nightsOf(t, 20, 1.5), "--last", "0"}, exit.BadUsage, "", "give a number above 0"},
		"nothing there":    {[]string{t.TempDir()}, exit.Failed, "", "there is no run and no certificate in it"},
		"no folder":        {[]string{filepath.Join(t.TempDir(), "absent")}, exit.Failed, "", "no such folder: give a folder with the folders of runs"},
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
	if got.SchemaVersion != trend.SchemaVersion || got.Result != trend.Regression || len(got.Changes) != 1 || got.Changes[0].Since.Dir != "20260111-020000" {
		t.Errorf("%s", out)
	}
}

func TestReportIndex(t *testing.T) {
	root := nightsOf(t, 4, 1)
	out, code, err := execute(t, "report", root, "--index")
	if want := "index of 4 nights: " + filepath.Join(root, index.FileName) + "\n"; code != exit.Held || out != want {
		t.Errorf("exit code %d, %v, said %q, want %q", code, err, out, want)
	}
	if page, err := os.ReadFile(filepath.Join(root, index.FileName)); err != nil || !strings.Contains(string(page), "chaos/a") {
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
