package formats

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

// rare is a report of what few records have: two faults at once, noise of the harness, watches that are late, a gateway, an API server that was
// away, notes, a remedy, mutants that were caught for another reason, and scenarios that were not run to their end.
func rare() reports.Report {
	b := historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Due >= 20*sec && r.Due <= 23*sec }).
		Header(func(h *history.Header) {
			h.Notes, h.Cluster.Provider, h.Cluster.Balancer = []string{"Volumes belong to a node."}, "kind", "haproxy"
			h.Cluster.SimulatedNodes, h.Cluster.Timings.NodeMonitorGrace = 500, 25*sec
			h.Facts = []history.Fact{{Name: "CNI", Is: "cilium"}, {Name: "proxy", Why: "may not be read"}}
		}).
		EditRequests(func(r *history.Request) {
			switch r.Seq % 50 {
			case 0: // sent late
				r.Sent += 30 * ms
				r.Done = max(r.Done, r.Sent)
			case 1:
				r.GatewayTries = 2
			}
		})
	for stage, at := range map[history.FaultStage]history.Offset{
		history.Injecting: 21 * sec, history.Seen: 21200 * ms, history.Lasting: 21500 * ms, history.Healing: 21600 * ms, history.Healed: 22 * sec,
	} {
		b.Fault(at, history.FaultMark{ID: 1, Name: "kill one worker", Stage: stage})
	}
	lost, again := historytest.ReadyNode("w4", historytest.ZoneOf("w4")), historytest.ReadyPod("backend-4", "w4", history.Modified)
	lost.Ready, again.Restarts = "Unknown", 2
	stranger := again
	stranger.Name, stranger.UID, stranger.Labels = "filler", "filler", nil
	b.Node(21300*ms, lost).Pod(21400*ms, again).Pod(21400*ms, stranger)
	b.Request(history.Request{Lane: history.LaneFresh, Due: 20900 * ms, Done: 21400 * ms}) // the only one in flight at the second fault
	b.Request(history.Request{Lane: history.LaneControl, Due: 20900 * ms, Done: 21400 * ms})
	b.Request(history.Request{Lane: history.LaneFresh, Due: 21100 * ms, Outcome: history.Unsent})
	for i, n := range []history.Noise{
		{Of: history.NoiseHarness, Pause: 40 * ms, CPU: 0.5},
		{Of: "load-0", Pause: 12 * ms, Throttled: 300 * ms, Steal: 0.03, CPU: 1},
		{Of: "load-0", Pause: 310 * ms, Throttled: 200 * ms, Steal: 0.01},
	} {
		at := time.Duration(20+i) * sec
		n.Since = at - sec
		b.Event(history.Event{T: at, Noise: &n})
		b.Event(history.Event{T: at + []time.Duration{7 * ms, 300 * ms, 9 * ms}[i], Echo: &history.Echo{Sent: at}})
	}
	for _, r := range []history.Reach{
		{Way: history.Balanced, Host: "lb", Asked: 153, Failed: 6, Longest: 1470 * ms, Failing: 5480 * ms, Before: 600 * ms},
		{Way: history.Direct, Host: "cp2", Asked: 171, Longest: 1350 * ms, Before: 590 * ms},
		{Way: history.Direct, Host: "cp3", Asked: 1170, Longest: 1510 * ms, Before: 300 * ms},
		{Way: history.Balanced, Host: "lb", Returning: true, Asked: 80, Longest: 700 * ms},
		{Way: history.Direct, Host: "cp3", Returning: true, Asked: 80, Longest: 800 * ms},
	} {
		b.Event(history.Event{T: 30 * sec, Reach: &r})
	}
	b.Event(history.Event{T: 40 * sec, Gateway: &history.GatewayTotals{Requests: 205, Tries: 1150, Masked: 14, Failed: 2}})
	broken := verdict.Verdict{
		Promise: "few fail", Kind: "FewFailedRequests", Outcome: verdict.Violated, At: 21 * sec, Seen: "too many failed",
		Numbers: map[string]float64{"slowestSeconds.fresh": 0.87, "failedShare.fresh": 0.153, "upperBound95.fresh": 0.0018, "leastHealthy": 5},
	}
	broken.AtMost("slowestSeconds.fresh", 0.5)
	broken.AtLeast("leastHealthy", 4)
	broken.AtMost("recoveredSeconds", 15) // not measured
	s := reports.Describe(b.Run(), []verdict.Verdict{broken})
	s.Remedies = []judge.Remedy{{Rule: "no-prestop", Fix: json.RawMessage(`[{}]`), Commands: []string{"kubectl patch"}}}
	caught := func(planted, reported string) reports.Scenario {
		return reports.Scenario{Name: "mutants/" + planted, Result: reports.Caught, Mutant: &reports.Mutant{
			Mutant: history.Mutant{CaughtBy: "NoFailedRequests", Cause: planted},
			Verdict: &reports.Verdict{Numbers: map[string]float64{
				"cause." + reported: 7, verdict.CaughtNumber: map[bool]float64{true: 1}[planted == reported],
			}},
		}}
	}
	return reports.Report{
		RunID: "rare", Holdfast: "v2", Interrupted: "SIGINT", Resumed: []reports.Resumption{{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Holdfast: "v1", Left: 90}},
		Scenarios: []reports.Scenario{
			s, {Name: "chaos/latency", Result: reports.Unsupported, Why: "tc netem is not supported here"},
			{Name: "chaos/cut", Result: reports.Interrupted, Why: "interrupted in the phase steady"},
			{Name: "chaos/left", Result: reports.NotBegun, Why: "not begun: the run was interrupted"},
			caught("restart", "restart"), caught("restart", "slow"), caught("late-endpoint", "late-endpoint"),
		},
	}.Completed()
}

func TestGolden(t *testing.T) {
	for prefix, m := range map[string]reports.Report{"": reporttest.Sample(), "rare-": rare()} {
		reporttest.Golden(t, prefix+MarkdownFile, reporttest.Written(t, writeMarkdown, m))
		reporttest.Golden(t, prefix+JUnitFile, reporttest.Written(t, writeJUnit, m))
		if prefix != "" {
			reporttest.Golden(t, prefix+JSONFile, reporttest.Written(t, reports.WriteJSON, m))
		}
	}
}

// The page has what report.md has of rare things.
func TestPageOfRareThings(t *testing.T) {
	m := rare()
	page := html.UnescapeString(string(reporttest.Written(t, page.Write, m)))
	s := &m.Scenarios[0]
	for _, want := range append([]string{
		s.NoiseInWords(), s.APIAway.String(), s.Meaning(), "What the faults affected", `data-label="Requests in flight">1</td>`, `data-label="Containers restarted">2</td>`,
		"<td>21.5s</td><td>21.6s</td>", "2 of 3 mutants were caught for the reason that was planted", "kubectl patch",
	}, s.Notes...) {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
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

type xmlElement struct {
	XMLName  xml.Name
	Attr     []xml.Attr   `xml:",any,attr"`
	Children []xmlElement `xml:",any"`
}

// junitOrder is what both JUnit schemas in wide use demand of the order and of the required attributes.
var junitOrder = map[string]struct{ children, attributes string }{
	"testsuites": {"testsuite", ""},
	"testsuite":  {"properties testcase system-out system-err", "name package id timestamp hostname tests failures errors skipped time"},
	"properties": {"property", ""}, "property": {"", "name value"}, "testcase": {"error failure skipped", "name classname time"},
	"failure": {"", "message type"}, "error": {"", "message type"}, "skipped": {"", "message"}, "system-out": {}, "system-err": {},
}

// Control characters in recorded words do not make a file that no tool reads.
func TestJUnitIsValid(t *testing.T) {
	wild := reports.Scenario{Name: "a/b", Result: reports.Violated, Why: "\x00\x1b[31m <&> ]]>\xff", Verdicts: []reports.Verdict{{
		Outcome: verdict.Violated, Seen: "\x07]]>", Evidence: []string{"\x02"},
	}}}
	for _, m := range []reports.Report{reporttest.Sample(), rare(), {Scenarios: []reports.Scenario{wild}}} {
		var root xmlElement
		if err := xml.Unmarshal(reporttest.Written(t, writeJUnit, m), &root); err != nil {
			t.Fatal(err)
		}
		checkJUnit(t, root)
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
	if diff := cmp.Diff(rule.attributes, strings.Join(names, " ")); diff != "" {
		t.Errorf("attributes of %s (-want +got):\n%s", e.XMLName.Local, diff)
	}
	at := 0
	for _, c := range e.Children {
		i := slices.Index(strings.Fields(rule.children), c.XMLName.Local)
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

// Every report is written, also if others cannot be, and replaces that of an earlier time.
func TestWriteAll(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	reporttest.Build(t, dir, file)
	for _, name := range []string{JSONFile, JUnitFile} { // a folder in its place cannot be replaced
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, MarkdownFile), []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := WriteAll(dir)
	if err == nil || !strings.Contains(err.Error(), "write report.json: ") || !strings.Contains(err.Error(), "write junit.xml: ") {
		t.Errorf("%v", err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"chaos", JUnitFile, HTMLFile, JSONFile, MarkdownFile, "run.json"}, names); err != nil || diff != "" {
		t.Errorf("files, %v (-want +got):\n%s", err, diff)
	}
	md, err := os.ReadFile(filepath.Join(dir, MarkdownFile))
	if err != nil || !strings.HasPrefix(string(md), "## ✅ Held: holdfast run `20260102-030405-test`\n") {
		t.Errorf("%s %v", md, err)
	}
}
