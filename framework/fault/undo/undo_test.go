package undo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var restart = Restart(web, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// A run is killed at each of its requests, in each way in which a request can end then, and another machine heals: nothing is left, whatever the
// change was and however far it had come. A second heal finds nothing.
func TestKilledAtEachRequest(t *testing.T) {
	var kills atomic.Int32
	t.Run("all", func(t *testing.T) {
		for name, changes := range map[string][]Change{
			"cordon": {Cordon(Node("wa1"))}, "scale": {Scale(web, 5)}, "scale to zero": {Scale(web, 0)}, "restart": {restart},
			"several": {Cordon(Node("wa1")), Cordon(Node("wb1")), Scale(web, 2)}, "a node": {Take(Node("wa1"))},
		} {
			for _, how := range []cutHow{before, after, slowly} {
				t.Run(name+"/"+string(how), func(t *testing.T) {
					for n := 1; killAt(t, &kills, changes, n, how) && !t.Failed(); n++ {
					}
				})
			}
		}
	})
	if kills.Load() < 90 {
		t.Errorf("only %d kills", kills.Load())
	}
}

// killAt kills a run at its n-th request, and returns false if it has fewer.
func killAt(t *testing.T, kills *atomic.Int32, changes []Change, n int, how cutHow) (killed bool) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		net := &cut{next: w.Config().Transport, at: n, how: how}
		run := w.changes(net)
		var err error
		for _, c := range changes {
			if err == nil {
				err = run.Do(t.Context(), c)
			}
		}
		if err == nil {
			_, err = run.Undo(t.Context())
		}
		if killed = net.killed != ""; !killed {
			if err != nil || len(w.changed()) > 0 {
				t.Errorf("without a kill: %v, %v are changed", err, w.changed())
			}
			return
		}
		kills.Add(1)
		time.Sleep(2 * time.Second) // what was on its way has arrived
		if _, err := w.heal(t.Context()); err != nil || len(w.changed()) > 0 {
			t.Errorf("killed at request %d, %s: %v, %v are changed", n, net.killed, err, w.changed())
		}
		if again, err := w.heal(t.Context()); err != nil || len(again) > 0 {
			t.Errorf("a second heal: %v, %v", again, err)
		}
	})
	return killed
}

// Rule 15: a change is undone only where the field still holds what the run has set. What another client has changed since is left, and named.
func TestWhatOthersHaveChangedIsLeft(t *testing.T) {
	const cordoned, uncordoned = `{"spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":false}}`
	for name, test := range map[string]struct {
		change Change
		by     func(*world)
		left   string // a part of why; empty: it is as it was
		holds  func(*world) bool
	}{
		"no other client has": {Cordon(Node("wa1")), func(*world) {}, "", func(w *world) bool { return !w.node("wa1").Spec.Unschedulable }},
		"back already":        {Cordon(Node("wa1")), func(w *world) { w.as("kubectl", "wa1", uncordoned) }, "", func(w *world) bool { return !w.node("wa1").Spec.Unschedulable }},
		"back, and again to what the run had set": {Cordon(Node("wa1")), func(w *world) {
			w.as("kubectl", "wa1", uncordoned)
			w.as("kubectl", "wa1", cordoned)
		}, "another client has set it since", func(w *world) bool { return w.node("wa1").Spec.Unschedulable }},
		"to the same": {Cordon(Node("wa1")), func(w *world) { w.as("kubectl", "wa1", cordoned) }, "", func(w *world) bool { return !w.node("wa1").Spec.Unschedulable }},
		"another field": {Cordon(Node("wa1")), func(w *world) { w.as("kubectl", "wa1", `{"metadata":{"labels":{"x":"y"}}}`) },
			"", func(w *world) bool { return w.node("wa1").Labels["x"] == "y" && !w.node("wa1").Spec.Unschedulable }},
		"the replicas": {Scale(web, 5), func(w *world) { w.as("autoscaler", "web", `{"spec":{"replicas":7}}`) },
			"holds 7 now", func(w *world) bool { return *w.web().Spec.Replicas == 7 }},
		"a restart": {restart, func(w *world) {
			w.as("kubectl", "web", `{"spec":{"template":{"metadata":{"annotations":{"`+RestartedAt+`":"2026-02-02T00:00:00Z"}}}}}`)
		}, "holds \"2026-02-02", func(w *world) bool { return w.web().Spec.Template.Annotations[RestartedAt] != "" }},
		"the node is gone": {Cordon(Node("wa1")), func(w *world) { w.Forget("/api/v1/nodes/wa1") }, "", func(w *world) bool { return w.Get("/api/v1/nodes/wa1") == nil }},
		"another node of that name": {Cordon(Node("wa1")), func(w *world) {
			w.Forget("/api/v1/nodes/wa1")
			w.Put("/api/v1/nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "wa1", UID: "another"}, Spec: corev1.NodeSpec{Unschedulable: true}})
		}, "", func(w *world) bool { return w.node("wa1").Spec.Unschedulable }},
	} {
		for _, byHeal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/by heal %t", name, byHeal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					run := w.changes(nil)
					if err := run.Do(t.Context(), test.change); err != nil {
						t.Fatal(err)
					}
					test.by(w)
					var out []Outcome
					var err error
					if byHeal {
						out, err = w.heal(t.Context())
					} else {
						out, err = run.Undo(t.Context())
					}
					left := ""
					for _, o := range out {
						left += o.Left
					}
					if err != nil || (left == "") != (test.left == "") || !strings.Contains(left, test.left) {
						t.Errorf("%v, left %q, want %q", err, left, test.left)
					}
					if !test.holds(w) {
						t.Error("the object is not as it should be")
					}
					if again, err := w.heal(t.Context()); err != nil || len(again) > 0 {
						t.Errorf("a note is left: %v %v", again, err)
					}
				})
			})
		}
	}
}

// What must not be changed is not: an object with a note, one that is so already, one that is another than planned, and one that another client
// changes meanwhile.
func TestWhatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*world)
		change Change
		want   string
	}{
		"another run has changed it": {func(w *world) {
			other := w.changes(nil)
			other.Run = "run-2"
			if err := other.Do(w.t.Context(), Cordon(Node("wa1"))); err != nil {
				w.t.Fatal(err)
			}
		}, Cordon(Node("wa1")), "run run-2 has changed nodes/wa1"},
		"it is cordoned already": {func(w *world) { w.as("kubectl", "wa1", `{"spec":{"unschedulable":true}}`) }, Cordon(Node("wa1")), "already holds true"},
		"another UID":            {func(*world) {}, Cordon(Object{Resource: "nodes", Name: "wa1", UID: "planned"}), "another object than the planned one"},
		"an annotation that is no note": {func(w *world) { w.as("kubectl", "wa1", `{"metadata":{"annotations":{"`+Annotation+`":"x"}}}`) },
			Cordon(Node("wa1")), "remove it first"},
		"there is no such node": {func(*world) {}, Cordon(Node("wa9")), "not found"},
		"the API server refuses": {func(w *world) {
			w.Refuse = func(method, _ string) *apierrors.StatusError {
				if method == http.MethodPatch {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "wa1", nil)
				}
				return nil
			}
		}, Cordon(Node("wa1")), "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.before(w)
			was := w.node("wa1").DeepCopy()
			run := w.changes(nil)
			if err := run.Do(t.Context(), test.change); err == nil || !strings.Contains(err.Error(), test.want) || run.Made() {
				t.Errorf("%v, want %q; made %t", err, test.want, run.Made())
			}
			if now := w.node("wa1"); now.ResourceVersion != was.ResourceVersion {
				t.Error("it was written")
			}
		})
	}
}

// forge writes an annotation and a field as a client does that may patch the object, under the name of a run.
func (w *world) forge(object string, note any, spec string) {
	w.t.Helper()
	text, is := note.(string)
	if !is {
		raw, err := json.Marshal(note)
		if err != nil {
			w.t.Fatal(err)
		}
		text = string(raw)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		w.t.Fatal(err)
	}
	w.as(managerOf("run-1"), object, `{"metadata":{"annotations":{"`+Annotation+`":`+string(quoted)+`}}`+spec+`}`)
}

// Findings H1, M2 and M4 of the review of safety: a client that may write one object makes a heal, which has more rights, change nothing but that object's own
// field, and of that only to a value which the field can have. Nothing is deleted, created, read elsewhere, printed in lines of its own, or run.
func TestAForgedNoteReachesNoFurtherThanItsObject(t *testing.T) {
	raw := func(v string) json.RawMessage { return json.RawMessage(v) }
	for name, forged := range map[string]func(uid types.UID) any{
		"a taint": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: "spec.taints", Before: raw(`[]`), Ours: raw(`[{}]`)}
		},
		"a label": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: "metadata.labels.x", Ours: raw(`"y"`)}
		},
		"a field of a workload": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: Replicas, Before: raw(`0`), Ours: raw(`3`)}
		},
		"a value that is no value": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: Unschedulable, Before: raw(`{"a":1}`), Ours: raw(`true`)}
		},
		"cordons on undo": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: Unschedulable, Before: raw(`true`), Ours: raw(`false`)}
		},
		"another object's UID": func(types.UID) any { return Note{Run: "run-1", UID: "x", Field: Unschedulable, Ours: raw(`true`)} },
		"a run of two lines": func(uid types.UID) any {
			return Note{Run: "x\nstaging: healed", UID: uid, Field: Unschedulable, Ours: raw(`true`)}
		},
		"another run's manager": func(uid types.UID) any { return Note{Run: "run-7", UID: uid, Field: Unschedulable, Ours: raw(`true`)} },
		"a command": func(uid types.UID) any {
			return Note{Run: "run-1", UID: uid, Field: Command, Ours: raw(`["rm","-rf","/"]`)}
		},
		"an unknown key": func(uid types.UID) any {
			return map[string]any{"run": "run-1", "uid": uid, "field": Unschedulable, "ours": true, "runUndo": []string{"sh"}}
		},
		"no JSON":     func(types.UID) any { return "{" },
		"nothing":     func(types.UID) any { return "" },
		"a long text": func(types.UID) any { return strings.Repeat("[", 200_000) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n := w.node("wa1")
			w.forge("wa1", forged(n.UID), "")
			was, asked := w.node("wa1").DeepCopy(), len(w.Asked())
			out, err := w.heal(t.Context())
			if err == nil || len(out) > 0 || !strings.Contains(err.Error(), "remove it with 'kubectl annotate'") || strings.Count(err.Error(), "\n") > 2 || len(err.Error()) > 1000 {
				t.Errorf("%v, %v", out, err)
			}
			if strings.Contains(fmt.Sprint(err), "\nstaging: healed") {
				t.Errorf("it prints a line of another's: %v", err)
			}
			if w.node("wa1").ResourceVersion != was.ResourceVersion || len(w.Asked()) != asked {
				t.Errorf("it wrote %v", w.Asked()[asked:])
			}
		})
	}
	// What is left: with the rights to write the object itself, its own field is put back.
	w := newWorld(t)
	w.forge("web", Note{Run: "run-1", UID: w.web().UID, Field: Replicas, Before: raw(`3`), Ours: raw(`4`)}, `,"spec":{"replicas":4}`)
	if out, err := w.heal(t.Context()); err != nil || len(out) != 1 || *w.web().Spec.Replicas != 3 {
		t.Errorf("%v, %v, %d replicas", out, err, *w.web().Spec.Replicas)
	}
	// An unowned field is left, whatever the note says of it.
	w = newWorld(t)
	w.forge("web", Note{Run: "run-1", UID: w.web().UID, Field: Replicas, Before: raw(`0`), Ours: raw(`3`)}, "")
	if out, err := w.heal(t.Context()); err != nil || len(out) != 1 || out[0].Left == "" || *w.web().Spec.Replicas != 3 {
		t.Errorf("%v, %v, %d replicas", out, err, *w.web().Spec.Replicas)
	}
}

// Kubernetes copies the annotations of a Deployment to its ReplicaSets, and 'kubectl rollout undo' copies them back: such a copy undoes nothing.
func TestACopiedNoteUndoesNothing(t *testing.T) {
	w := newWorld(t)
	run := w.changes(nil)
	if err := run.Do(t.Context(), Scale(web, 4)); err != nil {
		t.Fatal(err)
	}
	copied := w.web().Annotations[Annotation]
	if _, err := run.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(copied)
	if err != nil {
		t.Fatal(err)
	}
	w.as("kubectl-rollout", "web", `{"metadata":{"annotations":{"`+Annotation+`":`+string(quoted)+`}},"spec":{"replicas":4}}`)
	if out, err := w.heal(t.Context()); err == nil || !strings.Contains(err.Error(), "another client than run run-1 has written it") || len(out) > 0 || *w.web().Spec.Replicas != 4 {
		t.Errorf("%v, %v, %d replicas", out, err, *w.web().Spec.Replicas)
	}
}

// A transport for healing sends the undo of notes, and no other patch, whatever its client is told to do.
func TestATransportForHealingIsLimited(t *testing.T) {
	const note = `{"op":"remove","path":"/metadata/annotations/holdfast.dev~1undo"}`
	for body, sent := range map[string]bool{
		`[{"op":"test","path":"/metadata/uid","value":"x"},` + note + `]`:   true,
		`[{"op":"remove","path":"/spec/unschedulable"},` + note + `]`:       true,
		`[{"op":"replace","path":"/spec/replicas","value":3},` + note + `]`: true,
		`[]`: false,
		`[{"op":"remove","path":"/spec/unschedulable"}]`:                                  false,
		`[{"op":"remove","path":"/spec/taints"},` + note + `]`:                            false,
		`[{"op":"add","path":"/spec/replicas","value":3},` + note + `]`:                   false,
		`[{"op":"test","path":"/spec/template","value":3},` + note + `]`:                  false,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/image"},` + note + `]`: false,
		`[{"op":"copy","from":"/metadata/name","path":"/spec/replicas"},` + note + `]`:    false,
		`{"spec":{"replicas":0}}`: false,
	} {
		if err := reverses(string(types.JSONPatchType), []byte(body)); (err == nil) != sent {
			t.Errorf("%s: %v", body, err)
		}
		if reverses(string(types.MergePatchType), []byte(body)) == nil {
			t.Errorf("%s is sent as a merge patch", body)
		}
	}
}
