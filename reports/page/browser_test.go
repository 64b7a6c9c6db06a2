package page

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

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
	ctx := reporttest.Browser(t)
	m := reporttest.Sample()
	w, url := reporttest.Open(ctx, t, reporttest.Written(t, Write, m))
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
	if diff := cmp.Diff(want, reporttest.Evaluate[map[string]drawn](ctx, t, countDrawn)); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
	if n := reporttest.Evaluate[int](ctx, t, `document.querySelectorAll(".plot[data-ready=true]").length`); n != len(m.Scenarios) {
		t.Errorf("%d timelines answer to the pointer, want %d", n, len(m.Scenarios))
	}
	t.Run("places", func(t *testing.T) { checkPlaces(ctx, t, &m.Scenarios[0]) })
	t.Run("pointer", func(t *testing.T) { checkPointer(ctx, t) })
	t.Run("keyboard", func(t *testing.T) { checkKeyboard(ctx, t) })
	t.Run("filter", func(t *testing.T) { checkFilter(ctx, t, m) })
	t.Run("zoom", func(t *testing.T) { checkZoom(ctx, t) })
	t.Run("sift", func(t *testing.T) { checkSift(ctx, t) })
	t.Run("copy", func(t *testing.T) { checkCopy(ctx, t) })
	t.Run("colours and widths", func(t *testing.T) { reporttest.CheckSchemesAndWidths(ctx, t) })
	requests, errors := w.Saw()
	if diff := cmp.Diff([]string{url}, requests); diff != "" {
		t.Errorf("it asked the network for more than itself (-want +got):\n%s", diff)
	}
	if len(errors) > 0 {
		t.Errorf("the console says %q", errors)
	}
}

// checkPlaces compares where things are with when they were.
func checkPlaces(ctx context.Context, t *testing.T, s *reports.Scenario) {
	for what, at := range map[string]history.Offset{
		".pd-terminating": historytest.EvictedAt, ".win-biting": historytest.SeenAt, ".fault .over:last-of-type": historytest.HealedAt,
	} {
		got := reporttest.Evaluate[float64](ctx, t, fmt.Sprintf(`(() => {
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
	box := reporttest.Evaluate[map[string]float64](ctx, t, `(() => {
		document.documentElement.style.scrollBehavior = "auto";
		const pod = document.querySelector("#s-chaos-kill-one-worker .pd-unready");
		pod.scrollIntoView({block: "center"});
		const b = pod.getBoundingClientRect();
		return {x: b.left + b.width / 2, y: b.top + b.height / 2};
	})()`)
	if err := chromedp.Do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box["x"], box["y"])); err != nil {
		t.Fatal(err)
	}
	tip := reporttest.Evaluate[string](ctx, t, `document.getElementById("tip").hidden ? "" : document.getElementById("tip").innerText`)
	for _, part := range []string{"backend-6d9f7c-x3k2p on w3", "disturbed", "kill worker w3 active", "DeletionByTaintManager", "1 unready"} {
		if !strings.Contains(tip, part) {
			t.Errorf("no %q in %q", part, tip)
		}
	}
}

func checkKeyboard(ctx context.Context, t *testing.T) {
	reporttest.Evaluate[any](ctx, t, `document.querySelector("#s-mutants-drops-at-sigterm .scrub").focus()`)
	// 17 s is where requests failed.
	script := `(() => {
		const s = document.querySelector("#s-mutants-drops-at-sigterm .scrub");
		const from = +s.getAttribute("aria-valuemin");
		for (let at = from; at < 17000; at = +s.getAttribute("aria-valuenow")) {
			s.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
		}
		return s.getAttribute("aria-valuetext");
	})()`
	said := reporttest.Evaluate[string](ctx, t, script)
	for _, part := range []string{"disturbed", "drain one worker active", "reused: 20 requests", "10 failed", "backend: "} {
		if !strings.Contains(said, part) {
			t.Errorf("no %q in %q", part, said)
		}
	}
	if err := chromedp.Do(ctx, chromedp.KeyEvent("\u001b")); err != nil { // Escape
		t.Fatal(err)
	}
	if !reporttest.Evaluate[bool](ctx, t, `document.getElementById("tip").hidden`) {
		t.Error("Escape does not put the values away")
	}
}

func checkFilter(ctx context.Context, t *testing.T, m reports.Report) {
	const visible = `[...document.querySelectorAll("article")].filter((a) => a.checkVisibility()).map((a) => a.dataset.result)`
	reporttest.Evaluate[any](ctx, t, `document.querySelector(".filter input[value=bad]").click()`)
	want := []string{"violated", "unknown", "unknown", "missed"}
	if diff := cmp.Diff(want, reporttest.Evaluate[[]string](ctx, t, visible)); diff != "" {
		t.Errorf("not held (-want +got):\n%s", diff)
	}
	rows := reporttest.Evaluate[int](ctx, t, `[...document.querySelectorAll(".overview tr[data-good]")].filter((r) => r.checkVisibility()).length`)
	if rows != len(want) {
		t.Errorf("%d rows in the overview, want %d", rows, len(want))
	}
	reporttest.Evaluate[any](ctx, t, `document.querySelector(".filter input[value=all]").click()`)
	if n := len(reporttest.Evaluate[[]string](ctx, t, visible)); n != len(m.Scenarios) {
		t.Errorf("all: %d scenarios", n)
	}
}

// checkZoom: what is under the cursor stays there, the labels stay beside the plot, and zooming out ends where it began.
func checkZoom(ctx context.Context, t *testing.T) {
	got := reporttest.Evaluate[map[string]float64](ctx, t, `(() => {
		const article = document.querySelector("#s-chaos-kill-one-worker");
		const [closer, wider] = article.querySelectorAll(".zoom");
		const pod = article.querySelector(".pd-unready"), name = article.querySelector(".node > .name");
		const box = (e) => e.getBoundingClientRect();
		const before = {width: box(pod).width, name: box(name).left};
		pod.scrollIntoView({block: "center"});
		const plot = article.querySelector(".plot");
		const at = {clientX: box(pod).left + 5, clientY: box(pod).top + 5, bubbles: true};
		plot.dispatchEvent(new PointerEvent("pointermove", at));
		const left = box(pod).left;
		closer.click(); closer.click();
		const zoomed = {times: box(pod).width / before.width, moved: box(pod).left - left, name: box(name).left - before.name,
			scrolls: article.querySelector(".pan").scrollWidth / article.querySelector(".pan").clientWidth};
		wider.click(); wider.click(); wider.click();
		zoomed.back = box(pod).width / before.width;
		plot.dispatchEvent(new PointerEvent("pointerleave"));
		return zoomed;
	})()`)
	for what, want := range map[string]float64{"times": 4, "scrolls": 4, "moved": -15, "name": 0, "back": 1} {
		if math.Abs(got[what]-want) > 1 {
			t.Errorf("%s: %v, want %v", what, got[what], want)
		}
	}
}

// checkSift: only pods and lanes with the name stay bright.
func checkSift(ctx context.Context, t *testing.T) {
	got := reporttest.Evaluate[string](ctx, t, `(() => {
		const article = document.querySelector("#s-chaos-kill-one-worker"), input = article.querySelector(".sift");
		const bright = () => [...article.querySelectorAll(".plot .pod, .plot .chart")].filter((e) => !e.classList.contains("dim")).length;
		const all = [bright()];
		for (const text of ["Q9ZZT", "reused", "w3", "nothing", ""]) {
			input.value = text;
			input.dispatchEvent(new Event("input"));
			all.push(bright());
		}
		return all.join(" ");
	})()`)
	if want := "9 1 1 1 0 9"; got != want {
		t.Errorf("bright pods and charts %q, want %q", got, want)
	}
}

// checkCopy uses the way that every browser allows a page from a file: a selection and a command.
func checkCopy(ctx context.Context, t *testing.T) {
	const button = "#s-chaos-kill-one-worker .copy"
	reporttest.Evaluate[any](ctx, t, `document.addEventListener("copy", () => { window.copied = getSelection().toString(); });
		navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));`)
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(button))); err != nil {
		t.Fatal(err)
	}
	got := reporttest.Evaluate[string](ctx, t, `window.copied + "|" + document.querySelector("`+button+`").textContent`)
	if want := "holdfast run --seed 4711 chaos/kill-one-worker|Copied"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}
