package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
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
	s := Describe(noisy().Run(), nil)
	want := []NoisePart{
		{Of: "harness", Pause: 40 * time.Millisecond, WaitCPU: 0.5},
		{Of: "load-0", Pause: 310 * time.Millisecond, Throttled: 500 * time.Millisecond, Steal: 0.03, WaitCPU: 0.5},
	}
	if diff := cmp.Diff(want, s.Noise.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if w := s.Noise.Watches; w.P50 != 9*time.Millisecond || w.Max != 300*time.Millisecond {
		t.Errorf("watches: %+v", w)
	}
	const words = "harness stood still for 40 ms at the most, on a machine where something waited for a processor 50 % of the time; " +
		"load-0 stood still for 310 ms at the most, kept from running by its quota for 500 ms in all, " +
		"with up to 3 % of its machine's processors given to others, on a machine where something waited for a processor 50 % of the time; " +
		"changes came to the record 9 ms (p50) to 300 ms (at the most) after they happened"
	if got := s.Noise.String(); got != words {
		t.Errorf("got  %s\nwant %s", got, words)
	}
}

// Every format tells of it, and none does where the record does not.
func TestNoiseIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		run  *historytest.Builder
		want bool
	}{"heard": {noisy(), true}, "an older record": {historytest.Healthy(), false}} {
		m := Model{Scenarios: []Scenario{Describe(test.run.Run(), nil)}}
		var md, html, js strings.Builder
		for _, err := range []error{WriteMarkdown(&md, m), WriteHTML(&html, m), WriteJSON(&js, m)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for format, text := range map[string]string{"md": md.String(), "html": html.String()} {
			if got := strings.Contains(text, "load-0 stood still for 310 ms"); got != test.want {
				t.Errorf("%s, %s: told: %t", name, format, got)
			}
		}
		if got := strings.Contains(js.String(), `"pauseSeconds": 0.31`); got != test.want {
			t.Errorf("%s, json: told: %t", name, got)
		}
	}
}
