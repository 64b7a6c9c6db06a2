package page

import (
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/pagetest"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestPageStandsAlone(t *testing.T) {
	page := string(reporttest.Written(t, Write, reporttest.Sample()))
	p := pagetest.Parse(t, page)
	if len(p.Outside) > 0 {
		t.Errorf("it refers to %v", p.Outside)
	}
	for link := range p.Links {
		if !p.IDs[link] {
			t.Errorf("link to #%s, which is not there", link)
		}
	}
	// Style sheets and scripts could load things too.
	style, _ := assets.ReadFile("assets/report.css")
	script, _ := assets.ReadFile("assets/report.js")
	if found := regexp.MustCompile(`@import|url\([^#)]|https?:`).Find(style); found != nil {
		t.Errorf("the style has %s", found)
	}
	if found := regexp.MustCompile(`https?:|fetch\(|XMLHttpRequest|import\(|WebSocket|innerHTML|</script`).Find(script); found != nil {
		t.Errorf("the script has %s", found)
	}
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("no policy that keeps it from loading anything")
	}
}

func TestPageHasEveryScenario(t *testing.T) {
	m := reporttest.Sample()
	page := string(reporttest.Written(t, Write, m))
	p := pagetest.Parse(t, page)
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
	p := pagetest.Parse(t, page)
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
			p := pagetest.Parse(t, string(reporttest.Written(t, Write, m)))
			if p.Elements["article"] != len(m.Scenarios) || p.Elements["figure"] != 0 {
				t.Errorf("%d articles, %d figures", p.Elements["article"], p.Elements["figure"])
			}
		})
	}
}

// TestPageSize: 25 scenarios, as in a full run, must stay a page that can be mailed.
func TestPageSize(t *testing.T) {
	m := reporttest.Sample()
	m.Scenarios = slices.Clone(m.Scenarios)
	for len(m.Scenarios) < 25 {
		m.Scenarios = append(m.Scenarios, m.Scenarios[1])
	}
	if n := len(reporttest.Written(t, Write, m)); n > 3<<20 {
		t.Errorf("%d bytes for 25 scenarios", n)
	} else {
		t.Logf("%d bytes for 25 scenarios", n)
	}
}
