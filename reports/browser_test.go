package reports

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

// browserLimit is for starting Chromium and all that is done with it: 4 s when the machine is idle.
const browserLimit = 2 * time.Minute

// browser starts a headless Chromium with a profile of its own, or ends the test with a remedy.
func browser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("HOLDFAST_NO_CHROMIUM") == "1" {
		t.Skip("HOLDFAST_NO_CHROMIUM=1: the page is not opened in a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium: install it (Debian: apt-get install chromium), or set HOLDFAST_NO_CHROMIUM=1 to leave this test out")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses to start for root
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// witness notes what a page asked of the network and complained about.
type witness struct {
	mu       sync.Mutex
	requests []string
	errors   []string
}

func (w *witness) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			w.requests = append(w.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		w.errors = append(w.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.errors = append(w.errors, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		w.errors = append(w.errors, e.Entry.Text)
	}
}

func (w *witness) saw() (requests, errors []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests, w.errors
}

// open loads a page from a file and returns what watches it.
func open(ctx context.Context, t *testing.T, page []byte) (w *witness, url string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), HTMLFile)
	if err := os.WriteFile(name, page, 0o644); err != nil {
		t.Fatal(err)
	}
	w, url = &witness{}, "file://"+name
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return w, url
}

func evaluate[T any](ctx context.Context, t *testing.T, script string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return value
}

// drawn counts what a scenario's timeline shows, as the browser drew it: elements without size do not count.
type drawn struct {
	Phases, Pods, Faults, Marks, Charts, Failures, Flags, Nodes, Zones int
}

const countDrawn = `Object.fromEntries([...document.querySelectorAll("article")].map((a) => {
	const n = (what) => [...a.querySelectorAll(".plot " + what)].filter((e) => {
		const box = e.getBoundingClientRect();
		return box.width > 0 && box.height > 0;
	}).length;
	return [a.id, {Phases: n(".phase"), Pods: n(".pod"), Faults: n(".fault-name"), Marks: n(".fault .mk"), Charts: n(".chart path.ok"),
		Failures: n(".failures path"), Flags: n(".flag use"), Nodes: n(".node > .name"), Zones: n(".zone > .name")}];
}))`

func TestPageInABrowser(t *testing.T) {
	ctx := browser(t)
	m := sample()
	w, url := open(ctx, t, written(t, WriteHTML, m))
	want := map[string]drawn{
		"s-chaos-drain-one-worker":         {Phases: 4, Pods: 7, Faults: 1, Marks: 4, Charts: 2, Nodes: 6, Zones: 3},
		"s-chaos-kill-one-worker":          {Phases: 4, Pods: 7, Faults: 1, Marks: 4, Charts: 2, Failures: 2, Flags: 1, Nodes: 6, Zones: 3},
		"s-chaos-rolling-update":           {Phases: 4, Pods: 14, Faults: 1, Marks: 4, Charts: 3, Nodes: 7, Zones: 4},
		"s-chaos-delete-two-pods":          {Phases: 4, Pods: 7, Faults: 1, Marks: 4, Charts: 2, Flags: 1, Nodes: 6, Zones: 3},
		"s-conformance-zone-spread-1-to-7": {Phases: 1, Pods: 8, Nodes: 7, Zones: 4},
		"s-chaos-scale-up-and-down":        {Phases: 3, Pods: 7, Faults: 1, Marks: 2, Charts: 2, Nodes: 6, Zones: 3},
		"s-mutants-drops-at-sigterm":       {Phases: 4, Pods: 7, Faults: 1, Marks: 4, Charts: 2, Failures: 2, Flags: 1, Nodes: 6, Zones: 3},
		"s-mutants-no-prestop":             {Phases: 4, Pods: 7, Faults: 1, Marks: 4, Charts: 2, Nodes: 6, Zones: 3},
	}
	if diff := cmp.Diff(want, evaluate[map[string]drawn](ctx, t, countDrawn)); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll(".plot[data-ready=true]").length`); n != len(m.Scenarios) {
		t.Errorf("%d timelines answer to the pointer, want %d", n, len(m.Scenarios))
	}
	t.Run("places", func(t *testing.T) { checkPlaces(ctx, t, &m.Scenarios[0]) })
	t.Run("pointer", func(t *testing.T) { checkPointer(ctx, t) })
	t.Run("keyboard", func(t *testing.T) { checkKeyboard(ctx, t) })
	t.Run("filter", func(t *testing.T) { checkFilter(ctx, t, m) })
	t.Run("copy", func(t *testing.T) { checkCopy(ctx, t) })
	t.Run("colours and widths", func(t *testing.T) { checkSchemesAndWidths(ctx, t) })
	requests, errors := w.saw()
	if diff := cmp.Diff([]string{url}, requests); diff != "" {
		t.Errorf("it asked the network for more than itself (-want +got):\n%s", diff)
	}
	if len(errors) > 0 {
		t.Errorf("the console says %q", errors)
	}
}

// checkPlaces compares where things are with when they were.
func checkPlaces(ctx context.Context, t *testing.T, s *Scenario) {
	for what, at := range map[string]history.Offset{
		".pd-terminating": historytest.EvictedAt, ".win-biting": historytest.SeenAt, ".fault .over:last-of-type": historytest.HealedAt,
	} {
		got := evaluate[float64](ctx, t, fmt.Sprintf(`(() => {
			const plot = document.querySelector("#s-chaos-drain-one-worker .plot").getBoundingClientRect();
			const e = document.querySelector("#s-chaos-drain-one-worker .plot %s");
			const box = (e.matches(".over") ? e.querySelector("circle") : e).getBoundingClientRect();
			return ((e.matches(".over") ? box.left + box.width / 2 : box.left) - plot.left) / plot.width;
		})()`, what))
		want := float64(at-s.From) / float64(s.To-s.From)
		if math.Abs(got-want) > 0.002 {
			t.Errorf("%s is at %.4f of the width, want %.4f", what, got, want)
		}
	}
}

func checkPointer(ctx context.Context, t *testing.T) {
	box := evaluate[map[string]float64](ctx, t, `(() => {
		document.documentElement.style.scrollBehavior = "auto";
		const pod = document.querySelector("#s-chaos-kill-one-worker .pd-unready");
		pod.scrollIntoView({block: "center"});
		const b = pod.getBoundingClientRect();
		return {x: b.left + b.width / 2, y: b.top + b.height / 2};
	})()`)
	if err := chromedp.Do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box["x"], box["y"])); err != nil {
		t.Fatal(err)
	}
	tip := evaluate[string](ctx, t, `document.getElementById("tip").hidden ? "" : document.getElementById("tip").innerText`)
	for _, part := range []string{"backend-6d9f7c-x3k2p on w3", "disturbed", "kill worker w3 in effect", "DeletionByTaintManager", "1 unready"} {
		if !strings.Contains(tip, part) {
			t.Errorf("no %q in %q", part, tip)
		}
	}
}

func checkKeyboard(ctx context.Context, t *testing.T) {
	evaluate[any](ctx, t, `document.querySelector("#s-mutants-drops-at-sigterm .scrub").focus()`)
	// 17 s is where requests failed.
	script := `(() => {
		const s = document.querySelector("#s-mutants-drops-at-sigterm .scrub");
		const from = +s.getAttribute("aria-valuemin");
		for (let at = from; at < 17000; at = +s.getAttribute("aria-valuenow")) {
			s.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
		}
		return s.getAttribute("aria-valuetext");
	})()`
	said := evaluate[string](ctx, t, script)
	for _, part := range []string{"disturbed", "drain one worker in effect", "reused: 20 requests", "10 failed", "backend: "} {
		if !strings.Contains(said, part) {
			t.Errorf("no %q in %q", part, said)
		}
	}
	if err := chromedp.Do(ctx, chromedp.KeyEvent("\u001b")); err != nil { // Escape
		t.Fatal(err)
	}
	if !evaluate[bool](ctx, t, `document.getElementById("tip").hidden`) {
		t.Error("Escape does not put the values away")
	}
}

func checkFilter(ctx context.Context, t *testing.T, m Model) {
	const visible = `[...document.querySelectorAll("article")].filter((a) => a.checkVisibility()).map((a) => a.dataset.result)`
	evaluate[any](ctx, t, `document.querySelector(".filter input[value=bad]").click()`)
	want := []string{"violated", "unknown", "unknown", "missed"}
	if diff := cmp.Diff(want, evaluate[[]string](ctx, t, visible)); diff != "" {
		t.Errorf("not held (-want +got):\n%s", diff)
	}
	rows := evaluate[int](ctx, t, `[...document.querySelectorAll(".overview tr[data-good]")].filter((r) => r.checkVisibility()).length`)
	if rows != len(want) {
		t.Errorf("%d rows in the overview, want %d", rows, len(want))
	}
	evaluate[any](ctx, t, `document.querySelector(".filter input[value=all]").click()`)
	if n := len(evaluate[[]string](ctx, t, visible)); n != len(m.Scenarios) {
		t.Errorf("all: %d scenarios", n)
	}
}

// checkCopy uses the way that every browser allows a page from a file: a selection and a command.
func checkCopy(ctx context.Context, t *testing.T) {
	const button = "#s-chaos-kill-one-worker .copy"
	evaluate[any](ctx, t, `document.addEventListener("copy", () => { window.copied = getSelection().toString(); });
		navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));`)
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(button))); err != nil {
		t.Fatal(err)
	}
	got := evaluate[string](ctx, t, `window.copied + "|" + document.querySelector("`+button+`").textContent`)
	if want := "holdfast run --seed 4711 chaos/kill-one-worker|Copied"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

func checkSchemesAndWidths(ctx context.Context, t *testing.T) {
	seen := make(map[string]bool)
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen[evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`)] = true
	}
	if len(seen) != 2 {
		t.Errorf("light and dark have the background %v", seen)
	}
	for _, width := range []int64{360, 768, 1280, 1920} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)); err != nil {
			t.Fatal(err)
		}
		if over := evaluate[int](ctx, t, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("at a width of %d the page is %d pixels too wide", width, over)
		}
	}
}

// TestTheWitnessIsAwake: without it, a page that loads and logs what it likes could pass TestPageInABrowser.
func TestTheWitnessIsAwake(t *testing.T) {
	ctx := browser(t)
	w, url := open(ctx, t, []byte(`<!doctype html><link rel="icon" href="data:,"><img src="absent.png"><script>console.error("x"); absent()</script>`))
	evaluate[any](ctx, t, `1`)
	requests, errors := w.saw()
	if len(requests) != 2 || requests[0] != url || len(errors) < 3 {
		t.Errorf("requests %q, errors %q", requests, errors)
	}
}
