package patrol

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
	"github.com/holdfast-ha/holdfast/reports/pagetest"
	"github.com/holdfast-ha/holdfast/workloads"
)

// busy is a patrol with something in each part of its page: findings with and without a fix, pods that are Pending, skews, and a rule that
// could not be applied.
func busy(t *testing.T) *Patrol {
	t.Helper()
	c := patroltest.New(t)
	c.Deploy("good", workloads.Backend{}, patroltest.Spread...)
	c.Deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
	c.Stuck("bad", time.Now().Add(-time.Hour), "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints. <script>alert(1)</script>")
	p := watching(c)
	p.round(t.Context())
	c.Forbid("poddisruptionbudgets")
	p.round(t.Context())
	return p
}

func TestPage(t *testing.T) {
	p := busy(t)
	status, page := get(t, p, "/")
	if status != http.StatusOK {
		t.Fatalf("%d\n%s", status, page)
	}
	for _, want := range []string{
		"2 workloads: 1 errors, 2 warnings, 0 notes", "shop/Deployment/bad", "pods have long been Pending because of a hard constraint",
		"all namespaces</td><td>budget-blocks-drains, no-budget, budget-covers-nothing, unhealthy-pods-block-drains</td>", "not for you", "not checked in the last reading; last seen",
		"kubectl create --filename -", "<td>topology.kubernetes.io/zone</td><td>hard</td><td class=\"number exceeded\">3</td><td class=\"number\">1</td><td>a: 3, b: 1, 1 empty</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(page, "<script") || !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") {
		t.Error("what the cluster says is not escaped")
	}
	parsed := pagetest.Parse(t, page)
	for anchor := range parsed.Links {
		if !parsed.IDs[anchor] {
			t.Errorf("a link to #%s, which is nowhere", anchor)
		}
	}
	if len(parsed.Outside) != 1 || parsed.Outside[0] != "a href=/metrics" {
		t.Errorf("it leads to, or loads, %v", parsed.Outside)
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestPageWithoutAReading(t *testing.T) {
	c := patroltest.New(t)
	p := watching(c)
	if _, page := get(t, p, "/"); !strings.Contains(page, "The cluster has not been read yet.") || strings.Contains(page, "Findings") {
		t.Errorf("before it has looked:\n%s", page)
	}
	p.round(t.Context())
	if _, page := get(t, p, "/"); !strings.Contains(page, "Nothing was found.") || !strings.Contains(page, "0 workloads: 0 errors") {
		t.Errorf("of an empty cluster:\n%s", page)
	}
	c.Away()
	p.round(t.Context())
	if _, page := get(t, p, "/"); !strings.Contains(page, "The last reading failed.") || !strings.Contains(page, "connection refused") {
		t.Errorf("when it cannot look:\n%s", page)
	}
}

// However large the cluster, the page is not.
func TestPageIsBounded(t *testing.T) {
	p := New(Options{Every: time.Minute})
	now := time.Now()
	s := seen(now, 4*mostRows, audit.Error)
	for range 4 * mostRows {
		s.skews = append(s.skews, audit.Skew{Namespace: "shop", Kind: audit.Deployment, Name: "web", Constraint: audit.Unconstrained})
		s.pending = append(s.pending, audit.Pending{Namespace: "shop", Kind: audit.Deployment, Name: "web", Since: now})
		s.notChecked = append(s.notChecked, audit.NotChecked{Namespace: "shop", Rules: []string{"no-budget"}})
	}
	p.now.Store(s)
	_, page := get(t, p, "/")
	rows := strings.Count(page, "<tr><td")
	if rows != 4*mostRows || !strings.Contains(page, "1200 errors") || strings.Count(page, "900 more are not shown here") != 3 || strings.Count(page, "900 smaller ones") != 1 {
		t.Errorf("%d rows of %d bytes", rows, len(page))
	}
}

func TestOnlyGetIsAnswered(t *testing.T) {
	p := watching(patroltest.New(t))
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/", http.StatusMethodNotAllowed}, {http.MethodDelete, "/metrics", http.StatusMethodNotAllowed},
		{http.MethodGet, "/debug/pprof/", http.StatusNotFound}, {http.MethodGet, "/x", http.StatusNotFound}, {http.MethodHead, "/", http.StatusOK},
	} {
		w := httptest.NewRecorder()
		p.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody))
		if w.Code != test.want {
			t.Errorf("%s %s: %d, want %d", test.method, test.path, w.Code, test.want)
		}
	}
}

// A browser shows the page with its style and without a complaint, in the light and in the dark, on a telephone and on a wide screen. It
// loads nothing else.
func TestPageInABrowser(t *testing.T) {
	ctx := pagetest.Browser(t)
	server := httptest.NewServer(busy(t).handler())
	defer server.Close()
	w := pagetest.Visit(ctx, t, server.URL+"/")
	if font := pagetest.Evaluate[string](ctx, t, `getComputedStyle(document.body).maxWidth`); font != "1240px" {
		t.Errorf("the page's style is not applied: its width is %s", font)
	}
	pagetest.CheckSchemesAndWidths(ctx, t)
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS("summary"))); err != nil {
		t.Fatal(err)
	}
	if open := pagetest.Evaluate[bool](ctx, t, `document.querySelector("details").open`); !open {
		t.Error("the commands of a finding do not unfold")
	}
	requests, errors := w.Saw()
	if len(requests) != 1 || len(errors) > 0 {
		t.Errorf("requests %v, errors %v", requests, errors)
	}
}
