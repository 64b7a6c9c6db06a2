package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

func TestFaultParts(t *testing.T) {
	at := scale{0, 100 * sec}
	moment := func(t time.Duration) *reports.Seconds { return new(reports.Seconds(t * sec)) }
	for name, test := range map[string]struct {
		fault reports.Fault
		want  string
	}{
		"whole": {
			reports.Fault{Injecting: moment(10), Seen: moment(20), Healing: moment(60), Healed: moment(70)},
			"injecting 10%+10% biting 20%+40% healing 60%+10% ",
		},
		"never seen":   {reports.Fault{Injecting: moment(10), Healing: moment(60), Healed: moment(70)}, "injecting 10%+50% healing 60%+10% "},
		"never healed": {reports.Fault{Injecting: moment(10), Seen: moment(20)}, "injecting 10%+10% biting 20%+80% "},
		"cut off":      {reports.Fault{Injecting: moment(10)}, "injecting 10%+90% "},
		"nothing":      {reports.Fault{}, ""},
	} {
		got := ""
		for _, b := range faultParts(at, &test.fault) {
			got += fmt.Sprintf("%s %s+%s ", b.Class, b.X, b.W)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestFaultsShareRowsWithoutOverlap(t *testing.T) {
	at := scale{0, 100 * sec}
	var list []reports.Fault
	for _, from := range []time.Duration{5, 10, 50, 96} {
		list = append(list, reports.Fault{
			Name: "delete a pod", Injecting: new(reports.Seconds(from * sec)), Seen: new(reports.Seconds((from + 1) * sec)), Healed: new(reports.Seconds((from + 3) * sec)),
		})
	}
	rows, y := faultRows(at, list, 100)
	if len(rows) != 2 || len(rows[0].Faults) != 3 || len(rows[1].Faults) != 1 || y != 100+2*faultHeight {
		t.Fatalf("rows %+v up to %d", rows, y)
	}
	if last := rows[0].Faults[2]; !last.Left || last.X != "99%" {
		t.Errorf("the label of the last fault has no room on its right: %+v", last)
	}
}

func TestPodsOfANodeShareRows(t *testing.T) {
	life := func(name string, from, to time.Duration) reports.Pod {
		return reports.Pod{Name: name, Workload: "w", Spans: []reports.PodSpan{{State: objects.PodReady, From: from * sec, To: to * sec}}}
	}
	n := reports.Node{Name: "n", Pods: []reports.Pod{life("w-a", 0, 20), life("w-b", 15, 40), life("w-c", 20, 40), life("w-old", 0, 5)}}
	row, y := newNodeRow(scale{10 * sec, 50 * sec}, &n, "", 0)
	var got []string
	for _, p := range row.Pods {
		got = append(got, fmt.Sprintf("%s at %d from %s to +%s", p.Label, p.Y, p.X, p.W))
	}
	want := []string{"w a at 15 from 0% to +25%", "w b at 32 from 12.5% to +62.5%", "w c at 15 from 25% to +50%"}
	if diff := cmp.Diff(want, got); diff != "" || y != 15+2*17+2 {
		t.Errorf("up to %d (-want +got):\n%s", y, diff)
	}
}

func TestPaths(t *testing.T) {
	buckets := []reports.Bucket{
		{}, {OK: 10, P50: ms, P99: 10 * ms, Max: 100 * ms}, {OK: 10, P50: ms, P99: 10 * ms, Max: 100 * ms},
		{OK: 5, Failed: 5, P50: ms, P99: ms, Max: ms}, {Failed: 1},
	}
	l := &reports.Lane{Name: "fresh", OK: 25, Failed: 6, Buckets: buckets}
	c, _ := newChart(scale{0, 500 * ms}, l, 100*ms, 0)
	for _, test := range []struct{ what, got, want string }{
		{"ok", c.OK, "M0 100h1v-100h2v50h1v50h1V100z"},
		{"sent", c.Sent, "M0 100h1v-100h3v90h1V100z"},
		{"failures", c.Failures, "M3 0v67h1v-67zM4 0v40h1v-40z"},
		{"p50", c.P50, "M1 100h3"},
		{"p99", c.P99, "M1 50h2v50h1"},
		{"max", c.Max, "M1 0h2v100h1"},
		{"top", c.RateTop, "100/s"},
		{"width", c.X + " " + c.W, "0% 100%"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", test.what, test.got, test.want)
		}
	}
	var decades []string
	for _, d := range c.Decades {
		decades = append(decades, d.Label)
	}
	if got := strings.Join(decades, " "); got != "1 ms 10 ms 100 ms" {
		t.Errorf("decades %s", got)
	}
}

func TestFailingStretches(t *testing.T) {
	s := reports.Scenario{From: 0, To: 2 * sec, BucketWidth: 100 * ms, Lanes: []reports.Lane{
		{Name: history.LaneFresh, Buckets: make([]reports.Bucket, 20)}, {Name: history.LaneControl, Buckets: make([]reports.Bucket, 20)},
	}}
	for _, i := range []int{2, 3, 6, 15} {
		s.Lanes[0].Buckets[i].Failed = 1
	}
	s.Lanes[1].Buckets[10].Failed = 1 // of the control lane: not the system's
	got := ""
	for _, b := range failing(scale{s.From, s.To}, &s) {
		got += b.X + "+" + b.W + " "
	}
	if got != "10%+25% 75%+5% " {
		t.Error(got)
	}
}

func TestTicks(t *testing.T) {
	for span, want := range map[time.Duration]string{
		500 * ms:       "0s",
		12 * sec:       "0s 1s 2s 3s 4s 5s 6s 7s 8s 9s 10s 11s 12s",
		50 * sec:       "0s 5s 10s 15s 20s 25s 30s 35s 40s 45s 50s",
		150 * sec:      "0s 20s 40s 1m 1m20s 1m40s 2m 2m20s",
		40 * time.Hour: "",
	} {
		var labels []string
		for _, tick := range ticks(scale{0, span}) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); want != "" && got != want || len(labels) > 14 {
			t.Errorf("%v: %s", span, got)
		}
	}
}

func TestFlags(t *testing.T) {
	got := flags(scale{10 * sec, 20 * sec}, []reports.Verdict{
		{Kind: "A", Outcome: verdict.Violated, At: reports.Seconds(12 * sec)},
		{Kind: "B", Outcome: verdict.Unknown, At: reports.Seconds(19 * sec)},
		{Kind: "C", Outcome: verdict.Held, At: reports.Seconds(12 * sec)},
		{Kind: "D", Outcome: verdict.Violated, At: reports.Seconds(30 * sec)},
		{Kind: "E", Outcome: verdict.Violated},
	})
	want := []verdictFlag{{X: "20%", Class: "violated", Label: "A"}, {X: "90%", Class: "unknown", Label: "B", Left: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodePrefix(t *testing.T) {
	nodes := func(names ...string) []reports.Zone {
		var list []reports.Zone
		for _, n := range names {
			list = append(list, reports.Zone{Nodes: []reports.Node{{Name: n}}})
		}
		return list
	}
	for want, list := range map[string][]reports.Zone{
		"holdfast-a1-": nodes("holdfast-a1-worker", "holdfast-a1-worker2", "", "holdfast-a1-control-plane"),
		"holdfast-":    nodes("holdfast-a1-worker", "holdfast-b-worker"),
		"":             nodes("w1", "holdfast-a1-worker"),
		"e-":           nodes("e-1"),
	} {
		if got := nodePrefix(list); got != want {
			t.Errorf("%v: prefix %q, want %q", list, got, want)
		}
	}
	if got := nodePrefix(nil); got != "" {
		t.Errorf("no nodes: prefix %q", got)
	}
}
