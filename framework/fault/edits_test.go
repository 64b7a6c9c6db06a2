package fault

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/journal"
)

// set makes a node unschedulable or not, as an administrator would.
func (w *world) set(t *testing.T, name string, unschedulable bool) {
	t.Helper()
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	o, err := w.client.Tracker().Get(nodes, "", name)
	must(t, err)
	n := o.(*corev1.Node).DeepCopy()
	n.Spec.Unschedulable = unschedulable
	must(t, w.client.Tracker().Update(nodes, n, ""))
}

// TestOnlyOurOwnCordonsAreOpened: a node that somebody else has cordoned is neither cordoned nor uncordoned.
func TestOnlyOurOwnCordonsAreOpened(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	w.set(t, "w2", true)
	made := w.target().edits()
	must(t, made.cordon(t.Context(), "w1"))
	if err := made.cordon(t.Context(), "w2"); err == nil || err.Error() != "cordon w2: node is already cordoned, and not by holdfast" {
		t.Errorf("somebody's: %v", err)
	}
	if err := w.target().edits().cordon(t.Context(), "w1"); err == nil {
		t.Error("another fault's was cordoned once more")
	}
	must(t, made.uncordon(t.Context(), "w1", "w2", "w3"))
	if got := w.cordoned(); !slices.Equal(got, []string{"w2"}) {
		t.Errorf("cordoned: %q", got)
	}
	must(t, made.uncordon(t.Context(), "w1", "w2", "w3")) // once more
	for _, e := range w.journal.Entries() {
		if e.State != journal.SeenUndone {
			t.Errorf("%s is %s", e, e.State)
		}
	}
}

// TestWhatOthersChangeIsLeft: an undo leaves it, and says so.
func TestWhatOthersChangeIsLeft(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	made := w.target().edits()
	must(t, made.cordon(t.Context(), "w1"))
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	must(t, w.client.Tracker().Delete(nodes, "", "w1"))
	again := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: types.UID("another"), ResourceVersion: "1"}, Spec: corev1.NodeSpec{Unschedulable: true}}
	must(t, w.client.Tracker().Add(again))
	err := made.uncordon(t.Context(), "w1")
	if err == nil || !strings.Contains(err.Error(), "cordon w1: it is left as it is: nodes/w1 was deleted and created again by somebody else") {
		t.Errorf("%v", err)
	}
	if got := w.cordoned(); !slices.Equal(got, []string{"w1"}) {
		t.Errorf("another machine of the same name was uncordoned: %q", got)
	}
}
