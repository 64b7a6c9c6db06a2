package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// again deletes a node, and registers another machine of the same name, which is cordoned.
func (w *world) again(name string) {
	w.t.Helper()
	nodes := w.admin.CoreV1().Nodes()
	if err := nodes.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if _, err := nodes.Create(w.t.Context(), n, metav1.CreateOptions{FieldManager: "kubelet"}); err != nil {
		w.t.Fatal(err)
	}
}

// Rule 15: a change is undone only where the field still holds what the run has set. What another client has changed since is left, and told.
func TestWhatOthersHaveChangedIsLeft(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	for name, test := range map[string]struct {
		change  Change
		by      func(*world)
		state   State
		why     string
		holds   func(*world) any
		holding any
	}{
		"nobody has": {Cordon("wa1"), func(*world) {}, SeenUndone, "", func(w *world) any { return w.node("wa1").Spec.Unschedulable }, false},
		"to something else": {Label("wa1", zone, "ours"), func(w *world) { w.as("kubectl-label", "node", "wa1", `{"metadata":{"labels":{"`+zone+`":"theirs"}}}`) },
			Left, `holds "theirs" now, which is neither what it was nor what this run had set: changed by kubectl-label at `,
			func(w *world) any { return w.node("wa1").Labels[zone] }, "theirs"},
		"back already": {Cordon("wa1"), func(w *world) { w.as("kubectl-uncordon", "node", "wa1", `{"spec":{"unschedulable":false}}`) },
			SeenUndone, "", func(w *world) any { return w.node("wa1").Spec.Unschedulable }, false},
		"back, and again to what the run had set": {Cordon("wa1"), func(w *world) {
			w.as("kubectl-uncordon", "node", "wa1", `{"spec":{"unschedulable":false}}`)
			w.as("kubectl-cordon", "node", "wa1", `{"spec":{"unschedulable":true}}`)
		}, Left, "holds what this run had set, but another client has set it: changed by kubectl-cordon", func(w *world) any { return w.node("wa1").Spec.Unschedulable }, true},
		"another field of the object": {Cordon("wa1"), func(w *world) { w.as("kubectl-label", "node", "wa1", `{"metadata":{"labels":{"x":"y"}}}`) },
			SeenUndone, "", func(w *world) any { return w.node("wa1").Labels["x"] }, "y"},
		"the machine is another of the same name": {Cordon("wa1"), func(w *world) { w.again("wa1") },
			Left, "was deleted and created again by another client: its UID is ", func(w *world) any { return w.node("wa1").Spec.Unschedulable }, true},
		"the object is gone": {Cordon("wa1"), func(w *world) {
			if err := w.admin.CoreV1().Nodes().Delete(w.t.Context(), "wa1", metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
		}, Left, "nodes/wa1 is gone: another client has deleted it", func(w *world) any { return w.Get("/api/v1/nodes/wa1") == nil }, true},
		"the replicas": {Scale(Workload("deployments", "shop", "web"), 5), func(w *world) { w.as("autoscaler", "deployment", "web", `{"spec":{"replicas":7}}`) },
			Left, "holds 7 now", func(w *world) any { return w.replicas() }, int32(7)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				j, err := Open(t.Context(), w.options("run-1", nil))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := j.Do(t.Context(), test.change); err != nil {
					t.Fatal(err)
				}
				test.by(w)
				if err := j.Undo(t.Context()); err != nil {
					t.Error(err)
				}
				e := j.Entries()[0]
				if e.State != test.state || test.why != "" && !strings.Contains(e.Why, test.why) {
					t.Errorf("%s: %s, want %s: %s", e.State, e.Why, test.state, test.why)
				}
				if got := test.holds(w); got != test.holding {
					t.Errorf("it holds %v, want %v", got, test.holding)
				}
				if err := j.Clear(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What does not say who has set its fields is not changed: the undo could not tell the run's value from that of another client.
func TestWhatDoesNotSayWhoHasSetItIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const nodes, workloads = "/api/v1/nodes", "/apis/apps/v1/namespaces/shop/deployments"
		n, d := w.node("wa1").DeepCopy(), w.Get(workloads+"/web").(*appsv1.Deployment).DeepCopy()
		n.ManagedFields, d.ManagedFields = nil, nil
		w.Put(nodes, n)
		w.Put(workloads, d)
		j := New(w.options("run-1", nil))
		web := Workload("deployments", "shop", "web")
		for _, c := range []Change{Cordon("wa1"), Scale(web, 5), Restart(web, time.Now())} {
			if _, err := j.Do(t.Context(), c); err == nil || !strings.Contains(err.Error(), "does not say who has set its fields") {
				t.Errorf("%s: %v", c.What, err)
			}
		}
		if w.node("wa1").Spec.Unschedulable || w.replicas() != 3 || len(j.Unfinished()) > 0 {
			t.Errorf("something was changed: %v", j.Entries())
		}
	})
}

// A field has one change at a time: of two, the undo of the newer one would leave a value of which the object does not say that this run has set it. Once it is
// undone, the field may be changed again.
func TestAFieldIsNotChangedTwice(t *testing.T) {
	web := Workload("deployments", "shop", "web")
	for name, test := range map[string]struct{ first, second, other Change }{
		"a label":                       {Label("wa1", "example.com/x", "1"), Label("wa1", "example.com/x", "2"), Label("wb1", "example.com/x", "2")},
		"replicas":                      {Scale(web, 5), Scale(web, 7), Cordon("wa1")},
		"replicas, the workload itself": {Scale(web, 5), Scale(web, 0), Restart(web, time.Now())},
		"a restart":                     {Restart(web, time.Now()), Restart(web, time.Now().Add(time.Minute)), Scale(web, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				j := New(w.options("run-1", nil))
				if _, err := j.Do(t.Context(), test.first); err != nil {
					t.Fatal(err)
				}
				if _, err := j.Do(t.Context(), test.second); err == nil || !strings.Contains(err.Error(), "already: that must be undone first") {
					t.Errorf("the second: %v", err)
				}
				if _, err := j.Do(t.Context(), test.other); err != nil {
					t.Errorf("another field: %v", err)
				}
				if err := j.Undo(t.Context()); err != nil {
					t.Error(err)
				}
				check(t, "after the undo", w.differences())
				if _, err := j.Do(t.Context(), test.second); err != nil {
					t.Errorf("after the undo of the first: %v", err)
				}
				if err := errors.Join(j.Undo(t.Context()), j.Clear(t.Context())); err != nil {
					t.Error(err)
				}
				check(t, "in the end", w.differences())
			})
		})
	}
}

// A StatefulSet is scaled, and its controller makes a claim and deletes another one: both are differences, and the one that is gone is explained by nothing.
// Claims of others that come and go meanwhile are none of the run's business.
func TestClaimsOfAStatefulSetAreComparedAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		claims, sets := w.admin.CoreV1().PersistentVolumeClaims("shop"), w.admin.AppsV1().StatefulSets("shop")
		made := func(name string) {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
			if _, err := claims.Create(t.Context(), c, metav1.CreateOptions{FieldManager: "kube-controller-manager"}); err != nil {
				t.Fatal(err)
			}
		}
		others := []string{"web-5d-x2-cache", "data-my-db-1", "cache-db-1", "data-db-1-copy", "data-db-old", "data-db-", "db-1"}
		for _, name := range append([]string{"data-db-0", "data-db-1", "log-db-1"}, others...) {
			made(name)
		}
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}, {ObjectMeta: metav1.ObjectMeta{Name: "log"}}},
		}}
		if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		j, err := Open(t.Context(), w.options("run-1", nil))
		if err == nil {
			_, err = j.Do(t.Context(), Scale(Workload("statefulsets", "shop", "db"), 1))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{"data-db-1", "log-db-1"}, others...) {
			if err := claims.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		made("data-db-2")
		made("web-5d-x3-cache")
		if err := j.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := j.Differences(t.Context())
		var said []string
		for _, d := range all {
			said = append(said, d.String())
		}
		if err != nil {
			t.Error(err)
		}
		check(t, "differences", said, "shop/persistentvolumeclaims/data-db-1: was there, and is not there: nothing says who", "shop/persistentvolumeclaims/data-db-2: was not there, and is there: created by ", "shop/persistentvolumeclaims/log-db-1: was there, and is not there: nothing says who")
	})
}

// What another client has deleted meanwhile is a difference, and no reason to give the cluster up: no run deletes a node or a budget.
func TestWhatOthersHaveDeletedIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		deletes func(*world) error
		want    string
	}{
		"a node, as an autoscaler does": {func(w *world) error {
			return w.admin.CoreV1().Nodes().Delete(w.t.Context(), "wb1", metav1.DeleteOptions{})
		}, "nodes/wb1: was there, and is not there: deleted by another client: a run deletes none"},
		"a budget": {func(w *world) error {
			return w.admin.PolicyV1().PodDisruptionBudgets("shop").Delete(w.t.Context(), "web", metav1.DeleteOptions{})
		}, "shop/poddisruptionbudgets/web: was there, and is not there: deleted by another client: a run deletes none"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if _, err := New(w.options("run-1", nil)).Do(t.Context(), Scale(Workload("deployments", "shop", "web"), 5)); err != nil {
					t.Fatal(err)
				}
				if err := test.deletes(w); err != nil {
					t.Fatal(err)
				}
				o := w.options("", nil)
				healed, err := Heal(t.Context(), Where{Client: o.Client, Dynamic: o.Dynamic}, "heal")
				if err != nil || len(healed) != 1 || len(healed[0].Differences) != 1 || len(healed[0].Unexplained()) > 0 || healed[0].Differences[0].String() != test.want {
					t.Errorf("%v: %+v, want %q", err, healed, test.want)
				}
			})
		})
	}
}

func (w *world) node(name string) *corev1.Node { return w.Get("/api/v1/nodes/" + name).(*corev1.Node) }

func (w *world) replicas() int32 {
	d, err := w.admin.AppsV1().Deployments("shop").Get(w.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return *d.Spec.Replicas
}

// A node that another client has cordoned is not cordoned, and so never uncordoned.
func TestWhatIsSoAlreadyIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.as("kubectl-cordon", "node", "wa1", `{"spec":{"unschedulable":true}}`)
		j, err := Open(t.Context(), w.options("run-1", nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Do(t.Context(), Cordon("wa1")); !IsAlready(err) {
			t.Errorf("%v", err)
		}
		if err := j.Undo(t.Context()); err != nil || !w.node("wa1").Spec.Unschedulable || len(j.Entries()) > 0 {
			t.Errorf("%v, %v", err, j.Entries())
		}
	})
}

// One undo that fails does not stop the others, and the next healer tries it again.
func TestAnUndoThatFailsStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		j, err := Open(t.Context(), w.options("run-1", nil))
		for _, name := range []string{"wa1", "wb1"} {
			if err == nil {
				_, err = j.Do(t.Context(), Cordon(name))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Refuse = func(method, path string) *apierrors.StatusError {
			if method != "PATCH" || path != "/api/v1/nodes/wb1" {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "wb1", errors.New("not today"))
		}
		if err := j.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "undo change 2: cordon wb1: ") {
			t.Errorf("%v", err)
		}
		if w.node("wa1").Spec.Unschedulable || !w.node("wb1").Spec.Unschedulable || len(j.Unfinished()) != 1 {
			t.Errorf("unfinished: %v", j.Unfinished())
		}
		w.Refuse = nil
		if left, unexplained, err := w.heal(t.Context()); err != nil || len(left)+len(unexplained) > 0 || w.journals() != 0 {
			t.Errorf("%v: left %v, %v", err, left, unexplained)
		}
		check(t, "after the next heal", w.differences())
	})
}

// Two runs: the second makes no change while the first has changes that are not undone, and the first makes none when a healer has taken its journal.
func TestTwoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, err := Open(t.Context(), w.options("run-1", nil))
		if err == nil {
			_, err = first.Do(t.Context(), Cordon("wa1"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), w.options("run-2", nil)); err == nil || !strings.Contains(err.Error(), "run run-1 has left changes in this cluster that are not undone: run 'holdfast heal' first") {
			t.Errorf("the second: %v", err)
		}
		o := w.options("", nil)
		all, err := Find(t.Context(), Where{Client: o.Client, Dynamic: o.Dynamic})
		if err != nil || len(all) != 1 {
			t.Fatalf("%v: %d journals", err, len(all))
		}
		if err := all[0].TakeOver(t.Context(), "a healer"); err != nil {
			t.Fatal(err)
		}
		var taken *TakenError
		if _, err := first.Do(t.Context(), Cordon("wb1")); !errors.As(err, &taken) || taken.By != "a healer" || w.node("wb1").Spec.Unschedulable {
			t.Errorf("the first goes on: %v", err)
		}
		if err := all[0].Undo(t.Context()); err != nil || w.node("wa1").Spec.Unschedulable {
			t.Errorf("%v", err)
		}
	})
}

// A change that cannot be written down is not made, whichever place cannot be written.
func TestWhatCannotBeWrittenDownIsNotMade(t *testing.T) {
	for name, test := range map[string]func(*world, *Options){
		"no room in the cluster": func(w *world, _ *Options) {
			w.Refuse = func(method, path string) *apierrors.StatusError {
				if method == "GET" || !strings.Contains(path, "/configmaps") {
					return nil
				}
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("exceeded quota"))
			}
		},
		"no local file": func(_ *world, o *Options) { o.File = "/proc/nowhere/journal" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				o := w.options("run-1", nil)
				test(w, &o)
				if _, err := New(o).Do(t.Context(), Cordon("wa1")); err == nil {
					t.Error("no error")
				}
				if w.node("wa1").Spec.Unschedulable {
					t.Error("the change was made")
				}
			})
		})
	}
}

func TestChangesThatNoJournalMakes(t *testing.T) {
	uncordon := Cordon("wa1")
	uncordon.Value = nil
	secret := Cordon("wa1")
	secret.Object = Object{Version: "v1", Resource: "secrets", Namespace: "shop", Name: "token"}
	forever := RunCommand([]string{"halt"}, nil)
	for want, c := range map[string]Change{
		"a journal removes no fields": uncordon, "neither reads nor writes Secrets": secret, "it has no command that undoes it": forever,
		"only one of a known UID": EvictPod("shop", "web", ""),
	} {
		j := New(Options{Run: "run-1"})
		if _, err := j.Do(context.WithoutCancel(t.Context()), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	var none *Journal
	if _, err := none.Do(t.Context(), Cordon("wa1")); err == nil || !strings.Contains(err.Error(), "there is no journal to write it down in") {
		t.Errorf("without a journal: %v", err)
	}
}
