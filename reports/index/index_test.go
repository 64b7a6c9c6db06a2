package index_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/index"
	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/nights/nightstest"
	"github.com/holdfast-ha/holdfast/reports/pagetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stored is a folder with 24 runs of three scenarios and a mutant, two certificates, and nights that are not whole.
func stored(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	random := rand.New(rand.NewPCG(1, 1))
	for number := range 24 {
		n := nightstest.Usual(number)
		if number >= 12 {
			n.Kubernetes = "v1.37.1"
		}
		if number%8 == 3 {
			n.ProxyMode = "iptables" // 3 of 24
		}
		for _, name := range []string{"chaos/drain-one-worker", "chaos/kill-one-worker", "mutants/no-prestop"} {
			s := nightstest.Scenario{Name: name, Outcome: verdict.Held, Recovery: 10 + random.Float64(), P99: 0.004 + 0.001*random.Float64(), Blind: 0.1}
			if strings.HasPrefix(name, "mutants/") {
				s.Mutant, s.Outcome, s.Failed = true, verdict.Violated, 90
			}
			if name == "chaos/kill-one-worker" && number >= 12 {
				s.Recovery += 4
			}
			if name == "chaos/drain-one-worker" && number == 5 {
				s.Outcome = verdict.Unknown
			}
			n.Scenarios = append(n.Scenarios, s)
		}
		if number == 20 {
			n.Scenarios = append(n.Scenarios, nightstest.Scenario{Name: "chaos/once", Outcome: verdict.Violated, Recovery: 1, P99: 0.01, Failed: 3})
		}
		n.Store(t, root)
	}
	nightstest.StoreCertificate(t, root, 3, certificate.Certified, 0)
	nightstest.StoreCertificate(t, root, 4, certificate.NotCertified, 5)
	damaged := nightstest.Usual(24).Store(t, root)
	must(t, os.Truncate(filepath.Join(damaged, "run.json"), 10))
	must(t, os.Truncate(filepath.Join(damaged, "report.json"), 10))
	empty := filepath.Join(root, "20260201-020000", "chaos")
	must(t, os.MkdirAll(empty, 0o755))
	must(t, os.WriteFile(filepath.Join(root, "20260201-020000", "report.json"), []byte("{}"), 0o644))
	return root
}

func TestIndexInABrowser(t *testing.T) {
	ctx := pagetest.Browser(t)
	root := stored(t)
	all, err := nights.Read(root)
	must(t, err)
	must(t, index.Replace(root, all))
	url := "file://" + filepath.Join(root, index.FileName)
	w := pagetest.Visit(ctx, t, url)

	t.Run("cells", func(t *testing.T) {
		got := pagetest.Evaluate[[]string](ctx, t, `[...document.querySelectorAll(".grid")].map((g) => g.closest("section").querySelector("h3").textContent + ": " +
			g.querySelectorAll("thead th").length + " heads, " + [...g.querySelectorAll("tbody tr")].map((r) => r.cells[0].firstChild.textContent.trim() + " " +
			[...r.cells].slice(1).map((c) => c.innerText || "-").join("")).join(", "))`)
		want := []string{
			"Kubernetes v1.37, lab timings, nftables, kind on podman, 4 cores amd64: 22 heads, chaos/drain-one-worker HHHHUHHHHHHHHHHHHHHHH, chaos/kill-one-worker HHHHHHHHHHHHHHHHHHHHH, " +
				"chaos/once -----------------V---, mutants/no-prestop CCCCCCCCCCCCCCCCCCCCC",
			"Kubernetes v1.37, lab timings, iptables, kind on podman, 4 cores amd64: 4 heads, chaos/drain-one-worker HHH, chaos/kill-one-worker HHH, mutants/no-prestop CCC",
			"certificates of Kubernetes v1.36 to v1.37, 4 cores amd64: 3 heads, chaos/drain-one-worker HH, the upgrade HV",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("links", func(t *testing.T) {
		checkLinks(t, pagetest.Evaluate[[]string](ctx, t, `[...document.querySelectorAll("main a")].map((a) => a.href)`), root)
	})
	t.Run("heads", func(t *testing.T) {
		text := pagetest.Evaluate[string](ctx, t, `[...document.querySelectorAll(".grid thead th .changed")].map((e) => e.textContent).join("; ")`)
		if n := strings.Count(text, "Kubernetes v1.37.1"); n != 2 || strings.Contains(text, "v1.37.0") || !strings.Contains(text, "node image node:v1.37.1") { // once on each line
			t.Errorf("the new version is marked %d times: %s", n, text)
		}
	})
	t.Run("charts", func(t *testing.T) {
		drawn := pagetest.Evaluate[map[string]int](ctx, t, `Object.fromEntries([...document.querySelectorAll("section.line section.line")].map((s) => [s.id,
			[...s.querySelectorAll("svg path")].filter((p) => p.getTotalLength() > 0).length]))`)
		// Recovery, p99, failed, blindness and missing evidence of each scenario; a mutant has the last two, and a certificate the first three.
		if diff := cmp.Diff(map[string]int{"line-1": 4*5 - 3 - 2 + 2, "line-2": 2*5 + 2, "line-3": 2 * 3}, drawn); diff != "" {
			t.Errorf("charts (-want +got):\n%s", diff)
		}
		if moved := pagetest.Evaluate[string](ctx, t, `[...document.querySelectorAll(".charts .moved")].map((e) => e.className + ": " + e.textContent).join("; ")`); !strings.HasPrefix(moved, "moved worse: 10.") || !strings.HasSuffix(moved, " since 2026-01-13") {
			t.Errorf("moved: %q", moved)
		}
	})
	t.Run("not whole", func(t *testing.T) {
		text := pagetest.Evaluate[string](ctx, t, `document.querySelector("#troubled").innerText`)
		for _, part := range []string{"20260125-020000", "20260201-020000", `has version ""`} {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in %s", part, text)
			}
		}
	})
	t.Run("colours and widths", func(t *testing.T) { pagetest.CheckSchemesAndWidths(ctx, t) })
	requests, errors := w.Saw()
	if diff := cmp.Diff([]string{url}, requests); diff != "" {
		t.Errorf("it asked for more than itself (-want +got):\n%s", diff)
	}
	if len(errors) > 0 {
		t.Errorf("the console says %q", errors)
	}
}

// checkLinks looks for the file of each link, and for the anchor in it.
func checkLinks(t *testing.T, links []string, root string) {
	t.Helper()
	if len(links) < 24*3 {
		t.Errorf("%d links", len(links))
	}
	pages := map[string]string{}
	for _, link := range links {
		name, anchor, _ := strings.Cut(strings.TrimPrefix(link, "file://"), "#")
		if !strings.HasPrefix(name, root) {
			t.Errorf("%s leads out of the folder", link)
		}
		if pages[name] == "" {
			text, err := os.ReadFile(name)
			must(t, err)
			pages[name] = string(text)
		}
		if anchor != "" && !strings.Contains(pages[name], `id="`+anchor+`"`) {
			t.Errorf("no %s in %s", anchor, name)
		}
	}
}

// large are so many nights of so many scenarios, of which one in a hundred is not good.
func large(count, scenarios int) (all nights.Nights) {
	random := rand.New(rand.NewPCG(1, 1))
	line := nights.Line{Kubernetes: "v1.37", Profile: "lab", ProxyMode: "nftables", Provider: "kind", Engine: "podman", Cores: 4, Arch: "amd64"}
	for number := range count {
		at := nightstest.First.Add(time.Duration(number) * 24 * time.Hour)
		id := at.Format("20060102-150405")
		n := nights.Night{Dir: id, ID: id, At: at, Result: reports.Held, Page: id + "/report.html", Anchors: true}
		for i := range scenarios {
			s := nights.Scenario{
				Name: fmt.Sprintf("conformance/rollout-spread-number-%d", i), Result: reports.Held, Line: line, Versions: nights.Versions{Kubernetes: "v1.37.0", Holdfast: fmt.Sprint(number)},
			}
			if random.IntN(100) == 0 {
				s.Result = reports.Unknown
			}
			for range nights.Figures {
				s.Figures = append(s.Figures, math.Exp(random.NormFloat64()))
			}
			n.Scenarios = append(n.Scenarios, s)
		}
		all.List = append(all.List, n)
	}
	return all
}

// TestSize: a year of 200 scenarios is a page that can be mailed. Good verdicts of older nights lose their links, and no other does.
func TestSize(t *testing.T) {
	for _, s := range []struct{ nights, scenarios, most, linked int }{{365, 200, 5 << 20, 150}, {30, 30, 1 << 19, 30}} {
		var b bytes.Buffer
		must(t, index.Write(&b, large(s.nights, s.scenarios)))
		page := b.String()
		t.Logf("%d nights of %d scenarios: %d bytes, %d links", s.nights, s.scenarios, len(page), strings.Count(page, "<a "))
		if len(page) > s.most {
			t.Errorf("%d bytes, want at most %d", len(page), s.most)
		}
		if n := strings.Count(page, `<td class="h">`) + strings.Count(page, `<td class="u">`); n != s.nights*s.scenarios {
			t.Errorf("%d cells, want %d", n, s.nights*s.scenarios)
		}
		if n := strings.Count(page, `<td class="h"><a`) + strings.Count(page, `<td class="u"><a`); n < s.linked*s.scenarios {
			t.Errorf("%d links, want at least %d", n, s.linked*s.scenarios)
		}
		if strings.Contains(page, `<td class="u">U`) || strings.Contains(page, "To keep the page small") != (s.linked < s.nights) {
			t.Error("a verdict that is not good has no link, or missing links are not told")
		}
	}
}

func TestEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}</td>`
	all := large(12, 1)
	for i := range all.List {
		n := &all.List[i]
		n.Dir, n.ID, n.Page, n.Trouble, n.Absurd = evil, evil, "javascript:alert(1)/"+evil, evil, []string{evil}
		n.Scenarios[0].Name, n.Scenarios[0].Result, n.Scenarios[0].Versions.Holdfast, n.Scenarios[0].Line.Profile = evil, evil, evil, evil
	}
	all.Twice = []string{evil}
	var b bytes.Buffer
	must(t, index.Write(&b, all))
	p := pagetest.Parse(t, b.String())
	if p.Elements["img"] != 0 || strings.Count(b.String(), "<script") != 1 {
		t.Errorf("%d img elements, %d scripts", p.Elements["img"], strings.Count(b.String(), "<script"))
	}
	for _, link := range p.Outside {
		if strings.HasPrefix(link, "a href=javascript:") {
			t.Errorf("a link runs a script: %s", link)
		}
	}
}

func TestIndexOfNothing(t *testing.T) {
	var b bytes.Buffer
	must(t, index.Write(&b, nights.Nights{}))
	pagetest.Parse(t, b.String())
	if !strings.Contains(b.String(), "There is no run here that could be read") {
		t.Error(b.String())
	}
}
