package formats

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// What a reader of the verdicts must know stands beside them.
func TestNotes(t *testing.T) {
	notes := []string{"Volumes belong to a node.", "Requests pass an Ingress."}
	s := reports.Describe(historytest.Healthy().Header(func(h *history.Header) { h.Notes = notes }).Run(), nil)
	if diff := cmp.Diff(notes, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	var html strings.Builder
	if err := page.Write(&html, reports.Report{Scenarios: []reports.Scenario{s}}.Completed()); err != nil {
		t.Fatal(err)
	}
	for _, note := range notes {
		if !strings.Contains(html.String(), note) {
			t.Errorf("report.html lacks %q", note)
		}
		if text := markdownDetails(&s); !strings.Contains(text, "\nNote: "+note+"\n") {
			t.Errorf("the details lack %q:\n%s", note, text)
		}
		var held strings.Builder
		s.Result = reports.Held
		markdownHeld(&held, reports.Report{Scenarios: []reports.Scenario{s}})
		if !strings.Contains(held.String(), "\nNote: "+note+"\n") {
			t.Errorf("what held lacks %q:\n%s", note, held.String())
		}
	}
}
