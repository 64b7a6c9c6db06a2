package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

func TestFaultsBiteAreSeenAndAreUndone(t *testing.T) {
	for name, test := range map[string]struct {
		fault  Fault
		seen   string // what the witness says
		healed string
	}{
		"scale 9, 3": {
			fault:  Scale{Through: []int{9, 3}},
			seen:   "nodes=[] pods=6 3 pods exist, 3 of the newest revision, 3 available, 3 ready endpoints, 3 wanted",
			healed: "6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"rolling update": {
			fault:  Rollout{},
			seen:   "nodes=[] pods=6 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
			healed: "rolled back: 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"delete 2 pods": {
			fault:  PodDelete{Count: 2},
			seen:   "nodes=[] pods=2 2 pods no longer there, and no endpoint of the Service",
			healed: "6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"try for 20s to drain 1 worker": { // that nothing blocks
			fault:  TryDrain{For: 20 * time.Second},
			seen:   "nodes=[w3] pods=2 no pod left on w3 after 0s",
			healed: "uncordoned w3, and its taint is gone; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"roll out a bad version": {
			fault: BadRollout{Args: badArgs},
			seen:  "nodes=[] pods=0 2 pods of the bad version, 2 have run, 0 ready; 6 of the old, 6 ready; by the deployment 2 updated, 6 available",
			healed: "until then, 2 pods of the bad version, 2 have run, 0 ready; 6 of the old, 6 ready; by the deployment 2 updated, 6 available; " +
				"rolled back: 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"autoscale at 60 % of processor time, up to 10 replicas": {
			fault: Autoscale{CPU: 60, Max: 10},
			seen: "nodes=[] pods=0 the autoscaler saw 100 % of the requested processor time used, and asked for 10 replicas; " +
				"10 pods exist, 10 of the newest revision, 10 available, 10 ready endpoints, 10 wanted",
			healed: "the autoscaler saw 60 % of the requested processor time used, and asked for 6 replicas; " +
				"6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"resize all pods to 20m of processor time": {
			fault:  Resize{CPU: "20m"},
			seen:   "nodes=[] pods=6 the kubelets gave 20m to 6 pods; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
			healed: "the kubelets gave 5m to 6 pods; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"autoscale vertically, in place": {
			fault: AutoscaleVertically{},
			seen:  "nodes=[] pods=6 the kubelets gave 25m to 6 pods; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
			healed: "the vertical autoscaler is gone; the kubelets gave 5m to 6 pods; " +
				"6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"kill one worker": {
			fault:  NodeKill{},
			seen:   "nodes=[w2] pods=2 the engine says w2 has exited, and its kubelet port is silent",
			healed: "w2 is Ready and reaches a Service; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"kill worker 3": {
			fault:  NodeKill{Worker: 3},
			seen:   "nodes=[w3] pods=2 the engine says w3 has exited, and its kubelet port is silent",
			healed: "w3 is Ready and reaches a Service; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"fill worker 2": {
			fault:  FillNode{Worker: 2},
			seen:   "nodes=[w2] pods=0 the filler runs on w2: 0 of cpu are left, and a replica asks for 5m",
			healed: "the filler of w2 is gone; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"memory pressure on worker 2": {
			fault: NodePressure{Worker: 2},
			seen: "nodes=[w2] pods=2 the API server shows MemoryPressure=true of w2, its taint: true; " +
				"2 of 2 pods evicted by the kubelet, 0 endpoints left of them",
			healed: "w2 is Ready, without memory pressure and without its taint; 6 pods exist, 6 of the newest revision, 6 available, " +
				"6 ready endpoints, 6 wanted",
		},
		"outage of one zone": {
			fault:  ZoneOutage{},
			seen:   "nodes=[w2] pods=2 the engine says w2 has exited, and its kubelet port is silent",
			healed: "w2 is Ready and reaches a Service; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
	} {
		t.Run(name, inBubble(func(t *testing.T) { // a witness says how long it took
			w := newWorld(6, "w1", "w2", "w3")
			heal, err := inject(t.Context(), test.fault, w.target())
			if err != nil {
				t.Fatal(err)
			}
			if len(w.seen) != 1 || w.seen[0] != test.seen {
				t.Errorf("seen\n got %q\nwant %q", w.seen, test.seen)
			}
			for range 2 { // the second call must do nothing
				if err := heal(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.healed) != 1 || w.healed[0] != test.healed {
				t.Errorf("healed\n got %q\nwant %q", w.healed, test.healed)
			}
			if got := len(w.podNames()); got != 6 {
				t.Errorf("%d pods after the undo, want 6", got)
			}
		}))
	}
}

// inBubble runs a test in time of its own, in which nothing takes any.
func inBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func TestEvictReportsWhatTheBudgetRefused(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	w.evictable = 1
	if _, err := inject(t.Context(), Evict{}, w.target()); err != nil {
		t.Fatal(err)
	}
	want := "nodes=[] pods=1 5 refused, 1 gone; 6 pods exist"
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
		t.Errorf("seen %q, want %q...", w.seen, want)
	}
}

func TestDrainEmptiesItsNodesAndUncordonsThem(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	heal, err := inject(t.Context(), Drain{Nodes: 2}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	const want = "nodes=[w2 w1] pods=4 no pod left on w2, w1; 6 pods exist, 6 of the newest revision"
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
		t.Errorf("seen\n got %q\nwant %q...", w.seen, want)
	}
	if got := w.cordoned(); !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("cordoned %v, want w1 and w2", got)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.cordoned(); got != nil {
		t.Errorf("cordoned after the undo: %v", got)
	}
}

func TestVictimsAreRepeatable(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3", "w4")
	first, pods, err := w.target().victims(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := w.target().victims(t.Context(), 2)
	if !slices.Equal(node.Names(first), node.Names(again)) {
		t.Errorf("victims %v, then %v with the same seed", node.Names(first), node.Names(again))
	}
	if len(pods) == 0 {
		t.Error("no pods on the victims")
	}
	if _, _, err := w.target().victims(t.Context(), 5); err == nil {
		t.Error("five victims of four workers: want an error")
	}
}

func TestFaultsOfAMissingWorkloadNameIt(t *testing.T) {
	w := newWorld(6, "w1")
	target := w.target()
	target.Workload = "frontend"
	for _, f := range []Fault{Scale{Through: []int{1}}, Rollout{}, PodDelete{Count: 1}, Drain{}, Evict{}, NodeKill{}, ZoneOutage{}, FillNode{}, NodePressure{},
		TryDrain{For: time.Second}, BadRollout{Args: badArgs}, TryRollout{}, Unbalance{}} {
		_, err := inject(t.Context(), f, target)
		if err == nil || !strings.Contains(err.Error(), "ns/frontend") || !apierrors.IsNotFound(errors.Unwrap(err)) {
			t.Errorf("%s: %v, want a NotFound that names ns/frontend", f, err)
		}
	}
}

func TestStrings(t *testing.T) {
	for want, f := range map[string]Fault{
		"scale to 9, 3": Scale{Through: []int{9, 3}}, "rolling update": Rollout{}, "drain 1 worker": Drain{},
		"drain 2 workers": Drain{Nodes: 2}, "kill one worker": NodeKill{}, "kill worker 2": NodeKill{Worker: 2},
		"outage of one zone": ZoneOutage{}, "fill one worker": FillNode{}, "fill worker 2": FillNode{Worker: 2},
		"memory pressure on one worker": NodePressure{}, "soft memory pressure on worker 2": NodePressure{Worker: 2, Soft: true},
		"try a rolling update for 20s": TryRollout{For: 20 * time.Second},
		"delete 1 pod":                 PodDelete{Count: 1}, "ask to evict every pod": Evict{},
		"try for 15s to drain 1 worker":                              TryDrain{For: 15 * time.Second},
		"try for 15s to drain the worker of a pod that is not ready": TryDrain{For: 15 * time.Second, Unready: true},
		"roll out a bad version, --broken=hang":                      BadRollout{Args: badArgs},
		"roll out the image " + NoSuchImage:                          BadRollout{Image: NoSuchImage},
		"change ConfigMap backend":                                   live, "change Secret backend": secret,
		"drain a zone and open it again": Unbalance{},
	} {
		if f.String() != want {
			t.Errorf("got %q, want %q", f, want)
		}
	}
}
