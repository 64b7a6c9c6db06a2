package formats

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// noisy is a record whose harness heard itself.
func noisy() *historytest.Builder {
	const ms = time.Millisecond
	b := historytest.Healthy()
	for i, n := range []history.Noise{
		{Of: history.NoiseHarness, Pause: 40 * ms, Waits: history.Waits{CPU: 0.5}},
		{Of: "load-0", Pause: 12 * ms, Throttled: 300 * ms, Steal: 0.03, Waits: history.Waits{CPU: 1}},
		{Of: "load-0", Pause: 310 * ms, Throttled: 200 * ms, Steal: 0.01},
	} {
		at := time.Duration(20+i) * time.Second
		n.Since = at - time.Second
		b.Event(history.Event{T: at, Noise: &n})
	}
	for i, late := range []time.Duration{7 * ms, 300 * ms, 9 * ms} {
		sent := time.Duration(20+i) * time.Second
		b.Event(history.Event{T: sent + late, Echo: &history.Echo{Sent: sent}})
	}
	return b
}

func TestNoise(t *testing.T) {
	s := reports.Describe(noisy().Run(), nil)
	want := []reports.Noise{
		{Of: "harness", Pause: reports.Seconds(40 * time.Millisecond), WaitCPU: 0.5},
		{Of: "load-0", Pause: reports.Seconds(310 * time.Millisecond), Throttled: reports.Seconds(500 * time.Millisecond), Steal: 0.03, WaitCPU: 0.5},
	}
	if diff := cmp.Diff(want, s.Noise); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if w := s.WatchDelay; w == nil || w.P50 != reports.Seconds(9*time.Millisecond) || w.Max != reports.Seconds(300*time.Millisecond) {
		t.Errorf("watches: %+v", w)
	}
	const words = "harness did not run for up to 40 ms, and something on its machine waited for a CPU 50 % of the time; " +
		"load-0 did not run for up to 310 ms, was throttled by its CPU quota for 500 ms in total, " +
		"lost up to 3 % of its machine's CPUs to other machines, and something on its machine waited for a CPU 50 % of the time; " +
		"watches delivered changes 9 ms (p50) to 300 ms (maximum) after they happened"
	if got := s.NoiseInWords(); got != words {
		t.Errorf("got  %s\nwant %s", got, words)
	}
}

// Every format tells of it, and none does where the record does not.
func TestNoiseIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		run  *historytest.Builder
		want bool
	}{"heard": {noisy(), true}, "an older record": {historytest.Healthy(), false}} {
		m := reports.Report{Scenarios: []reports.Scenario{reports.Describe(test.run.Run(), nil)}}.Completed()
		var md, html, js strings.Builder
		for _, err := range []error{writeMarkdown(&md, m), page.Write(&html, m), reports.WriteJSON(&js, m)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for format, text := range map[string]string{"md": md.String(), "html": html.String()} {
			if got := strings.Contains(text, "load-0 did not run for up to 310 ms"); got != test.want {
				t.Errorf("%s, %s: told: %t", name, format, got)
			}
		}
		if got := strings.Contains(js.String(), `"pauseSeconds": 0.31`); got != test.want {
			t.Errorf("%s, json: told: %t", name, got)
		}
	}
}
