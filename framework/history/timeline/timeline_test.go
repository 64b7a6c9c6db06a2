package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

const (
	s       = time.Second
	forever = 1000 * time.Hour
)

func moment(at history.Offset) history.Moment { return history.Moment{At: at, OK: true} }

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// pod edits a ready pod on w1.
func pod(name string, change history.Change, edit func(*history.Pod)) history.Pod {
	p := historytest.ReadyPod(name, "w1", change)
	if edit != nil {
		edit(&p)
	}
	return p
}

func of(b *historytest.Builder) *timeline.Timeline { return timeline.New(b.Run().Events) }

// moments are the states of a pod.
type moments struct {
	Running, Ready, Requested, Evicted, Ended, Gone history.Moment
	Probed                                          bool
}

func momentsOf(p *timeline.Pod) moments {
	return moments{p.Running, p.Ready, p.Requested, p.Evicted, p.Ended, p.Gone, p.Probed}
}

func TestPod(t *testing.T) {
	pending := func(p *history.Pod) { p.Phase, p.Ready, p.Node, p.IP = "Pending", false, "", "" }
	unready := func(p *history.Pod) { p.Ready = false }
	deleting := func(p *history.Pod) { p.Deleting = true }
	failed := func(p *history.Pod) { p.Phase, p.Disruption = "Failed", "TerminationByKubelet" }
	type report struct {
		change history.Change
		edit   func(*history.Pod)
	}
	tests := []struct {
		name    string
		reports []report // at 1s, 2s, ...
		want    moments
		began   history.Offset
	}{
		{"listed", []report{{history.Listed, nil}}, moments{Running: moment(s), Ready: moment(s)}, timeline.Never},
		{"started with a readiness probe", []report{{history.Added, pending}, {history.Modified, unready}, {history.Modified, nil}},
			moments{Running: moment(2 * s), Ready: moment(3 * s), Probed: true}, timeline.Never},
		{"started without one", []report{{history.Added, pending}, {history.Modified, nil}}, moments{Running: moment(2 * s), Ready: moment(2 * s)}, timeline.Never},
		{"not ready in a crash loop", []report{{history.Added, func(p *history.Pod) { p.Ready, p.Waiting = false, "CrashLoopBackOff" }}},
			moments{Running: moment(s)}, timeline.Never},
		{"deleted", []report{{history.Listed, nil}, {history.Modified, deleting}, {history.Modified, deleting}, {history.Deleted, deleting}},
			moments{Running: moment(s), Ready: moment(s), Requested: moment(2 * s), Gone: moment(4 * s)}, 2 * s},
		{"vanished", []report{{history.Listed, nil}, {history.Deleted, deleting}},
			moments{Running: moment(s), Ready: moment(s), Gone: moment(2 * s)}, 2 * s},
		{"evicted by its kubelet", []report{{history.Listed, nil}, {history.Modified, failed}, {history.Deleted, failed}},
			moments{Running: moment(s), Ready: moment(s), Evicted: moment(2 * s), Ended: moment(2 * s), Gone: moment(3 * s)}, 2 * s},
		{"deleted after it had ended", []report{{history.Listed, nil}, {history.Modified, failed}, {history.Modified, func(p *history.Pod) { failed(p); deleting(p) }}},
			moments{Running: moment(s), Ready: moment(s), Requested: moment(3 * s), Evicted: moment(2 * s), Ended: moment(2 * s)}, 2 * s},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := historytest.New()
			for i, r := range test.reports {
				b.Pod(history.Offset(i+1)*s, pod("p1", r.change, r.edit))
			}
			p := of(b).Pods[0]
			same(t, test.want, momentsOf(p))
			same(t, test.began, p.EndBegan())
			same(t, 1*s, p.Seen())
			if len(p.Reports) != len(test.reports) || !p.Alone || p.Node != "w1" && test.reports[len(test.reports)-1].edit == nil {
				t.Errorf("%d reports, alone %t, node %q", len(p.Reports), p.Alone, p.Node)
			}
		})
	}
}

// TestWhatAPodKeeps: an empty value does not replace an earlier one, except for the labels.
func TestWhatAPodKeeps(t *testing.T) {
	b := historytest.New().
		Pod(1*s, pod("p1", history.Added, func(p *history.Pod) { p.Lifecycle = &history.Lifecycle{Readiness: true} })).
		Pod(2*s, pod("p1", history.Modified, func(p *history.Pod) { p.Disruption, p.Deleting = "EvictionByEvictionAPI", true })).
		Pod(3*s, history.Pod{Change: history.Deleted, Name: "p1", UID: "uid-p1"})
	p := of(b).Pods[0]
	if p.Node != "w1" || p.IP != "10.0.0.1" || p.Revision != historytest.Revision || p.Disruption != "EvictionByEvictionAPI" ||
		p.Labels != nil || p.Lifecycle == nil || p.UID != "uid-p1" || p.Namespace != historytest.Namespace {
		t.Errorf("pod %+v", p)
	}
}

func TestPodsOfOneName(t *testing.T) {
	second := func(p *history.Pod) { p.UID = "second" }
	tl := of(historytest.New().
		Pod(1*s, pod("p1", history.Listed, nil)).Pod(3*s, pod("p1", history.Deleted, nil)).
		Pod(5*s, pod("p1", history.Added, second)).Pod(7*s, pod("p1", history.Deleted, second)))
	for at, want := range map[history.Offset]string{0: "uid-p1", 3 * s: "uid-p1", 4 * s: "second", 5 * s: "second", 9 * s: "second"} {
		if got := tl.Pod("p1", at); got == nil || got.UID != want || got.Alone {
			t.Errorf("at %v: %+v, want %s", at, got, want)
		}
	}
	if got := tl.Pod("p2", s); got != nil {
		t.Errorf("p2 is %+v", got)
	}
}

func TestTerminations(t *testing.T) {
	tl := of(historytest.Healthy())
	within := func(from, to history.Offset) (names []string) {
		for _, p := range tl.Terminations(from, to) {
			names = append(names, p.Name+" on "+p.Node+" by "+p.Disruption)
			same(t, moment(historytest.EvictedAt), p.Requested)
			same(t, moment(historytest.GoneAt), p.Gone)
		}
		return names
	}
	want := []string{historytest.Victim + " on " + historytest.DrainedNode + " by EvictionByEvictionAPI"}
	same(t, want, within(historytest.DisturbedAt, historytest.RecoveredAt))
	same(t, want, within(historytest.EvictedAt, historytest.EvictedAt+1))
	same(t, []string(nil), within(historytest.EvictedAt+1, forever))
}

// TestTerminationsAreInOrder: in the order in which the ends began, not in that of the pods.
func TestTerminationsAreInOrder(t *testing.T) {
	deleting := func(p *history.Pod) { p.Deleting = true }
	b := historytest.New().
		Pod(1*s, pod("p1", history.Listed, nil)).Pod(1*s, pod("p2", history.Listed, nil)).Pod(1*s, pod("p3", history.Listed, nil)).
		Pod(2*s, pod("p2", history.Modified, deleting)).Pod(3*s, pod("p1", history.Modified, deleting)).
		Pod(4*s, pod("p2", history.Deleted, nil)).Pod(5*s, pod("p4", history.Deleted, deleting))
	var got []string
	for _, p := range of(b).Terminations(0, forever) {
		got = append(got, p.Name)
	}
	same(t, []string{"p2", "p1", "p4"}, got)
}

func TestDowntimes(t *testing.T) {
	restarted := func(n int, ready bool) func(*history.Pod) {
		return func(p *history.Pod) { p.Restarts, p.Ready = n, ready }
	}
	kill := func(b *historytest.Builder, at history.Offset) {
		b.Event(history.Event{T: at, KubeNote: &history.KubeNote{Kind: "Pod", Name: "p1", Reason: "Killing"}})
	}
	b := historytest.New().Pod(1*s, pod("p1", history.Listed, restarted(2, true))) // restarted before the record began
	b.Pod(10*s, pod("p1", history.Modified, restarted(3, false)))                  // no Kubernetes Event: it may have been down for 3 s
	b.Pod(11*s, pod("p1", history.Modified, restarted(4, false)))                  // again, before it was ready
	b.Pod(12*s, pod("p1", history.Modified, restarted(4, true)))
	kill(b, 20*s)
	b.Pod(21*s, pod("p1", history.Modified, restarted(5, false)))
	want := []timeline.Downtime{{From: 7 * s, Told: 10 * s, To: 12 * s}, {From: 20 * s, Told: 21 * s, To: timeline.Never}}
	same(t, want, of(b).Pods[0].Downtimes)
}

func TestEvictedAccordingToAKubernetesEvent(t *testing.T) {
	b := historytest.New().Pod(1*s, pod("p1", history.Listed, nil)).
		Event(history.Event{T: 2 * s, KubeNote: &history.KubeNote{Kind: "Pod", Name: "p1", Reason: "Evicted"}}).
		Event(history.Event{T: 3 * s, KubeNote: &history.KubeNote{Kind: "Node", Name: "p1", Reason: "Killing"}}).
		Event(history.Event{T: 4 * s, KubeNote: &history.KubeNote{Kind: "Pod", Name: "p9", Reason: "Killing"}})
	p := of(b).Pods[0]
	same(t, moment(2*s), p.Evicted)
	same(t, timeline.Never, p.EndBegan())
}

func TestPodSpans(t *testing.T) {
	ready := func(is bool) func(*history.Pod) { return func(p *history.Pod) { p.Ready = is } }
	b := historytest.New().
		Pod(1*s, pod("p1", history.Added, ready(false))).Pod(2*s, pod("p1", history.Modified, ready(true))).
		Pod(3*s, pod("p1", history.Modified, ready(true))).Pod(4*s, pod("p1", history.Modified, ready(false))).
		Pod(5*s, pod("p1", history.Modified, func(p *history.Pod) { p.Deleting = true })).Pod(6*s, pod("p1", history.Deleted, nil)).
		Pod(7*s, pod("p2", history.Listed, nil)).Pod(8*s, pod("p2", history.Modified, func(p *history.Pod) { p.Phase = "Succeeded" }))
	pods := of(b).Pods
	same(t, []timeline.Span[timeline.PodState]{
		{State: timeline.PodStarting, From: 1 * s, To: 2 * s}, {State: timeline.PodReady, From: 2 * s, To: 4 * s},
		{State: timeline.PodUnready, From: 4 * s, To: 5 * s}, {State: timeline.PodTerminating, From: 5 * s, To: 6 * s},
	}, pods[0].Spans(10*s))
	same(t, []timeline.Span[timeline.PodState]{{State: timeline.PodReady, From: 7 * s, To: 8 * s}}, pods[1].Spans(10*s))
}

func node(name, ready string, change history.Change) history.Node {
	n := historytest.ReadyNode(name, "a")
	n.Ready, n.Change = ready, change
	return n
}

func TestNodeLosses(t *testing.T) {
	tl := of(historytest.New().
		Node(1*s, node("w1", "True", history.Listed)).Node(1*s, node("w2", "True", history.Listed)).
		Node(1*s, node("w3", "False", history.Listed)). // was never ready
		Node(2*s, node("w1", "Unknown", history.Modified)).Node(3*s, node("w1", "False", history.Modified)).
		Node(4*s, node("w1", "True", history.Modified)).
		Node(5*s, node("w1", "False", history.Modified)).
		Node(6*s, node("w2", "True", history.Deleted)).
		Node(7*s, node("w3", "Unknown", history.Modified)))
	labels := historytest.ReadyNode("w1", "a").Labels
	want := []timeline.NodeLoss{
		{Name: "w1", Labels: labels, At: 2 * s, Ready: "Unknown", Back: moment(4 * s)},
		{Name: "w1", Labels: labels, At: 5 * s, Ready: "False"},
		{Name: "w2", Labels: historytest.ReadyNode("w2", "a").Labels, At: 6 * s},
	}
	same(t, want, tl.NodeLosses(0, forever))
	same(t, want[1:2], tl.NodeLosses(3*s, 6*s))
	for at, lost := range map[history.Offset]bool{0: false, 1 * s: false, 2 * s: true, 4*s - 1: true, 4 * s: false, 9 * s: true} {
		if got := tl.LostAt("w1", at); got != lost {
			t.Errorf("w1 lost at %v: %t", at, got)
		}
	}
	if !tl.LostAt("w3", s) || tl.LostAt("w9", s) || tl.Nodes["w1"].Zone != "a" {
		t.Errorf("w3 was never ready, and w9 never reported: %+v", tl.Nodes)
	}
	if losses := of(historytest.Healthy()).NodeLosses(0, forever); len(losses) != 0 {
		t.Errorf("a drain loses no node: %+v", losses)
	}
}

func TestNodeSpans(t *testing.T) {
	cordoned := node("w1", "True", history.Modified)
	cordoned.Unschedulable = true
	tl := of(historytest.New().
		Node(1*s, node("w1", "True", history.Listed)).Node(2*s, node("w1", "True", history.Modified)).Node(3*s, cordoned).
		Node(4*s, node("w1", "Unknown", history.Modified)).Node(5*s, node("w1", "True", history.Deleted)).Node(8*s, node("w1", "True", history.Added)))
	same(t, []timeline.Span[timeline.NodeState]{
		{State: timeline.NodeReady, From: 1 * s, To: 3 * s}, {State: timeline.NodeCordoned, From: 3 * s, To: 4 * s},
		{State: timeline.NodeNotReady, From: 4 * s, To: 5 * s}, {State: timeline.NodeReady, From: 8 * s, To: 10 * s},
	}, tl.Nodes["w1"].Spans(10*s))
}

func TestEndpoints(t *testing.T) {
	slice := func(name string, change history.Change, endpoints ...history.Endpoint) history.Slice {
		return history.Slice{Change: change, Name: name, Service: "web", Endpoints: endpoints}
	}
	p1 := history.Endpoint{IP: "10.0.0.1", Pod: "p1", Ready: true, Serving: true}
	draining := history.Endpoint{IP: "10.0.0.1", Pod: "p1", Serving: true, Terminating: true}
	starting := history.Endpoint{IP: "10.0.0.2", Pod: "p2"}
	stranger := history.Endpoint{IP: "10.9.9.9", Pod: "external", Ready: true}
	tl := of(historytest.New().
		Pod(1*s, pod("p1", history.Listed, nil)).Pod(1*s, pod("p2", history.Listed, nil)).Pod(1*s, pod("p3", history.Listed, nil)).
		Slice(2*s, slice("a", history.Listed)).Slice(3*s, slice("a", history.Modified, p1, starting, stranger)).
		Slice(4*s, slice("b", history.Added, p1)).              // both slices contain p1
		Slice(5*s, slice("a", history.Modified, starting)).     // and only b
		Slice(6*s, slice("b", history.Modified, draining)).     //
		Slice(7*s, slice("b", history.Deleted, draining)).      //
		Slice(8*s, slice("a", history.Modified, p1, starting)). // ready again
		Slice(9*s, slice("other", history.Listed, history.Endpoint{})))
	type points = timeline.Series[timeline.Endpoint]
	same(t, points{
		{At: 3 * s, Value: timeline.Endpoint{Ready: true, Serving: true}}, {At: 6 * s, Value: timeline.Endpoint{Serving: true, Terminating: true}},
		{At: 7 * s}, {At: 8 * s, Value: timeline.Endpoint{Ready: true, Serving: true}},
	}, tl.Pods[0].Endpoints["web"])
	same(t, points{{At: 3 * s}}, tl.Pods[1].Endpoints["web"]) // an endpoint that is neither ready nor serving is one
	same(t, 0, len(tl.Pods[2].Endpoints))
	same(t, moment(3*s), tl.Pods[0].Offered)
	same(t, history.Moment{}, tl.Pods[0].Withdrawn(6*s-1))
	same(t, moment(6*s), tl.Pods[0].Withdrawn(forever))
	var names []string
	for _, p := range tl.Services["web"] {
		names = append(names, p.Name)
	}
	same(t, []string{"p1", "p2"}, names)
}

func TestSeries(t *testing.T) {
	series := timeline.Series[int]{{At: 1, Value: 1}, {At: 3, Value: 3}, {At: 3, Value: 4}, {At: 5, Value: 5}}
	for at, want := range map[history.Offset]int{0: 0, 1: 1, 2: 1, 3: 4, 4: 4, 5: 5, 99: 5} {
		if got, ok := series.At(at); got != want || ok != (at > 0) {
			t.Errorf("at %d: %d, %t", at, got, ok)
		}
	}
	for _, test := range []struct {
		from, to history.Offset
		value    int
		want     bool
	}{
		{0, 0, 1, false}, {0, 1, 1, true}, {2, 2, 1, true}, {3, 9, 1, false}, {2, 3, 3, true}, {3, 3, 3, false}, {3, 3, 4, true}, {0, 4, 5, false}, {99, 99, 5, true},
	} {
		if got := series.Any(test.from, test.to, func(v int) bool { return v == test.value }); got != test.want {
			t.Errorf("%d from %d to %d: %t", test.value, test.from, test.to, got)
		}
	}
}
