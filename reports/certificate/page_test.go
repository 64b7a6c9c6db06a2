package certificate

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestPageHasAllOfIt(t *testing.T) {
	c := sample(t)
	c.Application.Notes = []string{"Left out, and not part of the verdict: ServiceMonitor shop"}
	page := html.UnescapeString(string(reporttest.Written(t, WriteHTML, c)))
	reporttest.Parse(t, string(reporttest.Written(t, WriteHTML, c)))
	wanted := []string{"<h1>Not certified</h1>", c.Planted, c.Reproduce, c.From.Image, c.To.Digest, c.Deprecations[0].Message, c.Failure.Why, "webhook-unreachable"}
	wanted = slices.Concat(wanted, c.Reasons, c.Application.Notes)
	for _, s := range c.Scenarios {
		wanted = append(wanted, `href="#s-`+strings.ReplaceAll(s.Name, "/", "-")+`"`, `id="s-`+strings.ReplaceAll(s.Name, "/", "-")+`"`)
	}
	for _, s := range c.Upgrade.Steps {
		wanted = append(wanted, s.What)
	}
	for _, part := range wanted {
		if !strings.Contains(page, part) {
			t.Errorf("no %q on it", part)
		}
	}
}

// It loads nothing, and leads to nothing but its own records.
func TestPageStandsAlone(t *testing.T) {
	page := string(reporttest.Written(t, WriteHTML, sample(t)))
	p := reporttest.Parse(t, page)
	for _, out := range p.Outside {
		to, ok := strings.CutPrefix(out, "a href=")
		if !ok || !strings.HasPrefix(to, "before/") && !strings.HasPrefix(to, "after/") && !strings.HasPrefix(to, "upgrade/") && !strings.HasPrefix(to, "application/") {
			t.Errorf("it refers to %s", out)
		}
	}
	if len(p.Outside) < 3 {
		t.Errorf("it leads to %v, want the records", p.Outside)
	}
	for link := range p.Links {
		if !p.IDs[link] {
			t.Errorf("link to #%s, which is not there", link)
		}
	}
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("no policy that keeps it from loading anything")
	}
}

// inCode is what Markdown takes for no markup.
var inCode = regexp.MustCompile("(?s)```.*```|`[^`\n]*`")

func TestPageEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}` + "\u2028</script>"
	side := Side{Verdict: evil, Why: evil, Record: "before/" + evil, Promises: []Promise{{Promise: evil, Kind: evil, Verdict: evil, Seen: evil, Cause: evil, Evidence: []string{evil}}},
		Lanes: []Lane{{Name: evil}}, Causes: []reports.Cause{{Cause: evil, Words: evil}}}
	c := &Certificate{
		ID: evil, Holdfast: evil, From: Release{Kubernetes: evil, Image: evil, Digest: evil, Components: map[string]string{evil: evil}}, Reproduce: evil, Planted: evil,
		Result: evil, Reasons: []string{evil}, Profiles: []Profile{{Name: evil, Result: evil, Features: []Feature{{Name: evil, Result: evil, Scenarios: []string{evil}}}}},
		Scenarios: []Scenario{{Name: evil, Claim: evil, Before: side, After: side, Differences: []Difference{{What: evil, Before: evil, After: evil}}}},
		Upgrade: Upgrade{Side: side, Steps: []Step{{What: evil, Node: evil, From: evil, To: evil, Result: evil, Error: evil}}, WatchGaps: []Gap{{What: evil, Why: evil}},
			Budgets: []Budget{{Namespace: evil, Name: evil, MinAvailable: evil}}},
		Application: &Application{Name: evil, Source: evil, Digest: evil, Images: []string{evil}, Probes: []ApplicationProbe{{Name: evil, URL: evil}}, Notes: []string{evil}, Result: evil,
			Reasons: []string{evil}, Upgrade: Upgrade{Side: side}},
		Skipped: []NotTried{{evil, evil}}, NotSupported: []NotTried{{evil, evil}}, Failure: &Failure{evil, evil, evil, evil}, Deprecations: []Deprecation{{Object: evil, API: evil, Message: evil}},
	}
	page := string(reporttest.Written(t, WriteHTML, c))
	if p := reporttest.Parse(t, page); p.Elements["img"] != 0 || strings.Count(page, "<script") != 1 {
		t.Errorf("%d img elements, %d scripts", p.Elements["img"], strings.Count(page, "<script"))
	}
	md := inCode.ReplaceAllString(string(reporttest.Written(t, WriteMarkdown, c)), "")
	if strings.Contains(md, "<script") || strings.Contains(md, "<img") {
		t.Errorf("markup in\n%s", md)
	}
}

// A certificate of nothing has a page, too.
func TestPageOfNothing(t *testing.T) {
	for name, c := range map[string]*Certificate{"empty": {}} {
		page := string(reporttest.Written(t, WriteHTML, c))
		reporttest.Parse(t, page)
		if !strings.Contains(page, "<h1>Not certified</h1>") {
			t.Errorf("%s: it does not say so", name)
		}
		reporttest.Written(t, WriteMarkdown, c)
	}
}
