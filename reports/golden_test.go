package reports_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestGoldenJSON(t *testing.T) {
	reporttest.Golden(t, "report.json", reporttest.Written(t, reports.WriteJSON, reporttest.Sample()))
}

// ignored are the fields for drawing the page, which report.json does not have.
var ignored = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	if !ok {
		return false
	}
	declared, _ := p.Index(-2).Type().FieldByName(field.Name())
	return declared.Tag.Get("json") == "-" || !declared.IsExported()
}, cmp.Ignore())

func TestJSONReadsBack(t *testing.T) {
	var got reports.Report
	if err := json.Unmarshal(reporttest.Written(t, reports.WriteJSON, reporttest.Sample()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reporttest.Sample(), got, ignored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SchemaVersion != "holdfast.dev/report/v1" {
		t.Errorf("schema version %q", got.SchemaVersion)
	}
}
