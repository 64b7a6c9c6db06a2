package reports

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

func TestDescribeADrain(t *testing.T) {
	s := Describe(historytest.Healthy().Run(), nil)
	if s.Name != "chaos/drain-one-worker" || s.Claim == "" || s.Seed != 1 {
		t.Errorf("name %q, claim %q, seed %d", s.Name, s.Claim, s.Seed)
	}
	if s.From >= historytest.SteadyAt || s.From < 2*sec || s.To != historytest.DrainedAt {
		t.Errorf("the timeline shows %v to %v", s.From, s.To)
	}
	if diff := cmp.Diff(Disruptions{PodTerminations: 1, UpperBound95: new(1.0)}, s.Disruptions); diff != "" {
		t.Errorf("disruptions (-want +got):\n%s", diff)
	}
	if s.Sent() != 12000 || s.Failed() != 0 || s.Unsent() != 0 || s.OffAxis != 0 {
		t.Errorf("%d sent, %d failed, %d unsent, %d off the axis", s.Sent(), s.Failed(), s.Unsent(), s.OffAxis)
	}
	victim, replacement := s.Zones[0].Nodes[0].Pods[0], s.Zones[0].Nodes[1].Pods[1]
	if victim.Disruption != "EvictionByEvictionAPI" || len(victim.Spans) != 2 || replacement.Workload != "backend" || len(s.Zones[0].Nodes[0].Spans) != 3 {
		t.Errorf("victim %+v, replacement %+v, node %v", victim, replacement, s.Zones[0].Nodes[0].Spans)
	}
	var shape []string
	for _, z := range s.Zones {
		for _, n := range z.Nodes {
			for _, p := range n.Pods {
				shape = append(shape, z.Name+" "+n.Name+" "+p.Name)
			}
		}
	}
	want := []string{
		"a w1 backend-1", "a w2 backend-2", "a w2 backend-7", "b w3 backend-3", "b w4 backend-4", "c w5 backend-5",
		"c w6 backend-6",
	}
	if diff := cmp.Diff(want, shape); diff != "" {
		t.Errorf("pods by zone and node (-want +got):\n%s", diff)
	}
}

func TestDisruptions(t *testing.T) {
	lost := historytest.ReadyNode("w3", "b")
	lost.Ready = "Unknown"
	stray := historytest.ReadyPod("load-0", "w1", history.Deleted)
	stray.Labels = nil
	for name, test := range map[string]struct {
		run  *historytest.Builder
		want Disruptions
	}{
		"a drain takes no node": {historytest.Healthy(), Disruptions{PodTerminations: 1}},
		"a node is lost": {
			took(historytest.Healthy().Node(20*sec, lost), "w3"), Disruptions{PodTerminations: 1, NodeLosses: 1},
		},
		"a node that no fault took does not count": {
			historytest.Healthy().Node(20*sec, lost), Disruptions{PodTerminations: 1},
		},
		"a node lost while it recovers does not count": {
			took(historytest.Healthy().Node(36*sec, lost), "w3"), Disruptions{PodTerminations: 1},
		},
		"a pod of no workload does not count": {
			historytest.Healthy().Pod(20*sec, stray), Disruptions{PodTerminations: 1},
		},
		"nothing counts where nothing was disturbed": {
			historytest.New().Node(1*sec, historytest.ReadyNode("w3", "b")).Node(2*sec, lost), Disruptions{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, disruptions(test.run.Run())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// took makes the record's fault take one more node.
func took(b *historytest.Builder, node string) *historytest.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.Stage == history.Seen {
			e.Fault.Nodes = append(e.Fault.Nodes, node)
		}
	})
}

func TestLanes(t *testing.T) {
	b := historytest.Healthy().
		Load(history.LaneControl, 10, historytest.SteadyAt, historytest.DrainedAt).
		Fail(history.LaneReused, 20*sec, 20100*ms, history.Reset).
		Fail(history.LaneReused, 21*sec, 21050*ms, history.Refused).
		Fail(history.LaneControl, 20*sec, 30*sec, history.TimeoutResponse).
		Fail(history.LaneFresh, 30*sec, 31*sec, history.Unsent).
		EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due == 25*sec {
				r.Sent, r.Done = r.Due+300*ms, r.Due+500*ms
			}
		})
	s := Describe(b.Run(), nil)
	var names []history.Lane
	for _, l := range s.Lanes {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]history.Lane{history.LaneFresh, history.LaneReused, history.LaneControl}, names); diff != "" {
		t.Fatalf("lanes (-want +got):\n%s", diff)
	}
	fresh, reused := s.Lanes[0], s.Lanes[1]
	if fresh.OK != 5800 || fresh.Unsent != 200 || fresh.LatestSend != Seconds(300*ms) || fresh.Latency.Max != Seconds(500*ms) ||
		fresh.Service.Max != Seconds(200*ms) || fresh.Latency.P50 != Seconds(historytest.Latency) {
		t.Errorf("fresh: %+v", fresh)
	}
	if reused.Failed != 30 || reused.FirstFailure != Seconds(20*sec) || reused.LastFailure != Seconds(21047*ms) ||
		reused.Kinds() != "20 reset, 10 refused" || reused.RatePerSecond != 200 {
		t.Errorf("reused: failed %d from %v to %v, %s", reused.Failed, reused.FirstFailure, reused.LastFailure, reused.Kinds())
	}
	if s.Failed() != 30 {
		t.Errorf("%d failed, want 30: the control lane tells of the harness only", s.Failed())
	}
	if s.P99() != Seconds(historytest.Latency) {
		t.Errorf("p99 %v", s.P99())
	}
}

func TestBuckets(t *testing.T) {
	s := Describe(historytest.Healthy().Fail(history.LaneFresh, 17*sec, 17200*ms, history.Refused).Run(), nil)
	if s.BucketWidth != 100*ms {
		t.Fatalf("a bucket is %v wide", s.BucketWidth)
	}
	if (historytest.SteadyAt-s.From)%s.BucketWidth != 0 {
		t.Errorf("the axis begins at %v: no bucket begins with the load", s.From)
	}
	var ok, failed uint32
	for i, b := range s.Lanes[0].Buckets {
		ok, failed = ok+b.OK, failed+b.Failed
		begin := s.From + time.Duration(i)*s.BucketWidth
		if b.Failed > 0 && (begin+s.BucketWidth <= 17*sec || begin >= 17200*ms) {
			t.Errorf("%d failed in the bucket that begins at %v", b.Failed, begin)
		}
		if b.OK > 0 && (b.Max != historytest.Latency || b.P50 > b.Max || b.P50 < b.Max*9/10) {
			t.Errorf("bucket at %v: p50 %v, max %v", begin, b.P50, b.Max)
		}
	}
	if ok != 5960 || failed != 40 {
		t.Errorf("%d ok and %d failed in buckets", ok, failed)
	}
}

// TestBucketsAreBounded: a long run, or one request with a wild time, must not take more memory or a longer page.
func TestBucketsAreBounded(t *testing.T) {
	for _, length := range []time.Duration{ms, sec, time.Minute, time.Hour, 1000 * time.Hour} {
		b := historytest.New().Phase(history.Steady, 0).Phase(history.Drained, length)
		b.Request(history.Request{Due: length / 2}).Request(history.Request{Due: length + length/20})
		b.Request(history.Request{Due: 1 << 62}).Request(history.Request{Due: -5 * time.Hour, Done: 1})
		s := Describe(b.Run(), nil)
		if n := len(s.Lanes[0].Buckets); n > maxBuckets || length > time.Minute && n < maxBuckets/5 {
			t.Errorf("%v: %d buckets of %v", length, n, s.BucketWidth)
		}
		if s.OffAxis != 2 || s.Sent() != 4 {
			t.Errorf("%v: %d requests, %d off the axis, want 4 and 2", length, s.Sent(), s.OffAxis)
		}
	}
}

func TestDescribeDamage(t *testing.T) {
	for name, test := range map[string]struct {
		run  *historytest.Builder
		want string
	}{
		"events cut off":   {historytest.Healthy().Incomplete("events.jsonl: cut off"), "events.jsonl: cut off"},
		"requests cut off": {historytest.Healthy().FailReading(errors.New("w-1.csv: torn")), "w-1.csv: torn"},
		"both": {
			historytest.Healthy().Incomplete("events.jsonl: cut off").FailReading(errors.New("torn")), "events.jsonl: cut off",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := verdict.Verdict{Promise: "none fails", Kind: "NoFailedRequests", Outcome: verdict.Held, Seen: "0 failed"}
			s := Describe(test.run.Run(), []verdict.Verdict{all})
			if s.Result != Unknown || s.Incomplete != test.want {
				t.Errorf("%s, incomplete: %q", s.Result, s.Incomplete)
			}
		})
	}
	if s := Describe(history.Run{}, nil); s.Result != Unknown || s.To <= s.From {
		t.Errorf("an empty record: %+v", s)
	}
}

func TestTroublesAreBounded(t *testing.T) {
	b := historytest.New()
	for i := range 100 {
		b.Trouble(time.Duration(i)*sec, "starved")
	}
	got := Describe(b.Run(), nil).Trouble
	if len(got) != 21 || got[0] != "at 0s: starved" || got[20] != "and 80 more" {
		t.Errorf("%d: %v", len(got), got)
	}
}

// many is a record whose n requests pass one by one, as those of a file do.
func many(n int) history.Run {
	run := historytest.Healthy().Run()
	step := (historytest.DrainedAt - historytest.SteadyAt) / time.Duration(n)
	run.Requests = func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			var r history.Request
			for i := range n {
				r = history.Request{Lane: history.LaneFresh, Due: historytest.SteadyAt + time.Duration(i)*step}
				r.Sent, r.Done, r.Outcome = r.Due, r.Due+time.Duration(i%5000)*time.Microsecond, history.OK
				if !yield(&r, nil) {
					return
				}
			}
		}
	}
	return run
}

func TestMemoryDoesNotGrowWithRequests(t *testing.T) {
	allocations := func(n int) float64 {
		run := many(n)
		return testing.AllocsPerRun(1, func() { Describe(run, nil) })
	}
	few, lots := allocations(10_000), allocations(200_000)
	if lots > few*1.1 {
		t.Errorf("%v allocations for 10,000 requests and %v for 200,000", few, lots)
	}
}

// TestJSONOfNothing: who reads it in a language without null checks must find lists.
func TestJSONOfNothing(t *testing.T) {
	var text strings.Builder
	if err := WriteJSON(&text, Report{Scenarios: []Scenario{withoutRecord([]verdict.Verdict{{}}, "")}}.Completed()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "null") {
		t.Errorf("null in\n%s", &text)
	}
}
