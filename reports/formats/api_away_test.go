package formats

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// lostAControlPlane is a record with what was seen of the API server while one of three control planes was away.
func lostAControlPlane() *historytest.Builder {
	const ms = time.Millisecond
	b := historytest.Healthy()
	for _, r := range []history.Reach{
		{Way: history.Balanced, Host: "lb", Asked: 153, Failed: 6, Longest: 1470 * ms, Failing: 5480 * ms, Before: 600 * ms},
		{Way: history.Direct, Host: "cp2", Asked: 171, Longest: 1350 * ms, Before: 590 * ms},
		{Way: history.Direct, Host: "cp3", Asked: 1170, Longest: 1510 * ms, Before: 300 * ms},
		{Way: history.Balanced, Host: "lb", Returning: true, Asked: 80, Longest: 700 * ms},
		{Way: history.Direct, Host: "cp3", Returning: true, Asked: 80, Longest: 800 * ms},
	} {
		b.Event(history.Event{T: 30 * time.Second, Reach: &r})
	}
	return b
}

// Every format tells of it, and none does where the record does not.
func TestAPIAwayIsReported(t *testing.T) {
	const words = "API server unavailable: through kind's load balancer 5.48 s (6 of 153 new connections had no good answer; before the fault up to " +
		"600 ms from one to the next), Kubernetes' own 1.51 s (0 of 1,341 new connections had no good answer; before the fault up to " +
		"590 ms from one to the next); while the fault was reverted 700 ms and 800 ms"
	for name, test := range map[string]struct {
		run  *historytest.Builder
		want bool
	}{
		"lost":            {lostAControlPlane(), true},
		"an older record": {historytest.Healthy(), false},
		"one way only":    {lostAControlPlane().DropEvents(func(e history.Event) bool { return e.Reach != nil && e.Reach.Way == history.Direct }), false},
	} {
		m := reports.Report{Scenarios: []reports.Scenario{reports.Describe(test.run.Run(), nil)}}.Completed()
		var md, html, js strings.Builder
		for _, err := range []error{writeMarkdown(&md, m), page.Write(&html, m), reports.WriteJSON(&js, m)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for format, text := range map[string]string{"md": md.String(), "html": strings.ReplaceAll(html.String(), "&#39;", "'")} {
			if got := strings.Contains(text, words); got != test.want {
				t.Errorf("%s, %s: told: %t", name, format, got)
			}
		}
		if got := strings.Contains(js.String(), `"awaySeconds": 5.48`); got != test.want {
			t.Errorf("%s, json: told: %t", name, got)
		}
	}
}

func TestAPIAwayNamesTheBalancer(t *testing.T) {
	for want, cluster := range map[string]history.ClusterInfo{
		"through the load balancer 5.48 s ":              {Provider: "existing"},
		"through kind's load balancer (haproxy) 5.48 s ": {Provider: "kind", Balancer: "haproxy"},
	} {
		run := lostAControlPlane().Run()
		run.Header.Cluster = cluster
		if got := reports.Describe(run, nil).APIAway.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
