package formats

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

// TestThePageShowsCauses: a table a scenario with failures, and one of what mutants planted.
func TestThePageShowsCauses(t *testing.T) {
	page := string(reporttest.Written(t, page.Write, reporttest.Sample()))
	for _, want := range []string{
		"<h3>Failed requests by cause</h3>", "node-lost-connection", "lost on a connection to a pod on a lost node",
		"Planted cause against reported cause", "1 of 2 mutants were caught for the reason that was planted",
		`data-label="cut-at-sigterm"><strong>1</strong>`, "Planted cause</dt><dd><code>late-endpoint",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if n := strings.Count(page, "Failed requests by cause"); n != 2 { // of the killed node, and of the mutant that drops
		t.Errorf("%d tables of causes, want 2", n)
	}
}

// TestNoMatrixOfOne: one mutant is no matrix, nor are mutants of old records, which name no cause.
func TestNoMatrixOfOne(t *testing.T) {
	scenario := func(cause string) reports.Scenario {
		return reports.Scenario{Mutant: &reports.Mutant{Mutant: history.Mutant{CaughtBy: "NoFailedRequests", Cause: cause}}}
	}
	for name, s := range map[string]struct {
		scenarios []reports.Scenario
		want      bool
	}{
		"none":                 {nil, false},
		"one":                  {[]reports.Scenario{scenario("restart"), {}}, false},
		"two of old records":   {[]reports.Scenario{scenario(""), scenario("")}, false},
		"two":                  {[]reports.Scenario{scenario("restart"), scenario("restart")}, true},
		"one, and an old one":  {[]reports.Scenario{scenario("restart"), scenario("")}, false},
		"two that were missed": {[]reports.Scenario{scenario("a"), scenario("b")}, true},
	} {
		m := reports.Report{Scenarios: s.scenarios}.Completed()
		md, page := string(reporttest.Written(t, writeMarkdown, m)), string(reporttest.Written(t, page.Write, m))
		const title = "Planted cause against reported cause"
		if strings.Contains(md, title) != s.want || strings.Contains(page, title) != s.want || (m.Confusion != nil) != s.want {
			t.Errorf("%s: want a matrix: %t", name, s.want)
		}
	}
}

// TestAConfusedHarnessIsSeen: what was planted as one thing and reported as another stands off the diagonal.
func TestAConfusedHarnessIsSeen(t *testing.T) {
	caught := func(planted, reported string) reports.Scenario {
		return reports.Scenario{
			Mutant: &reports.Mutant{Mutant: history.Mutant{CaughtBy: "NoFailedRequests", Cause: planted}, Verdict: &reports.Verdict{Numbers: map[string]float64{
				"cause." + reported: 7, verdict.CaughtNumber: map[bool]float64{true: 1}[planted == reported],
			}}},
		}
	}
	m := reports.Report{Scenarios: []reports.Scenario{
		caught("restart", "restart"), caught("restart", "slow"), caught("late-endpoint", "late-endpoint"), caught("late-endpoint", "late-endpoint"),
	}}
	got := string(reporttest.Written(t, writeMarkdown, m))
	const want = "3 of 4 mutants were caught for the reason that was planted.\n\n" +
		"| planted / reported | late-endpoint | restart | slow |\n" +
		"| --- | ---: | ---: | ---: |\n" +
		"| late-endpoint | **2** | | |\n" +
		"| restart | | **1** | 1 |\n"
	if !strings.Contains(got, want) {
		t.Errorf("no matrix\n%s\nin\n%s", want, got)
	}
}
