package fault

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// changes are what something other than the runner may do to a fault that is in force, beyond reverting all of it. The fault's witness
// must find each of them.
func changes() []change {
	return []change{
		{Scale{Through: []int{9, 6}}, nil, "scaled once more", func(t *testing.T, w *world, target Target) {
			must(t, second(target.scale(t.Context(), 7)))
		}},
		{BadRollout{Args: badArgs}, nil, "its pods are gone", func(_ *testing.T, w *world, _ Target) { w.scaleTo(0, w.badNames, nil) }},
		{live, nil, "the key is taken out", func(t *testing.T, _ *world, target Target) { must(t, live.set(t.Context(), target, false)) }},
		{live, nil, "a kubelet takes it back", func(_ *testing.T, w *world, _ Target) { w.late = "3"; time.Sleep(configLook) }},
		{secret, nil, "the key is taken out", func(t *testing.T, _ *world, target Target) { must(t, secret.set(t.Context(), target, false)) }},
		{Drain{Nodes: 2}, nil, "one node is uncordoned", uncordon},
		{TryDrain{For: 20 * time.Second}, guarded, "uncordoned while a budget blocks it", uncordon},
		{ZoneOutage{}, twoInAZone(false), "one of its machines is started", start},
		{Partition{Worker: 2}, nil, "it died", func(t *testing.T, w *world, _ Target) { must(t, w.nodes[1].Kill(t.Context())) }},
		{Partition{Zone: true}, twoInAZone(true), "one of its machines is back", func(t *testing.T, w *world, _ Target) {
			must(t, w.nodes[1].(*machine).undone(partitionUndo))
		}},
		{FillNode{Worker: 2}, nil, "the filler is going", func(_ *testing.T, w *world, _ Target) { w.send(fillerName) }},
		{FillNode{Worker: 2}, nil, "the filler has ended", func(t *testing.T, w *world, _ Target) {
			w.edit(t, fillerName, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		}},
		{Autoscale{CPU: 60, Max: 10}, nil, "the autoscaler is removed", func(t *testing.T, _ *world, target Target) {
			must(t, target.Client.AutoscalingV2().HorizontalPodAutoscalers("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
		}},
		{Autoscale{CPU: 60, Max: 10}, nil, "scaled back", func(t *testing.T, _ *world, target Target) {
			must(t, second(target.scale(t.Context(), 6)))
		}},
		{Resize{CPU: "20m"}, nil, "one pod is resized back", func(t *testing.T, w *world, _ Target) { must(t, w.give(w.podNames()[3], cpu("5m"))) }},
		{Resize{CPU: "20m"}, nil, "all pods are replaced", func(t *testing.T, w *world, _ Target) { w.act(w.podNames()) }},
		{AutoscaleVertically{}, nil, "the autoscaler is removed", func(t *testing.T, _ *world, target Target) {
			must(t, target.Dynamic.Resource(verticalAutoscalers).Namespace("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
		}},
		{AutoscaleVertically{}, nil, "one pod is resized back", func(t *testing.T, w *world, _ Target) { must(t, w.give(w.podNames()[3], cpu("5m"))) }},
		{UpgradeControlPlane{To: newVersion}, nil, "the API server is the old one again", func(_ *testing.T, _ *world, target Target) {
			target.Cluster.(*ladder).serves(oldVersion)
		}},
		{UpgradeWorkers{To: newVersion}, nil, "a kubelet is the old one again", func(t *testing.T, _ *world, target Target) {
			target.Cluster.(*ladder).says(t, "w2", oldVersion)
		}},
	}
}

// change is done to a fault in a world; build nil: the world that the fault needs.
type change struct {
	fault Fault
	build func(t *testing.T) (*world, Target)
	what  string
	do    func(t *testing.T, w *world, target Target)
}

// worldFor makes a world that has what a fault needs: mostly six pods on three workers.
func worldFor(t *testing.T, f Fault) (*world, Target) {
	switch f := f.(type) {
	case ControlPlaneKill, EtcdLeaderKill:
		return threePlanes(t)
	case UpgradeControlPlane, UpgradeWorkers:
		return climbing(t)
	case ComponentAway:
		if f.Component == Scheduler {
			return withControlPlane(t)
		}
	case NodePressure:
		if f.Disk { // which asks the API server's proxy
			return withControlPlane(t)
		}
	}
	w := newWorld(6, "w1", "w2", "w3")
	if c, is := f.(ConfigChange); is {
		w.have(c.Config.Kind)
	}
	return w, w.target()
}

// uncordon opens one of the nodes that are closed.
func uncordon(t *testing.T, w *world, target Target) {
	must(t, target.cordon(t.Context(), w.cordoned()[0], false))
}

// start revives one of the machines that are dead.
func start(t *testing.T, w *world, _ Target) {
	i := slices.IndexFunc(w.nodes, func(n clusters.Node) bool { return n.(*machine).state == clusters.Exited })
	must(t, w.nodes[i].Start(t.Context()))
}

// guarded is a world in which a budget grants no eviction.
func guarded(t *testing.T) (*world, Target) {
	w := newWorld(6, "w1", "w2", "w3")
	w.evictable = 0
	must(t, w.client.Tracker().Add(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: w.deployment().Spec.Selector},
	}))
	return w, w.target()
}

// climbing is a cluster that can be upgraded, and whose control plane was.
func climbing(t *testing.T) (*world, Target) {
	l, target := onLadder(t)
	l.serves(newVersion)
	return l.w, target
}

// twoInAZone is a world of one zone, and maybe of another one.
func twoInAZone(more bool) func(*testing.T) (*world, Target) {
	names := []string{"wax", "way"}
	if more {
		names = append(names, "wb")
	}
	return func(*testing.T) (*world, Target) {
		w := newWorld(6, names...)
		if more {
			w.nodes[2].(*machine).role = clusters.LoadNode
		}
		return w, w.target()
	}
}

// edit changes a pod behind everybody's back.
func (w *world) edit(t *testing.T, name string, change func(*corev1.Pod)) {
	t.Helper()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := w.client.Tracker().Get(pods, "ns", name)
	must(t, err)
	p := o.(*corev1.Pod).DeepCopy()
	change(p)
	must(t, w.client.Tracker().Update(pods, p, "ns"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAFaultThatDoesNothingIsAnError: the API server and the engine grant whatever they are asked for, and nothing happens. The fault
// must not have been seen.
func TestAFaultThatDoesNothingIsAnError(t *testing.T) {
	for _, f := range Examples() {
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w, target := worldFor(t, f)
			w.deaf = true
			for _, n := range w.nodes {
				n.(*machine).immortal = true
			}
			if _, err := inject(t.Context(), f, target); err == nil || len(w.seen) != 0 || w.lasting != nil {
				t.Errorf("got %v, seen %q: want an error and nothing seen", err, w.seen)
			}
		}))
	}
}

// TestAWitnessSeesTheEndOfAFault: a fault that was seen is in force, until something other than the runner reverts it. A fault of which
// no witness can say whether it is in force names the reason.
func TestAWitnessSeesTheEndOfAFault(t *testing.T) {
	for _, f := range Examples() {
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w, target := worldFor(t, f)
			in, err := Plan(t.Context(), f, target)
			must(t, err)
			must(t, in.Apply(t.Context(), w.observe))
			if in.Askable() != (in.Momentary() == "") {
				t.Fatalf("a witness can be asked: %t, and it cannot because %q", in.Askable(), in.Momentary())
			}
			if !in.Askable() {
				return
			}
			asked(t, in, true)
			e := in.disruption.(*Effect)
			if e.Stays {
				return // see changes
			}
			must(t, e.Undo(t.Context())) // behind the runner's back
			asked(t, in, false)
		}))
	}
}

// TestAWitnessSeesChanges that something other than the runner makes.
func TestAWitnessSeesChanges(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.fault.String()+"/"+c.what, inBubble(func(t *testing.T) {
			build := c.build
			if build == nil {
				build = func(t *testing.T) (*world, Target) { return worldFor(t, c.fault) }
			}
			w, target := build(t)
			in, err := Plan(t.Context(), c.fault, target)
			must(t, err)
			must(t, in.Apply(t.Context(), w.observe))
			asked(t, in, true)
			c.do(t, w, target)
			asked(t, in, false)
		}))
	}
}

// asked asks the witness of a fault.
func asked(t *testing.T, in *Injection, want bool) {
	t.Helper()
	if active, saw, err := in.Active(t.Context()); active != want || saw == "" || err != nil {
		t.Errorf("active: %t, %q, %v; want %t", active, saw, err, want)
	}
}

// TestAWitnessThatCannotLookSaysNothing: an API server or an engine that does not answer has not reverted a fault.
func TestAWitnessThatCannotLookSaysNothing(t *testing.T) {
	for _, f := range Examples() {
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w, target := worldFor(t, f)
			must(t, second(inject(t.Context(), f, target)))
			if w.lasting == nil {
				return
			}
			w.fail("*", "*", 1, 1<<30)
			for _, n := range w.nodes {
				n.(*machine).err = errAway
			}
			if holds, _, err := w.lasting(t.Context()); holds || err == nil {
				t.Errorf("it says %t, %v", holds, err)
			}
		}))
	}
}

// TestWhatIsSoAlreadyIsAnError: what a witness would see without us proves nothing.
func TestWhatIsSoAlreadyIsAnError(t *testing.T) {
	twice := func(f Fault) func(*testing.T, *world, Target) {
		return func(t *testing.T, _ *world, target Target) { must(t, second(inject(t.Context(), f, target))) }
	}
	sendAll := func(_ *testing.T, w *world, _ Target) {
		for _, name := range w.podNames() {
			w.send(name)
		}
	}
	for _, s := range []struct {
		fault  Fault
		before func(*testing.T, *world, Target)
		want   string
	}{
		{Scale{Through: []int{9}}, twice(Scale{Through: []int{9}}), "scale backend to 9: it has that many"},
		{PodDelete{Count: 1}, sendAll, "delete 1 pods of backend: it has only 0"},
		{Evict{}, sendAll, "evict pods of backend: it has none"},
		{Drain{Nodes: 3}, func(t *testing.T, _ *world, target Target) { must(t, target.cordon(t.Context(), "w1", true)) },
			"cordon w1: node is already cordoned, and not by holdfast"},
		{NodeKill{Worker: 2}, twice(NodeKill{Worker: 2}), "kill w2: node is dead already: state exited, kubelet port silent: true"},
		{NodePause{Worker: 2}, twice(NodePause{Worker: 2}), "freeze w2: node is frozen already: state paused, kubelet port silent: true"},
		{NodeStop{Worker: 2}, twice(NodeKill{Worker: 2}), "stop w2: node is off already: state exited, kubelet port silent: true"},
		{Partition{Worker: 2}, twice(Partition{Worker: 2}), "partition of worker 2: the probes do not all pass before anything was done: " +
			"probes of w2 from w1: unanswered; the other way: unanswered; on the spot: answered"},
		{NodePressure{Worker: 2, Disk: true}, func(t *testing.T, w *world, _ Target) {
			w.addControlPlane()
			must(t, second(inject(t.Context(), NodePressure{Worker: 2, Disk: true}, w.target())))
			w.edit(t, w.podNames()[0], func(p *corev1.Pod) { p.Spec.NodeName = "w2" })
		}, "disk pressure on worker 2: w2 is under pressure already: DiskPressure=true, its taint: true"},
		{FillNode{Worker: 2}, twice(FillNode{Worker: 2}), "fill w2: node is full already, 0 of cpu are left"},
		{ComponentAway{Component: Kubelet}, func(_ *testing.T, w *world, _ Target) { w.components.away = []string{"kubelet"} },
			"kubelet away for 0s: it does not run"},
		{ComponentKill{Component: Scheduler}, func(*testing.T, *world, Target) {}, "kill kube-scheduler: find the control plane of fleet: it has none"},
		{ComponentKill{Component: "kube-router"}, func(*testing.T, *world, Target) {},
			`kill kube-router: component "kube-router": want one of ["containerd" "coredns" "etcd" "kube-apiserver" "kube-controller-manager" "kube-proxy" "kube-scheduler" "kubelet"]`},
		{NodePressure{Worker: 2}, func(t *testing.T, w *world, _ Target) {
			w.squeeze("w2", true)
			w.edit(t, w.podNames()[0], func(p *corev1.Pod) { p.Spec.NodeName = "w2" })
		}, "memory pressure on worker 2: w2 is under pressure already: MemoryPressure=true, its taint: true"},
		{Autoscale{CPU: 60, Max: 20}, twice(Autoscale{CPU: 60, Max: 10}), `autoscale backend: horizontalpodautoscalers.autoscaling "backend" already exists`},
		{Resize{CPU: "20m"}, twice(Resize{CPU: "20m"}), "resize backend to 20m: pod pod-001 has 20m already"},
		{AutoscaleVertically{}, twice(AutoscaleVertically{}), "autoscale backend vertically: pod pod-001 has 25m already"},
	} {
		t.Run(s.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				target := w.target()
				s.before(t, w, target)
				w.seen = nil
				heal, err := inject(t.Context(), s.fault, target)
				if err == nil || err.Error() != s.want || len(w.seen) != 0 || heal == nil {
					t.Errorf("got %v, seen %q; want %s", err, w.seen, s.want)
				}
			})
		})
	}
}
