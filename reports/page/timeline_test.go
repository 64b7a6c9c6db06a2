package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
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

// The golden timelines have what the page draws: bars, flags, paths and labels with their places.
func TestGoldenTimelines(t *testing.T) {
	m := reporttest.Sample()
	for i, name := range map[int]string{1: "killed", 2: "rolled", 4: "placed"} {
		drawn, err := json.MarshalIndent(layout(&m.Scenarios[i]), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name+".json", append(drawn, '\n'))
	}
}
