package formats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

// twoFaults is a healthy record with a second fault, from 21 s to 22 s, in which a pod was started again and a node lost. A
// request of 500 ms was in flight when it began, and no other was sent while it was on.
func twoFaults() *historytest.Builder {
	b := historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Due >= 20*sec && r.Due <= 23*sec })
	for stage, at := range map[history.FaultStage]history.Offset{
		history.Injecting: 21 * sec, history.Seen: 21200 * ms, history.Lasting: 21500 * ms, history.Healing: 21600 * ms, history.Healed: 22 * sec,
	} {
		b.Fault(at, history.FaultMark{ID: 1, Name: "kill one worker", Stage: stage})
	}
	lost := historytest.ReadyNode("w4", historytest.ZoneOf("w4"))
	lost.Ready = "Unknown"
	b.Node(21300*ms, lost)
	again := historytest.ReadyPod("backend-4", "w4", history.Modified)
	again.Restarts = 2
	b.Pod(21400*ms, again)
	stranger := again
	stranger.Name, stranger.UID, stranger.Labels = "filler", "filler", nil
	b.Pod(21400*ms, stranger)
	for _, lane := range []history.Lane{history.LaneFresh, history.LaneControl} {
		b.Request(history.Request{Lane: lane, Due: 20900 * ms, Done: 21400 * ms})
	}
	return b.Request(history.Request{Lane: history.LaneFresh, Due: 21100 * ms, Outcome: history.Unsent})
}

// TestWhatAFaultMet: requests in flight while it was on, at its first moment already, and what the watches saw going. Each fault
// has its own.
func TestWhatAFaultMet(t *testing.T) {
	s := reports.Describe(twoFaults().Run(), nil)
	s.Result = reports.Held
	if len(s.Faults) != 2 || s.Faults[0].PodTerminations != 1 || s.Faults[0].NodeLosses != 1 || s.Faults[0].RequestsInFlight < 4000 {
		t.Errorf("the first affected %+v", s.Faults)
	}
	if diff := cmp.Diff(reports.Affected{RequestsInFlight: 1, PodRestarts: 2, NodeLosses: 1}, s.Faults[1].Affected); diff != "" {
		t.Errorf("the second affected (-want +got):\n%s", diff)
	}
	m := reports.Report{Scenarios: []reports.Scenario{s}}
	if got, want := string(reporttest.Written(t, writeMarkdown, m)), "| kill one worker | chaos/drain-one-worker | 1 | 0 | 2 | 1 |"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	page := string(reporttest.Written(t, page.Write, m))
	for _, want := range []string{
		"What the faults affected", `data-label="Requests in flight">1</td>`, `data-label="Containers restarted">2</td>`, "<td>21.5s</td><td>21.6s</td>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	f := m.Scenarios[0].Faults[1]
	if f.RequestsInFlight != 1 || f.PodRestarts != 2 || f.NodeLosses != 1 || f.PodTerminations != 0 || f.Lasting == nil || *f.Lasting != reports.Seconds(21500*ms) {
		t.Errorf("the report has %+v", f)
	}
	if got, want := string(reporttest.Written(t, writeJUnit, m)), `name="drain-one-worker.fault.1.requestsInFlight" value="1"`; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// TestTheReportCountsAsTheVerdictDoes: who compares the two finds the same number.
func TestTheReportCountsAsTheVerdictDoes(t *testing.T) {
	run := historytest.Healthy().Run()
	s := reports.Describe(run, nil)
	want := fmt.Sprintf("%d requests while drain one worker was on, from", s.Faults[0].RequestsInFlight)
	v := judge.Check(run, invariant.NoFailedRequests{})
	if got := strings.Join(v.Evidence, "\n"); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// TestNoFaultMetNothing, and one without load says so instead of 0.
func TestNoFaultMetNothing(t *testing.T) {
	none := reports.Describe(historytest.New().Run(), nil)
	if got := string(reporttest.Written(t, writeMarkdown, reports.Report{Scenarios: []reports.Scenario{none}})); strings.Contains(got, "| fault |") {
		t.Errorf("there was no fault:\n%s", got)
	}
	idle := reports.Describe(historytest.Healthy().DropRequests(func(history.Request) bool { return true }).
		Header(func(h *history.Header) { h.Plan = nil }).Run(), nil)
	if got := string(reporttest.Written(t, writeMarkdown, reports.Report{Scenarios: []reports.Scenario{idle}})); !strings.Contains(got, "| – | 1 | 0 | 0 |") {
		t.Errorf("there was no load:\n%s", got)
	}
}

// TestHowLateRequestsWereSent: of all that were sent, failed ones included, and the worst lane in the overview.
func TestHowLateRequestsWereSent(t *testing.T) {
	s := reports.Describe(historytest.Healthy().EditRequests(func(r *history.Request) {
		switch {
		case r.Lane == history.LaneFresh && r.Seq%50 == 0:
			r.Sent += 30 * ms
			r.Outcome = history.Reset
		case r.Lane == history.LaneFresh:
			r.Sent += 200_000
		}
		r.Done = max(r.Done, r.Sent)
	}).Run(), nil)
	for _, l := range s.Lanes {
		want := reports.Quantiles{}
		if l.Name == history.LaneFresh {
			want = reports.Quantiles{P50: 200_000, P90: 200_000, P99: reports.Seconds(30 * ms), P999: reports.Seconds(30 * ms), Max: reports.Seconds(30 * ms)}
		}
		if l.Lag != want || l.LatestSend != want.Max {
			t.Errorf("%s was late by %+v, want %+v", l.Name, l.Lag, want)
		}
	}
	if got, want := s.Figures().Lag, "200 µs, 30 ms, 30 ms"; got != want {
		t.Errorf("the overview says %q, want %q", got, want)
	}
}
