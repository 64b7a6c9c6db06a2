package formats

import (
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestGoldenJUnit(t *testing.T) {
	reporttest.Golden(t, JUnitFile, reporttest.Written(t, writeJUnit, reporttest.Sample()))
}

type xmlElement struct {
	XMLName  xml.Name
	Attr     []xml.Attr   `xml:",any,attr"`
	Children []xmlElement `xml:",any"`
}

// junitOrder is what both JUnit schemas in wide use demand of the order and of the required attributes.
var junitOrder = map[string]struct {
	children   []string
	attributes []string
}{
	"testsuites": {children: []string{"testsuite"}},
	"testsuite": {
		children: []string{"properties", "testcase", "system-out", "system-err"},
		attributes: []string{"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped",
			"time"},
	},
	"properties": {children: []string{"property"}},
	"property":   {attributes: []string{"name", "value"}},
	"testcase":   {children: []string{"error", "failure"}, attributes: []string{"name", "classname", "time"}},
	"failure":    {attributes: []string{"message", "type"}},
	"error":      {attributes: []string{"message", "type"}},
	"system-out": {}, "system-err": {},
}

func TestJUnitIsValid(t *testing.T) {
	for name, m := range map[string]reports.Report{"sample": reporttest.Sample(), "without start": {Scenarios: []reports.Scenario{{Name: "x/y"}}}} {
		t.Run(name, func(t *testing.T) {
			var root xmlElement
			if err := xml.Unmarshal(reporttest.Written(t, writeJUnit, m), &root); err != nil {
				t.Fatal(err)
			}
			checkJUnit(t, root)
		})
	}
}

func checkJUnit(t *testing.T, e xmlElement) {
	t.Helper()
	rule, known := junitOrder[e.XMLName.Local]
	if !known {
		t.Fatalf("element %s is in no schema", e.XMLName.Local)
	}
	var names []string
	for _, a := range e.Attr {
		names = append(names, a.Name.Local)
		switch {
		case a.Name.Local == "time" && !regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{3}$`).MatchString(a.Value),
			a.Name.Local == "timestamp" && !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`).MatchString(a.Value),
			a.Name.Local == "name" && (a.Value == "" || strings.TrimSpace(a.Value) != a.Value),
			a.Name.Local == "hostname" && a.Value == "":
			t.Errorf("%s: %s=%q", e.XMLName.Local, a.Name.Local, a.Value)
		}
	}
	if diff := cmp.Diff(rule.attributes, names); diff != "" {
		t.Errorf("attributes of %s (-want +got):\n%s", e.XMLName.Local, diff)
	}
	at := 0
	for _, c := range e.Children {
		i := slices.Index(rule.children, c.XMLName.Local)
		if i < at {
			t.Errorf("%s in %s is out of order", c.XMLName.Local, e.XMLName.Local)
		}
		at = max(at, i)
		checkJUnit(t, c)
	}
	if e.XMLName.Local == "testcase" && len(e.Children) > 1 {
		t.Error("a test case fails once")
	}
}

func TestJUnitCounts(t *testing.T) {
	var got junitSuites
	if err := xml.Unmarshal(reporttest.Written(t, writeJUnit, reporttest.Sample()), &got); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string][3]int)
	for _, s := range got.Suites {
		counts[s.Name] = [3]int{s.Tests, s.Failures, s.Errors}
	}
	want := map[string][3]int{"chaos": {5, 1, 2}, "conformance": {1, 0, 0}, "mutants": {2, 1, 0}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("tests, failures and errors of a suite (-want +got):\n%s", diff)
	}
}

// TestXMLTakesAnything: control characters in recorded words must not make a file that no tool reads.
func TestXMLTakesAnything(t *testing.T) {
	s := reports.Scenario{Name: "a/b", Result: reports.Violated, Why: "\x00\x1b[31m <&> ]]>\xff", Verdicts: []reports.Verdict{{
		Outcome: verdict.Violated, Seen: "\x07]]>", Evidence: []string{"\x02"},
	}}}
	var got junitSuites
	if err := xml.Unmarshal(reporttest.Written(t, writeJUnit, reports.Report{Scenarios: []reports.Scenario{s}}), &got); err != nil {
		t.Fatal(err)
	}
	if f := got.Suites[0].Cases[0].Failure; f == nil || !strings.Contains(f.Message, "<&> ]]>") || !strings.Contains(f.Text, "]]>") {
		t.Errorf("failure %+v", f)
	}
}
