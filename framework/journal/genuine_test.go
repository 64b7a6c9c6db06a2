package journal

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/journal/field"
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
