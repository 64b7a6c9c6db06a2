package page

import (
	"encoding/json"
	"flag"
	"html"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestPageStandsAlone(t *testing.T) {
	page := string(reporttest.Written(t, Write, reporttest.Sample()))
	p := reporttest.Parse(t, page)
	if len(p.Outside) > 0 {
		t.Errorf("it refers to %v", p.Outside)
	}
	for link := range p.Links {
		if !p.IDs[link] {
			t.Errorf("link to #%s, which is not there", link)
		}
	}
	// Style sheets and scripts could load things too.
	if found := regexp.MustCompile(`@import|url\([^#)]|https?:`).FindString(string(style)); found != "" {
		t.Errorf("the style has %s", found)
	}
	if found := regexp.MustCompile(`https?:|fetch\(|XMLHttpRequest|import\(|WebSocket|innerHTML|</script`).FindString(string(script)); found != "" {
		t.Errorf("the script has %s", found)
	}
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("no policy that keeps it from loading anything")
	}
}

func TestPageHasEveryScenario(t *testing.T) {
	m := reporttest.Sample()
	page := string(reporttest.Written(t, Write, m))
	p := reporttest.Parse(t, page)
	for _, s := range m.Scenarios {
		if !p.IDs[Anchor(s.Name)] || !p.Links[Anchor(s.Name)] {
			t.Errorf("%s: no section, or no link to it", s.Name)
		}
		for _, v := range s.Verdicts {
			if !strings.Contains(html.UnescapeString(page), v.Promise) {
				t.Errorf("%s: no %q", s.Name, v.Promise)
			}
		}
	}
	want := map[string]int{"article": len(m.Scenarios), "figure": len(m.Scenarios), "h1": 1, "main": 1, "header": 1 + len(m.Scenarios)}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if p.Elements[name] != want[name] {
			t.Errorf("%d %s, want %d", p.Elements[name], name, want[name])
		}
	}
}

func TestPageEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}` + "\u2028</script>"
	m := reporttest.NewSample()
	m.RunID, m.Reproduce, m.Trouble = evil, evil, []string{evil}
	s := &m.Scenarios[1]
	s.Name, s.Claim, s.Why, s.Reproduce, s.Trouble = evil, evil, evil, evil, []string{evil}
	s.Verdicts[0].Seen, s.Verdicts[0].Kind, s.Verdicts[0].Evidence = evil, evil, []string{evil}
	s.Verdicts[0].Numbers = map[string]float64{evil: 1}
	s.Faults[0].Name, s.Faults[0].Witness = evil, []string{evil}
	s.Zones[0].Name, s.Zones[0].Nodes[0].Name, s.Zones[0].Nodes[0].Pods[0].Name = evil, evil, evil
	s.Zones[0].Nodes[0].Pods[0].Workload = evil
	s.Lanes[0].Target = evil
	page := string(reporttest.Written(t, Write, m))
	p := reporttest.Parse(t, page)
	if p.Elements["img"] != 0 {
		t.Errorf("%d img elements", p.Elements["img"])
	}
	if scripts := strings.Count(page, "<script"); scripts != 1+len(m.Scenarios) {
		t.Errorf("%d scripts, want one and one of data a scenario", scripts)
	}
}

func TestPageOfNothing(t *testing.T) {
	for name, m := range map[string]reports.Report{
		"no scenario":         {},
		"an empty scenario":   {Scenarios: []reports.Scenario{{}}},
		"a scenario unjudged": {Scenarios: []reports.Scenario{{Name: "chaos/x", Result: reports.Unknown, Incomplete: "no record", Why: "no record"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := reporttest.Parse(t, string(reporttest.Written(t, Write, m)))
			if p.Elements["article"] != len(m.Scenarios) || p.Elements["figure"] != 0 {
				t.Errorf("%d articles, %d figures", p.Elements["article"], p.Elements["figure"])
			}
		})
	}
}

var manyRequests = flag.Int("requests", 100_000, "requests of TestTheReportOfManyRequests")

// The page shows all requests of a long record, and stays small: a mail server takes it, and a browser opens it at once. `make bench` has it
// print what the report of ten million requests costs.
func TestTheReportOfManyRequests(t *testing.T) {
	const (
		scenario  = "chaos/drain-one-worker"
		failEvery = 1001 // odd, so that requests fail on both lanes
		maxPage   = 5_000_000
	)
	n, dir := *manyRequests, t.TempDir()
	if err := (historytest.Many{Requests: n, RatePerSecond: 10_000, FailEvery: failEvery}).Write(filepath.Join(dir, filepath.FromSlash(scenario))); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	m := reporttest.Build(t, dir, runfolder.File{ID: "many", Outcome: "held", Scenarios: []runfolder.ScenarioResult{{
		Name: scenario, Dir: scenario, Outcome: "held",
		Verdicts: []json.RawMessage{reporttest.VerdictJSON(t, reporttest.Held("NoFailedRequests", "none fails", "0 failed", nil))},
	}}})
	built := time.Since(begun)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if s := m.Scenarios[0]; s.Sent() != uint64(n) || s.Failed() != uint64((n+failEvery-1)/failEvery) {
		t.Errorf("the report has %d requests, of which %d failed", s.Sent(), s.Failed())
	}
	page := reporttest.Written(t, Write, m)
	if len(page) > maxPage {
		t.Errorf("the page has %d bytes, want at most %d", len(page), maxPage)
	}
	t.Logf("%d requests: read and built in %.1f s with %d MB of memory from the system, %d bytes of page", n, built.Seconds(), memory.Sys>>20, len(page))
}
