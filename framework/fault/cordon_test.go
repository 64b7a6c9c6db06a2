package fault

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestOnlyOurOwnCordonsAreOpened, and each carries the mark as long as it is closed.
func TestOnlyOurOwnCordonsAreOpened(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	must(t, w.target().cordon(t.Context(), "w1", true))
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	o, err := w.client.Tracker().Get(nodes, "", "w2")
	must(t, err)
	somebodys := o.(*corev1.Node).DeepCopy()
	somebodys.Spec.Unschedulable = true
	must(t, w.client.Tracker().Update(nodes, somebodys, ""))
	opened, err := Uncordon(t.Context(), w.client)
	if err != nil || !slices.Equal(opened, []string{"w1"}) || !slices.Equal(w.cordoned(), []string{"w2"}) {
		t.Errorf("%v: opened %q, closed %q", err, opened, w.cordoned())
	}
	if opened, err := Uncordon(t.Context(), w.client); err != nil || len(opened) != 0 {
		t.Errorf("again: %v, opened %q", err, opened)
	}
	must(t, w.target().cordon(t.Context(), "w3", true))
	must(t, w.target().cordon(t.Context(), "w3", false))
	o, err = w.client.Tracker().Get(nodes, "", "w3")
	must(t, err)
	if CordonedByUs(o.(*corev1.Node)) {
		t.Error("it is open, and still marked")
	}
}
