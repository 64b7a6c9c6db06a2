package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/holdfast-ha/holdfast/clusters"
)

// trap is a fault in a world of its own, and what others may do to it there.
type trap struct {
	fault Fault
	// build makes the world; nil: six pods on three workers.
	build func(t *testing.T) (*world, Target)
	// undo is somebody else's, while the fault is in force. Each is found out by the same witness.
	undo map[string]func(t *testing.T, w *world, target Target)
	// momentary says why nobody can undo it: what it did was over as soon as it was seen.
	momentary string
}

// traps has every fault.
func traps() []trap {
	return []trap{
		{fault: Scale{Through: []int{9}}, undo: undoing("scaled back", func(t *testing.T, w *world, target Target) {
			must(t, second(target.scale(t.Context(), 6)))
		})},
		{fault: Scale{Through: []int{9, 3}}, undo: undoing("scaled back", func(t *testing.T, w *world, target Target) {
			must(t, second(target.scale(t.Context(), 6)))
		})},
		{fault: Scale{Through: []int{9, 6}}, undo: undoing("scaled once more", func(t *testing.T, w *world, target Target) {
			must(t, second(target.scale(t.Context(), 7)))
		})},
		{fault: Rollout{}, undo: undoing("rolled back", func(t *testing.T, w *world, target Target) {
			must(t, target.annotate(t.Context(), nil))
		})},
		{fault: TryRollout{For: time.Second}, undo: undoing("rolled back", func(t *testing.T, w *world, target Target) {
			must(t, target.annotate(t.Context(), nil))
		})},
		{fault: BadRollout{Args: badArgs}, undo: map[string]func(*testing.T, *world, Target){
			"rolled back": func(t *testing.T, w *world, target Target) {
				must(t, target.command(t.Context(), corev1.Container{Name: "server", Args: goodArgs}))
			},
			"its pods are gone": func(_ *testing.T, w *world, _ Target) {
				w.scaleTo(0, w.badNames, nil)
			},
		}},
		{fault: PodDelete{Count: 2}, momentary: "a pod that is gone stays gone: what comes has another UID"},
		{fault: Evict{}, momentary: "a pod that is gone stays gone: what comes has another UID"},
		{fault: Unbalance{}, momentary: "its nodes are open again when it was seen, and where pods come back to is what scenarios ask"},
		{fault: Drain{Nodes: 2}, undo: undoing("one is uncordoned", uncordon)},
		{fault: TryDrain{For: 20 * time.Second}, undo: undoing("uncordoned", uncordon)},
		{fault: TryDrain{For: 20 * time.Second}, build: guarded, undo: undoing("uncordoned while a budget blocks it", uncordon)},
		{fault: NodeKill{}, undo: undoing("started", start)},
		{fault: ZoneOutage{}, build: twoInAZone(false), undo: undoing("one of its machines is started", start)},
		{fault: NodePause{}, undo: undoing("thawed", thaw)},
		{fault: NodeStop{}, undo: undoing("started", start)},
		{fault: Partition{Worker: 2}, undo: map[string]func(*testing.T, *world, Target){
			"its timer ran out": func(t *testing.T, w *world, _ Target) { must(t, w.nodes[1].(*machine).undone(partitionUndo)) },
			"it died":           func(t *testing.T, w *world, _ Target) { must(t, w.nodes[1].Kill(t.Context())) },
		}},
		{fault: Partition{Zone: true}, build: twoInAZone(true), undo: undoing("one of its machines is back", func(t *testing.T, w *world, _ Target) {
			must(t, w.nodes[1].(*machine).undone(partitionUndo))
		})},
		{fault: PacketLoss{Percent: 10, Worker: 2}, undo: undoing("its timer ran out", func(t *testing.T, w *world, _ Target) {
			must(t, w.nodes[1].(*machine).undone("packet-loss"))
		})},
		{fault: Latency{Delay: 100 * time.Millisecond, Worker: 2}, undo: undoing("its timer ran out", func(t *testing.T, w *world, _ Target) {
			must(t, w.nodes[1].(*machine).undone("latency"))
		})},
		{fault: NodePressure{Worker: 2, Disk: true}, build: withControlPlane, undo: undoing("the kubelet is calm", func(_ *testing.T, w *world, _ Target) { w.squeeze("w2", false) })},
		{fault: ControlPlaneKill{}, build: threePlanes, undo: undoing("started", start)},
		{fault: EtcdLeaderKill{}, build: threePlanes, momentary: "the kubelet starts the member again, and the lead stays where it went"},
		{fault: FillNode{Worker: 2}, undo: map[string]func(*testing.T, *world, Target){
			"the filler is deleted": func(t *testing.T, w *world, _ Target) {
				must(t, w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", fillerName))
			},
			"the filler is going": func(_ *testing.T, w *world, _ Target) { w.send(fillerName) },
			"the filler has ended": func(t *testing.T, w *world, _ Target) {
				w.edit(t, fillerName, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
			},
		}},
		{fault: NodePressure{Worker: 2}, undo: undoing("the kubelet is calm", func(_ *testing.T, w *world, _ Target) { w.squeeze("w2", false) })},
		{fault: Autoscale{CPU: 60, Max: 10}, undo: map[string]func(*testing.T, *world, Target){
			"the autoscaler is removed": func(t *testing.T, _ *world, target Target) {
				must(t, target.Client.AutoscalingV2().HorizontalPodAutoscalers("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
			},
			"scaled back": func(t *testing.T, _ *world, target Target) { must(t, second(target.scale(t.Context(), 6))) },
		}},
		{fault: Resize{CPU: "20m"}, undo: map[string]func(*testing.T, *world, Target){
			"one is resized back": func(t *testing.T, w *world, _ Target) { must(t, w.give(w.podNames()[3], cpu("5m"))) },
			"all are replaced":    func(t *testing.T, w *world, _ Target) { w.act(w.podNames()) },
		}},
		{fault: AutoscaleVertically{}, undo: map[string]func(*testing.T, *world, Target){
			"the autoscaler is removed": func(t *testing.T, _ *world, target Target) {
				must(t, target.Dynamic.Resource(verticalAutoscalers).Namespace("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
			},
			"one is resized back": func(t *testing.T, w *world, _ Target) { must(t, w.give(w.podNames()[3], cpu("5m"))) },
		}},
		{fault: UpgradeControlPlane{To: newVersion}, build: climbing, undo: undoing("the API server is the old one again", func(_ *testing.T, _ *world, target Target) {
			target.Cluster.(*ladder).serves(oldVersion)
		})},
		{fault: UpgradeWorkers{To: newVersion}, build: climbing, undo: undoing("a kubelet is the old one again", func(t *testing.T, _ *world, target Target) {
			target.Cluster.(*ladder).says(t, "w2", oldVersion)
		})},
		{fault: ComponentKill{Component: Kubelet}, momentary: "systemd starts it again at once"},
		{fault: ComponentAway{Component: Kubelet, For: time.Second}, undo: undoing("started", func(_ *testing.T, w *world, _ Target) {
			w.components.away = nil
		})},
		{fault: ComponentAway{Component: Scheduler, For: time.Second}, build: withControlPlane, undo: undoing("its manifest is back",
			func(_ *testing.T, w *world, _ Target) { w.components.away = nil })},
		{fault: Enforce{}, undo: undoing("the policy is removed", func(_ *testing.T, w *world, _ Target) {
			clear(w.policies)
			w.notice()
		})},
		{fault: Mend{}, build: func(t *testing.T) (*world, Target) {
			w, target, _ := unbudgeted(t)
			return w, target
		}, undo: undoing("the budget is removed", func(t *testing.T, _ *world, target Target) {
			must(t, target.Client.PolicyV1().PodDisruptionBudgets("ns").Delete(t.Context(), "backend", metav1.DeleteOptions{}))
		})},
	}
}

func undoing(what string, undo func(*testing.T, *world, Target)) map[string]func(*testing.T, *world, Target) {
	return map[string]func(*testing.T, *world, Target){what: undo}
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

// thaw lets a machine go on that is frozen.
func thaw(t *testing.T, w *world, _ Target) {
	i := slices.IndexFunc(w.nodes, func(n clusters.Node) bool { return n.(*machine).is() == clusters.Paused })
	must(t, w.nodes[i].Resume(t.Context()))
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

func (r trap) world(t *testing.T) (*world, Target) {
	if r.build != nil {
		return r.build(t)
	}
	w := newWorld(6, "w1", "w2", "w3")
	return w, w.target()
}

// faultsInTheSource are the exported types of this package with a method Inject.
func faultsInTheSource(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		must(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Plan" {
				continue
			}
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok && of.IsExported() {
				found = append(found, of.Name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestEveryFaultHasATrap: a new fault without a row here, and one that nobody could undo without a reason, fail.
func TestEveryFaultHasATrap(t *testing.T) {
	trapped := map[string]bool{}
	for _, r := range traps() {
		trapped[reflect.TypeOf(r.fault).Name()] = true
		if (len(r.undo) == 0) == (r.momentary == "") {
			t.Errorf("%s: %d undos of others, and %q: want either", r.fault, len(r.undo), r.momentary)
		}
	}
	found := faultsInTheSource(t)
	if len(found) == 0 {
		t.Fatal("no fault in the source")
	}
	for _, name := range found {
		if !trapped[name] {
			t.Errorf("fault %s: has no row in traps", name)
		}
	}
}

// TestAnInjectorThatDoesNothingIsAnError: whatever is asked of the API server or of the engine is granted, and nothing
// happens. Nobody may then say that it was seen.
func TestAnInjectorThatDoesNothingIsAnError(t *testing.T) {
	for _, r := range traps() {
		t.Run(r.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, target := r.world(t)
				w.deaf = true
				if client, ok := target.Dynamic.(*dynamicfake.FakeDynamicClient); ok {
					swallow(client)
				}
				for _, n := range w.nodes {
					n.(*machine).immortal = true
				}
				heal, err := inject(t.Context(), r.fault, target)
				if err == nil || len(w.seen) != 0 || w.lasting != nil || heal == nil {
					t.Errorf("Inject: %v, seen %q: want an error and nothing seen", err, w.seen)
				}
			})
		})
	}
}

// TestAWitnessSeesThatAFaultLasts, and that somebody else has undone it.
func TestAWitnessSeesThatAFaultLasts(t *testing.T) {
	for _, r := range traps() {
		undos := r.undo
		if r.momentary != "" {
			undos = map[string]func(*testing.T, *world, Target){"nobody can": nil}
		}
		for name, undo := range undos {
			t.Run(r.fault.String()+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, target := r.world(t)
					if _, err := inject(t.Context(), r.fault, target); err != nil {
						t.Fatal(err)
					}
					if (w.lasting == nil) != (r.momentary != "") {
						t.Fatalf("somebody is there to be asked: %t; momentary: %q", w.lasting != nil, r.momentary)
					}
					if undo == nil {
						return
					}
					if holds, saw, err := w.lasting(t.Context()); !holds || saw == "" || err != nil {
						t.Errorf("in force, it says %t, %q, %v", holds, saw, err)
					}
					undo(t, w, target)
					if holds, saw, err := w.lasting(t.Context()); holds || saw == "" || err != nil {
						t.Errorf("undone, it says %t, %q, %v", holds, saw, err)
					}
				})
			})
		}
	}
}

// TestAWitnessThatCannotLookSaysNothing: an API server that is away, or an engine, has not undone a fault.
func TestAWitnessThatCannotLookSaysNothing(t *testing.T) {
	for _, r := range traps() {
		if r.momentary != "" {
			continue
		}
		t.Run(r.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, target := r.world(t)
				if _, err := inject(t.Context(), r.fault, target); err != nil {
					t.Fatal(err)
				}
				w.fail("*", "*", 1, 1<<30)
				for _, n := range w.nodes {
					n.(*machine).err = errAway
				}
				if holds, _, err := w.lasting(t.Context()); holds || err == nil {
					t.Errorf("it says %t, %v", holds, err)
				}
			})
		})
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
