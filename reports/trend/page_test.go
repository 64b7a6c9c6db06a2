package trend_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// pageNights is a folder with 24 runs of three scenarios and a mutant, two certificates, and nights that are not whole.
func pageNights(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	random := rand.New(rand.NewPCG(1, 1))
	for number := range 24 {
		n := usualNight(number)
		if number >= 12 {
			n.Kubernetes = "v1.37.1"
		}
		if number%8 == 3 {
			n.ProxyMode = "iptables" // 3 of 24
		}
		for _, name := range []string{"chaos/drain-one-worker", "chaos/kill-one-worker", "mutants/no-prestop"} {
			s := scenario{Name: name, Outcome: verdict.Held, Recovery: 10 + random.Float64(), P99: 0.004 + 0.001*random.Float64(), Blind: 0.1}
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
			n.Scenarios = append(n.Scenarios, scenario{Name: "chaos/once", Outcome: verdict.Violated, Recovery: 1, P99: 0.01, Failed: 3})
		}
		n.Store(t, root)
	}
	storeCertificate(t, root, 3, certificate.Certified, 0)
	storeCertificate(t, root, 4, certificate.NotCertified, 5)
	damaged := usualNight(24).Store(t, root)
	must(t, os.Truncate(filepath.Join(damaged, "run.json"), 10))
	must(t, os.Truncate(filepath.Join(damaged, "report.json"), 10))
	empty := filepath.Join(root, "20260201-020000", "chaos")
	must(t, os.MkdirAll(empty, 0o755))
	must(t, os.WriteFile(filepath.Join(root, "20260201-020000", "report.json"), []byte("{}"), 0o644))
	return root
}

func TestIndexInABrowser(t *testing.T) {
	ctx := reporttest.Browser(t)
	root := pageNights(t)
	all, err := trend.Read(root)
	must(t, err)
	must(t, reports.Replace(filepath.Join(root, trend.PageFile), all, trend.WritePage))
	url := "file://" + filepath.Join(root, trend.PageFile)
	w := reporttest.Visit(ctx, t, url)

	t.Run("cells", func(t *testing.T) {
		got := reporttest.Evaluate[[]string](ctx, t, `[...document.querySelectorAll(".grid")].map((g) => g.closest("section").querySelector("h3").textContent + ": " +
			g.querySelectorAll("thead th").length + " heads, " + [...g.querySelectorAll("tbody tr")].map((r) => r.cells[0].firstChild.textContent.trim() + " " +
			[...r.cells].slice(1).map((c) => c.innerText || "-").join("")).join(", "))`)
		want := []string{
			"Kubernetes v1.37, timings lab, nftables, kind, podman, 4 cores amd64: 22 heads, chaos/drain-one-worker HHHHUHHHHHHHHHHHHHHHH, chaos/kill-one-worker HHHHHHHHHHHHHHHHHHHHH, " +
				"chaos/once -----------------V---, mutants/no-prestop CCCCCCCCCCCCCCCCCCCCC",
			"Kubernetes v1.37, timings lab, iptables, kind, podman, 4 cores amd64: 4 heads, chaos/drain-one-worker HHH, chaos/kill-one-worker HHH, mutants/no-prestop CCC",
			"certificates of Kubernetes v1.36 to v1.37, 4 cores amd64: 3 heads, chaos/drain-one-worker HH, the upgrade HV",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("links", func(t *testing.T) {
		checkLinks(t, reporttest.Evaluate[[]string](ctx, t, `[...document.querySelectorAll("main a")].map((a) => a.href)`), root)
	})
	t.Run("found", func(t *testing.T) {
		if text := reporttest.Evaluate[string](ctx, t, `document.querySelector(".found").innerText`); !strings.Contains(text, "chaos/kill-one-worker, recovery: 10.") || !strings.Contains(text, "since 2026-01-13") {
			t.Errorf("found: %q", text)
		}
	})
	t.Run("not whole", func(t *testing.T) {
		text := reporttest.Evaluate[string](ctx, t, `document.querySelector("#left").innerText`)
		for _, part := range []string{"20260125-020000", "20260201-020000", `has version ""`} {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in %s", part, text)
			}
		}
	})
	t.Run("colours and widths", func(t *testing.T) { reporttest.CheckSchemesAndWidths(ctx, t) })
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

func TestEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}</td>`
	var list []night
	for number := range 12 {
		list = append(list, usualNight(number, scenario{Name: evil, Outcome: verdict.Held, Recovery: 10 + float64(number/6)}))
	}
	all := inMemory(list)
	for _, n := range all {
		n.Dir, n.ID, n.Page, n.Trouble = evil, evil, "javascript:alert(1)/"+evil, evil
		n.Scenarios[0].Result, n.Scenarios[0].Line = evil, evil
	}
	var b bytes.Buffer
	must(t, trend.WritePage(&b, all))
	p := reporttest.Parse(t, b.String())
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
	must(t, trend.WritePage(&b, nil))
	reporttest.Parse(t, b.String())
	if !strings.Contains(b.String(), "There is no run here that could be read") {
		t.Error(b.String())
	}
}
