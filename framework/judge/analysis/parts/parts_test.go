package parts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

const s = time.Second

func pod(namespace, name string, labels map[string]string) history.Pod {
	return history.Pod{Change: history.Added, Namespace: namespace, Name: name, UID: namespace + "-" + name, Labels: labels, Phase: "Running", Ready: true, Node: "w1"}
}

func app(name string) map[string]string { return map[string]string{"app": name, "tier": "x"} }

// two namespaces with one workload of the same name each, a workload that shares a budget with one of them, and pods of none.
func shop() *ht.Builder {
	b := ht.New().Phase(history.Steady, s).Phase(history.Drained, 100*s)
	b.Node(s, ht.ReadyNode("w1", "a"))
	for _, w := range []history.Key{{Namespace: "shop", Name: "web"}, {Namespace: "shop", Name: "db"}, {Namespace: "shop", Name: "mail"}, {Namespace: "test", Name: "web"}} {
		b.Workload(s, history.Workload{Change: history.Listed, Namespace: w.Namespace, Name: w.Name, Selector: map[string]string{"app": w.Name}, Replicas: 1})
		b.Pod(s, pod(w.Namespace, w.Name+"-1", app(w.Name)))
		b.Slice(s, history.Slice{Change: history.Listed, Namespace: w.Namespace, Name: w.Name + "-x", Service: w.Name, Endpoints: []history.Endpoint{{Pod: w.Name + "-1", Ready: true}}})
	}
	b.Budget(s, history.Budget{Change: history.Listed, Namespace: "shop", Name: "web", Selector: map[string]string{"app": "web"}})
	b.Budget(s, history.Budget{Change: history.Listed, Namespace: "shop", Name: "mail", Selector: map[string]string{"app": "mail"}})
	b.Pod(2*s, pod("shop", "job-1", map[string]string{"job-name": "j"}))
	return b
}

func names(p *parts.Parts) (list []string) {
	for _, one := range p.All {
		list = append(list, one.Name)
	}
	return list
}

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*ht.Builder)
		want []string
	}{
		"each workload by itself": {func(*ht.Builder) {}, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
		"a budget over two": {func(b *ht.Builder) {
			b.Budget(3*s, history.Budget{Change: history.Added, Namespace: "shop", Name: "both", Selector: map[string]string{"tier": "x"}})
		}, []string{"pods of no workload in shop", "shop/db and 2 workloads beside it", "test/web"}},
		"a budget over all pods of its namespace": {func(b *ht.Builder) {
			b.Budget(3*s, history.Budget{Change: history.Added, Namespace: "test", Name: "all"})
		}, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
		"a Service that led to both for a moment": {func(b *ht.Builder) {
			b.Slice(3*s, history.Slice{Change: history.Modified, Namespace: "shop", Name: "web-x", Service: "web", Endpoints: []history.Endpoint{{Pod: "web-1"}, {Pod: "db-1"}}})
			b.Slice(4*s, history.Slice{Change: history.Modified, Namespace: "shop", Name: "web-x", Service: "web"})
		}, []string{"pods of no workload in shop", "shop/db and 1 workload beside it", "shop/mail", "test/web"}},
		"a workload without pods is no part": {func(b *ht.Builder) {
			b.Workload(3*s, history.Workload{Change: history.Added, Namespace: "shop", Name: "new", Selector: map[string]string{"app": "new"}})
		}, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
		"a pod that is relabelled": {func(b *ht.Builder) {
			p := pod("shop", "web-1", app("db"))
			p.Change = history.Modified
			b.Pod(3*s, p)
		}, []string{"pods of no workload in shop", "shop/db and 1 workload beside it", "shop/mail", "test/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := shop()
			test.edit(b)
			if diff := cmp.Diff(test.want, names(parts.Of(b.Run()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOfRules: pods whose spread constraints or affinities are about each other are in one part, in their namespace.
func TestOfRules(t *testing.T) {
	for name, test := range map[string]struct {
		rules string
		want  []string
	}{
		"none":            {`{}`, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
		"about its own":   {`{"topologySpreadConstraints":[{"labelSelector":{"matchLabels":{"app":"web"}}}]}`, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
		"about another's": {`{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"app":"db"}}}]}}}`, []string{"pods of no workload in shop", "shop/db and 1 workload beside it", "shop/mail", "test/web"}},
		"with an expression, which may select all": {`{"topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}]}`, []string{"shop/db and 2 workloads beside it", "test/web"}},
		"that cannot be read":                      {`[]`, []string{"pods of no workload in shop", "shop/db", "shop/mail", "shop/web", "test/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := shop().EditEvents(func(e *history.Event) {
				if e.Pod != nil && e.Pod.Name == "web-1" && e.Pod.Namespace == "shop" {
					e.Pod.Rules = []byte(test.rules)
				}
			})
			if diff := cmp.Diff(test.want, names(parts.OfRules(b.Run()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryEventIsInOnePart: taken together, the parts have each event once, but for those that are the whole record's.
func TestEveryEventIsInOnePart(t *testing.T) {
	b := shop()
	b.Event(history.Event{T: 5 * s, KubeNote: &history.KubeNote{Namespace: "shop", Kind: "ReplicaSet", Name: "web-abc", Reason: "SuccessfulDelete", Message: "Deleted pod: web-1"}})
	b.Event(history.Event{T: 5 * s, KubeNote: &history.KubeNote{Namespace: "shop", Kind: "Pod", Name: "web-1", Reason: "Killing"}})
	b.Event(history.Event{T: 5 * s, KubeNote: &history.KubeNote{Namespace: "shop", Kind: "Pod", Name: "unknown", Reason: "Killing"}})
	b.Gap("pods", 6*s, 7*s)
	run := b.Run()
	split := parts.Of(run)
	count := make(map[string]int)
	for _, p := range split.All {
		for _, e := range split.Events(0, parts.Whole, p) {
			switch {
			case e.Pod != nil:
				count["pod "+e.Pod.UID]++
			case e.KubeNote != nil:
				count["note "+p.Name]++
			case e.Gap != nil:
				count["gap"]++
			}
		}
	}
	want := map[string]int{"pod shop-web-1": 1, "pod shop-db-1": 1, "pod shop-mail-1": 1, "pod test-web-1": 1, "pod shop-job-1": 1, "note shop/web": 2, "gap": len(split.All)}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEventsBeginWithTheState: a part that is cut has, at each moment from then on, the state that the whole record has.
func TestEventsBeginWithTheState(t *testing.T) {
	run := ht.Healthy().Run()
	split := parts.Of(run)
	for _, from := range []history.Offset{0, 3 * s, ht.EvictedAt, ht.ReplacedAt + 1, ht.DrainedAt - s} {
		cut := history.Run{Events: split.Events(from, ht.DrainedAt, split.All...)}
		if !slices.IsSortedFunc(cut.Events, func(a, b history.Event) int { return int(a.T - b.T) }) {
			t.Errorf("from %s: not in order", from)
		}
		for at := from; at < ht.DrainedAt; at += 500 * time.Millisecond {
			was, is := run.StateAt(at), cut.StateAt(at)
			for uid, p := range was.Pods {
				got := is.Pods[uid]
				p.Change, got.Change = "", ""
				if diff := cmp.Diff(p, got); diff != "" {
					t.Errorf("from %s, at %s: %s (-whole +cut):\n%s", from, at, uid, diff)
				}
			}
			if len(was.Pods) != len(is.Pods) || len(was.Nodes) != len(is.Nodes) || len(was.Slices) != len(is.Slices) || len(was.Budgets) != len(is.Budgets) || len(was.Workloads) != len(is.Workloads) {
				t.Errorf("from %s, at %s: another number of objects", from, at)
			}
		}
	}
}

// TestEventsKeepWhatIsSaidOfTheirTime: a gap, a pause or an echo that only reaches into the time is kept, and so are clocks.
func TestEventsKeepWhatIsSaidOfTheirTime(t *testing.T) {
	b := shop().Gap("pods", 10*s, 30*s).Gap("nodes", 2*s, 3*s)
	b.Event(history.Event{T: 50 * s, Noise: &history.Noise{Of: history.NoiseHarness, Since: 15 * s}})
	b.Event(history.Event{T: 3 * s, Clock: &history.Clock{Worker: "w"}})
	split := parts.Of(b.Run())
	var kept []string
	for _, e := range split.Events(12*s, 20*s, split.All...) {
		switch {
		case e.Gap != nil:
			kept = append(kept, "gap of "+e.Gap.What)
		case e.Noise != nil:
			kept = append(kept, "noise")
		case e.Clock != nil:
			kept = append(kept, "clock")
		}
	}
	if diff := cmp.Diff([]string{"clock", "gap of pods", "noise"}, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLifecycleIsKept: only the first event of a pod tells how it ends, also where that event is cut off.
func TestLifecycleIsKept(t *testing.T) {
	b := shop()
	p := pod("shop", "web-2", app("web"))
	p.Lifecycle, p.Rules = &history.Lifecycle{PreStop: 3 * s}, []byte(`{"x":1}`)
	b.Pod(3*s, p)
	p.Change, p.Lifecycle, p.Rules = history.Modified, nil, nil
	b.Pod(4*s, p)
	split := parts.Of(b.Run())
	for _, e := range split.Events(10*s, 20*s, split.All...) {
		if e.Pod != nil && e.Pod.Name == "web-2" && (e.Pod.Lifecycle == nil || string(e.Pod.Rules) != `{"x":1}`) {
			t.Errorf("%+v", e.Pod)
		}
	}
}
