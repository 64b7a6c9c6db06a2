package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer, Report) error{
		JUnitFile: writeJUnit, JSONFile: writeJSON, MarkdownFile: writeMarkdown, "catalogue.md": func(w io.Writer, r Report) error { return findingsOf(r, nil).writePage(w, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			got := written(t, write, sample())
			wantGolden(t, name, got)
		})
	}
}

func written(t *testing.T, write func(io.Writer, Report) error, m Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
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
	var got Report
	if err := json.Unmarshal(written(t, writeJSON, sample()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got, ignored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SchemaVersion != "holdfast.dev/report/v1" {
		t.Errorf("schema version %q", got.SchemaVersion)
	}
}

// TestJSONOfNothing: who reads it in a language without null checks must find lists.
func TestJSONOfNothing(t *testing.T) {
	text := string(written(t, writeJSON, Report{Scenarios: []Scenario{withoutRecord([]verdict.Verdict{{}}, "")}}.completed()))
	if strings.Contains(text, "null") {
		t.Errorf("null in\n%s", text)
	}
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

type xmlElement struct {
	XMLName  xml.Name
	Attr     []xml.Attr   `xml:",any,attr"`
	Children []xmlElement `xml:",any"`
}

func TestJUnitIsValid(t *testing.T) {
	for name, m := range map[string]Report{"sample": sample(), "without start": {Scenarios: []Scenario{{Name: "x/y"}}}} {
		t.Run(name, func(t *testing.T) {
			var root xmlElement
			if err := xml.Unmarshal(written(t, writeJUnit, m), &root); err != nil {
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
	if err := xml.Unmarshal(written(t, writeJUnit, sample()), &got); err != nil {
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
	s := Scenario{Name: "a/b", Result: Violated, Why: "\x00\x1b[31m <&> ]]>\xff", Verdicts: []Verdict{{
		Outcome: verdict.Violated, Seen: "\x07]]>", Evidence: []string{"\x02"},
	}}}
	var got junitSuites
	if err := xml.Unmarshal(written(t, writeJUnit, Report{Scenarios: []Scenario{s}}), &got); err != nil {
		t.Fatal(err)
	}
	if f := got.Suites[0].Cases[0].Failure; f == nil || !strings.Contains(f.Message, "<&> ]]>") || !strings.Contains(f.Text, "]]>") {
		t.Errorf("failure %+v", f)
	}
}

func TestMarkdownStaysShort(t *testing.T) {
	m := Report{RunID: "long"}
	long := strings.Repeat("evidence ", 2000)
	for range 100 {
		m.Scenarios = append(m.Scenarios, Scenario{Name: "chaos/x", Result: Violated, Verdicts: []Verdict{
			{Outcome: verdict.Violated, Seen: long},
		}})
	}
	got := written(t, writeMarkdown, m)
	if len(got) > maxMarkdownBytes+200 {
		t.Errorf("%d bytes", len(got))
	}
	if !regexp.MustCompile(`The details of \d+ scenarios more are in report.html`).Match(got) {
		t.Error("it does not say that details were left out")
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":             `a\|b`,
		"<script>":        "&lt;script&gt;",
		"*x* _y_ `z` [l]": "\\*x\\* \\_y\\_ \\`z\\` \\[l\\]",
		"two\nlines":      "two lines",
		"a & b":           "a &amp; b",
	} {
		if got := text(in); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := code("a`b|c"); got != "`a'b\\|c`" {
		t.Errorf("code: %s", got)
	}
	if got := fence("```\nrm"); !strings.HasPrefix(got, "````sh\n") || !strings.HasSuffix(got, "\n````") {
		t.Errorf("fence: %s", got)
	}
}

// wantGolden compares a file with the one that is kept of that name.
func wantGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, diff)
	}
}
