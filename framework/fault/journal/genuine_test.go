package journal

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/fingerprint"
)

// forge has somebody who may write ConfigMaps in holdfast's namespace rewrite an entry of a journal.
func (w *world) forge(key string, how func(*Entry)) {
	w.t.Helper()
	maps := w.admin.CoreV1().ConfigMaps("holdfast")
	all, err := maps.List(w.t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		w.t.Fatalf("%d journals, %v", len(all.Items), err)
	}
	var e Entry
	if err := json.Unmarshal([]byte(all.Items[0].Data[key]), &e); err != nil {
		w.t.Fatal(err)
	}
	how(&e)
	text, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	all.Items[0].Data[key] = string(text)
	if _, err := maps.Update(w.t.Context(), &all.Items[0], metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// An administrator heals with more rights than those who may write the journal have: what no holdfast writes down is not undone for them.
func TestAForgedJournalIsNotUndone(t *testing.T) {
	for want, forged := range map[string]func(*Entry){
		"no holdfast changes /rules of clusterroles/admin": func(e *Entry) {
			e.Object = Object{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles", Name: "admin"}
			e.Field = "/rules"
		},
		"no holdfast changes /spec/template/spec/containers/0/image of shop/deployments/web": func(e *Entry) {
			e.Object, e.Field = Workload("deployments", "shop", "web"), "/spec/template/spec/containers/0/image"
		},
		"no holdfast changes /metadata/annotations/owner of nodes/wa1": func(e *Entry) { e.Field = Pointer("metadata", "annotations", "owner") },
		"never about a Secret": func(e *Entry) {
			e.Object = Object{Version: "v1", Resource: "secrets", Namespace: "shop", Name: "token"}
		},
		"its undo is not that of its change": func(e *Entry) {
			e.Undo = append(e.Undo, field.Operation{Op: "add", Path: "/metadata/labels/mine", Value: json.RawMessage(`"true"`)})
		},
		"no holdfast changes /spec/unschedulable of nodes/x": func(e *Entry) {
			e.Object = Object{Version: "v1/namespaces/pay", Resource: "nodes", Name: "x"}
		},
		"no holdfast changes /spec/replicas of pay/../../../api/v1/namespaces/pay/secrets/x": func(e *Entry) {
			e.Object, e.Field = Object{Group: "apps", Version: "v1", Resource: "../../../api/v1/namespaces/pay/secrets", Namespace: "pay", Name: "x"}, "/spec/replicas"
		},
		"only a pod is evicted, and that is not undone": func(e *Entry) { // an eviction that is undone by a command
			e.Action, e.Object, e.RunUndo = Evict, pod("shop", "web-1"), []string{"touch", "PWNED"}
		},
		"only a pod is evicted":                           func(e *Entry) { e.Action, e.NoUndo = Evict, "its controller makes another" },
		"it runs no command":                              func(e *Entry) { e.Action = Command },
		"or one that is empty":                            func(e *Entry) { e.Action, e.Run, e.RunUndo = Command, []string{"true"}, []string{""} },
		`action "exec" is unknown`:                        func(e *Entry) { e.Action = "exec" },
		`action "create" is unknown`:                      func(e *Entry) { e.Action = "create" }, // whose undo would be to delete the object
		"no holdfast changes /spec/taints/- of nodes/wa1": func(e *Entry) { e.Field = "/spec/taints/-" },
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				o := w.options("run-1", nil)
				if _, err := New(o).Do(t.Context(), Cordon("wa1")); err != nil {
					t.Fatal(err)
				}
				w.forge("change-000001", forged)
				wrote := len(w.Asked())
				if _, _, err := w.heal(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				if asked := w.Asked()[wrote:]; len(asked) > 0 {
					t.Errorf("heal sent %q", asked)
				}
				// Neither is the local copy believed.
				text, err := os.ReadFile(o.File)
				if err != nil {
					t.Fatal(err)
				}
				_, entries, err := ReadFile(o.File)
				if err != nil {
					t.Fatal(err)
				}
				e := entries[0]
				forged(&e)
				last, err := json.Marshal(line{Entry: &e})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(o.File, append(text, append(last, '\n')...), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := FromFile(t.Context(), o.File, Where{Client: o.Client, Dynamic: o.Dynamic}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the local copy: %v, want %q", err, want)
				}
			})
		})
	}
}

// A change that could not be written down in the cluster was not made. Later ones are undone all the same.
func TestAnEntryThatNeverArrivedIsNoObstacle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		j := New(w.options("run-1", nil))
		for _, node := range []string{"wa1", "wb1"} {
			if _, err := j.Do(t.Context(), Cordon(node)); err != nil {
				t.Fatal(err)
			}
		}
		maps := w.admin.CoreV1().ConfigMaps("holdfast")
		all, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(all.Items) != 1 {
			t.Fatalf("%d journals, %v", len(all.Items), err)
		}
		delete(all.Items[0].Data, "change-000001")
		if _, err := maps.Update(t.Context(), &all.Items[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.heal(t.Context()); err != nil {
			t.Error(err)
		}
		if n := w.Get("/api/v1/nodes/wb1").(*corev1.Node); n.Spec.Unschedulable {
			t.Error("wb1 is still cordoned")
		}
	})
}

// scaling makes of an entry one that has scaled Deployment web from a number of another client's choice.
func (w *world) scaling(before, ours string, state State) func(*Entry) {
	return func(e *Entry) {
		web := w.Get("/apis/apps/v1/namespaces/shop/deployments/web")
		e.What, e.Object, e.UID, e.State = "something", Workload("deployments", "shop", "web"), web.GetUID(), state
		e.Object.Subresource, e.Field, e.Before, e.Ours = "scale", "/spec/replicas", json.RawMessage(before), json.RawMessage(ours)
		var err error
		if e.Undo, err = field.Restoring(e.UID, e.Field, e.Ours, e.Before); err != nil {
			w.t.Fatal(err)
		}
	}
}

// A forged journal is about a field that a journal may be about. It is not undone unless the object itself says that its run has set the field: not where
// no client has, not where another client has, and not where the undo of an earlier run has put it back.
func TestAForgedEntryIsNotUndoneWhereTheFieldIsNotItsRuns(t *testing.T) {
	putBack := func(w *world) *Journal {
		j := New(w.options("run-0", nil))
		if _, err := j.Do(w.t.Context(), Scale(Workload("deployments", "shop", "web"), 5)); err != nil {
			w.t.Fatal(err)
		}
		if err := j.Undo(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		return j
	}
	cordon := func(w *world) *Journal {
		j := New(w.options("run-1", nil))
		for _, node := range []string{"wa1", "wb1"} {
			if _, err := j.Do(w.t.Context(), Cordon(node)); err != nil {
				w.t.Fatal(err)
			}
		}
		return j
	}
	for name, before := range map[string]func(*world){
		"nobody has set it": func(w *world) {
			web := w.Get("/apis/apps/v1/namespaces/shop/deployments/web").(*appsv1.Deployment).DeepCopy()
			web.ManagedFields = nil
			w.Put("/apis/apps/v1/namespaces/shop/deployments", web)
			cordon(w)
		},
		"another client has set it": func(w *world) {
			w.as("autoscaler", "deployment", "web", `{"spec":{"replicas":3}}`)
			cordon(w)
		},
		"an earlier run has put it back": func(w *world) {
			if err := putBack(w).Clear(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
			time.Sleep(time.Minute)
			cordon(w)
		},
		"a run has put it back since the ConfigMap was created": func(w *world) { // whose data can be written later
			cordon(w)
			const maps = "/api/v1/namespaces/holdfast/configmaps"
			forged := w.Get(maps + "/holdfast-run-1").(*corev1.ConfigMap).DeepCopy()
			w.Forget(maps + "/holdfast-run-1")
			time.Sleep(time.Minute)
			if err := putBack(w).Clear(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
			w.Put(maps, forged)
		},
		"the run itself has put it back": func(w *world) {
			j := putBack(w)
			if _, err := j.Do(w.t.Context(), Cordon("wa1")); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				before(w)
				w.forge("change-000001", w.scaling("0", "3", Done))
				w.forge("change-000002", w.scaling("3", "9", SeenUndone)) // which seems to have put the 3 back
				left, _, err := w.heal(t.Context())
				if n := w.replicas(); n != 3 || err != nil {
					t.Errorf("%d replicas, %v", n, err)
				}
				check(t, "left", left, "change 1: something: /spec/replicas holds ")
			})
		})
	}
}

// A forged fingerprint would have an administrator read what its author may not read, and show how it differs. Nothing of it is read.
func TestAForgedFingerprintIsNotCompared(t *testing.T) {
	for name, of := range map[string]Object{
		"a Secret":                        {Version: "v1", Resource: "secrets", Namespace: "pay", Name: "db"},
		"all ConfigMaps of a namespace":   {Version: "v1", Resource: "configmaps", Namespace: "pay"},
		"a workload that no entry names":  Workload("deployments", "pay", "ledger"),
		"budgets of another namespace":    budgetsOf("pay"),
		"nodes, by a path to another one": {Version: "v1/namespaces/pay", Resource: "secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if _, err := New(w.options("run-1", nil)).Do(t.Context(), Scale(Workload("deployments", "shop", "web"), 5)); err != nil {
					t.Fatal(err)
				}
				packed, err := fingerprint.Pack(snapshot{Of: of, Print: fingerprint.Print{"db": {fingerprint.UID: `"u"`}}})
				if err != nil {
					t.Fatal(err)
				}
				maps := w.admin.CoreV1().ConfigMaps("holdfast")
				c, err := maps.Get(t.Context(), "holdfast-run-1", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				c.BinaryData["before-000009"] = packed
				if _, err := maps.Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				o := w.options("", reads(func(path string) {
					if strings.Contains(path, "pay") {
						t.Errorf("heal has read %s", path)
					}
				}, w.Config().Transport))
				healed, err := Heal(t.Context(), Where{Client: o.Client, Dynamic: o.Dynamic}, "heal")
				if err == nil || !strings.Contains(err.Error(), "belongs to no change") || len(healed) != 1 || len(healed[0].Differences) > 0 {
					t.Errorf("%v, %+v", err, healed)
				}
				if w.replicas() != 3 {
					t.Error("and what the run has changed is not undone for it")
				}
			})
		})
	}
}

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reads is a transport that says what is read.
func reads(saw func(path string), next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			saw(r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

// What a pod template and annotations have in them, such as passwords in environment variables, is neither in the ConfigMap nor in what a heal prints. That
// it has changed is.
func TestAFingerprintHidesWhatMayBeSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const secret, other = "hunter2", "correct horse"
		env := func(value string) string {
			return `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + value + `"}},"spec":{"template":{"spec":{"containers":[
				{"name":"web","image":"web:1","args":["--password=` + value + `"],"env":[{"name":"PASSWORD","value":"` + value + `"}]}]}}}}`
		}
		w.as("kubectl-apply", "deployment", "web", env(secret))
		if _, err := New(w.options("run-1", nil)).Do(t.Context(), Scale(Workload("deployments", "shop", "web"), 5)); err != nil {
			t.Fatal(err)
		}
		for _, o := range w.List("/api/v1/namespaces/holdfast/configmaps") {
			for key, packed := range o.(*corev1.ConfigMap).BinaryData {
				var text json.RawMessage
				if err := fingerprint.Unpack(packed, &text); err != nil || strings.Contains(string(text), secret) {
					t.Errorf("%s: %v: %s", key, err, text)
				}
			}
		}
		w.as("kubectl-apply", "deployment", "web", env(other))
		o := w.options("", nil)
		healed, err := Heal(t.Context(), Where{Client: o.Client, Dynamic: o.Dynamic}, "heal")
		if err != nil || len(healed) != 1 {
			t.Fatal(err, healed)
		}
		lines := strings.Join(healed[0].Lines(), "\n")
		if strings.Contains(lines, secret) || strings.Contains(lines, other) || !strings.Contains(lines, "differs: shop/deployments/web: /spec/template/spec/containers/0/env/0/value: was \"hidden:") {
			t.Errorf("it says:\n%s", lines)
		}
	})
}
