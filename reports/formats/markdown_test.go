package formats

import (
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestGoldenMarkdown(t *testing.T) {
	reporttest.Golden(t, MarkdownFile, reporttest.Written(t, writeMarkdown, reporttest.Sample()))
}

func TestMarkdownStaysShort(t *testing.T) {
	m := reports.Report{RunID: "long"}
	long := strings.Repeat("evidence ", 2000)
	for range 100 {
		m.Scenarios = append(m.Scenarios, reports.Scenario{Name: "chaos/x", Result: reports.Violated, Verdicts: []reports.Verdict{
			{Outcome: verdict.Violated, Seen: long},
		}})
	}
	got := reporttest.Written(t, writeMarkdown, m)
	if len(got) > maxMarkdownBytes+200 {
		t.Errorf("%d bytes", len(got))
	}
	if !regexp.MustCompile(`The details of \d+ scenarios more are in report.html`).Match(got) {
		t.Error("it does not say that details were left out")
	}
}
