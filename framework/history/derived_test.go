package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

const (
	s       = time.Second
	forever = 1000 * time.Hour
)

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPhases(t *testing.T) {
	run := historytest.New().
		Phase(history.Provision, 0).Phase(history.Deploy, 4*s).Phase(history.Steady, 10*s).
		Trouble(7*s, "in between").Trouble(12*s, "the end").
		Run()
	same(t, []history.PhaseSpan{
		{Name: history.Provision, From: 0, To: 4 * s},
		{Name: history.Deploy, From: 4 * s, To: 10 * s},
		{Name: history.Steady, From: 10 * s, To: 12 * s},
	}, run.Phases())
	same(t, []history.PhaseSpan(nil), historytest.New().Trouble(s, "x").Run().Phases())
}

func TestWindow(t *testing.T) {
	run := historytest.Healthy().Run()
	from, to, ok := run.Window(history.Disturbed)
	if from != 15*s || to != 35*s || !ok {
		t.Errorf("disturbed from %v to %v, %v", from, to, ok)
	}
	if _, _, ok := historytest.New().Phase(history.Steady, 0).Run().Window(history.Disturbed); ok {
		t.Error("a phase that never was has a window")
	}
}

func TestStateAt(t *testing.T) {
	run := historytest.Healthy().Run()
	workload := historytest.BackendWorkload(0, 0)
	ready := func(at history.Offset) (names []string) {
		for _, p := range run.StateAt(at).ReadyPods(workload.Pods()) {
			names = append(names, p.Name)
		}
		return names
	}
	before := []string{"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6"}
	same(t, []string(nil), ready(s))
	same(t, before, ready(historytest.EvictedAt-1))
	same(t, before[1:], ready(historytest.EvictedAt))
	same(t, append(before[1:], "backend-7"), ready(historytest.ReplacedAt))

	at := run.StateAt(historytest.EvictedAt)
	if n := len(at.PodsOf(history.Selected(historytest.Namespace, nil))); n != 7 || len(at.PodsOf(history.Selected("other", nil))) != 0 {
		t.Errorf("%d pods, want those that start and those that stop too", n)
	}
	key := history.Key{Namespace: historytest.Namespace, Name: historytest.Deployment}
	if !at.Nodes["w1"].Unschedulable || at.Budgets[key].DisruptionsAllowed != 0 || at.Workloads[key].Ready != 5 ||
		len(at.Nodes) != 7 || len(at.Slices) != 1 || at.At != historytest.EvictedAt {
		t.Errorf("state: %+v", at)
	}
	if n := len(run.StateAt(historytest.GoneAt).Pods); n != 6 {
		t.Errorf("%d pods once the victim is gone", n)
	}
}

func TestSelects(t *testing.T) {
	labels := map[string]string{"app": "a", "empty": ""}
	tests := []struct {
		selector map[string]string
		want     bool
	}{
		{nil, true},
		{map[string]string{"app": "a"}, true},
		{map[string]string{"app": "b"}, false},
		{map[string]string{"app": "a", "tier": "x"}, false},
		{map[string]string{"empty": ""}, true},
		{map[string]string{"missing": ""}, false},
	}
	for _, test := range tests {
		if got := history.Selects(test.selector, labels); got != test.want {
			t.Errorf("%v selects %v: %v", test.selector, labels, got)
		}
	}
}

// TestRulesAreToldOnce: a pod keeps its rules across later events without rules, and does not inherit those of another pod
// with the same name.
func TestRulesAreToldOnce(t *testing.T) {
	tell := func(b *historytest.Builder, at history.Offset, uid string, change history.Change, rules string) {
		p := history.Pod{Change: change, Name: "p", UID: uid}
		if rules != "" {
			p.Rules = []byte(rules)
		}
		b.Pod(at, p)
	}
	b := historytest.New()
	tell(b, 1*s, "u1", history.Added, `{"nodeSelector":{"a":"1"}}`)
	tell(b, 2*s, "u1", history.Modified, "")
	tell(b, 3*s, "u1", history.Listed, `{}`) // the rules at that time
	tell(b, 4*s, "u2", history.Modified, "")
	tell(b, 5*s, "u1", history.Deleted, "")
	tell(b, 6*s, "u1", history.Modified, "")
	run := b.Run()
	for at, want := range map[history.Offset]string{1 * s: `{"nodeSelector":{"a":"1"}}`, 2 * s: `{"nodeSelector":{"a":"1"}}`, 3 * s: `{}`, 6 * s: ""} {
		if got := string(run.StateAt(at).Pods["u1"].Rules); got != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
	if got := run.StateAt(4 * s).Pods["u2"].Rules; got != nil {
		t.Errorf("u2 has %s", got)
	}
	for _, e := range run.Events { // the recorded events are not modified
		if e.T == 2*s && e.Pod != nil && e.Pod.Rules != nil {
			t.Errorf("the event at 2s has got %s", e.Pod.Rules)
		}
	}
}

// A lane's own Service is the one that its URL names, unless the lane passes a front, whose Services are named there.
func TestServicesOfLanes(t *testing.T) {
	run := historytest.New().Header(func(h *history.Header) {
		h.Plan = &history.Plan{Lanes: []history.LanePlan{
			{Lane: "fresh@web", Target: "http://web/"}, {Lane: "fresh@cart", Target: "https://cart.shop.svc:8443/health"}, {Lane: "tcp@db", Target: "tcp://db:5432"},
			{Lane: "fresh@edge", Target: "http://shop.example.com/", Front: &history.Front{Name: "Ingress shop"}},
			{Lane: "fresh@host", Target: "http://web.example.com/"}, {Lane: "fresh@address", Target: "http://10.0.0.1/"}, {Lane: "reused"}, {Lane: "broken", Target: "http://%zz/"},
		}}
	}).Slice(s, history.Slice{Name: "a", Service: "web"}).Slice(s, history.Slice{Name: "b", Service: "cart"}).Slice(s, history.Slice{Name: "c", Service: "db"}).Run()
	same(t, map[history.Lane]string{"fresh@web": "web", "fresh@cart": "cart", "tcp@db": "db"}, run.Services())
	same(t, map[history.Lane]string{}, historytest.New().Header(func(h *history.Header) { h.Plan = nil }).Run().Services())
}
