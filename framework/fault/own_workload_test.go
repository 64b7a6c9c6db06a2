package fault

import (
	"errors"
	"slices"
	"testing"
)

// A fault that is said to change only its workload writes nothing outside of the workload's namespace, and asks nothing of a machine.
func TestChangesOnlyItsWorkload(t *testing.T) {
	var only []string
	for _, f := range Examples() {
		if !ChangesOnlyItsWorkload(f) {
			continue
		}
		only = append(only, f.String())
		t.Run(f.String(), inBubble(func(t *testing.T) {
			w, target := worldFor(t, f)
			for _, n := range w.nodes {
				n.(*machine).err = errors.New("a machine was asked for something")
			}
			revert, err := inject(t.Context(), f, target)
			must(t, err)
			must(t, revert(t.Context()))
			for _, a := range w.client.Actions() {
				if reads := slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()); !reads && a.GetNamespace() != target.Namespace {
					t.Errorf("%s of %s in namespace %q", a.GetVerb(), a.GetResource(), a.GetNamespace())
				}
			}
		}))
	}
	if len(only) < 7 {
		t.Errorf("only %q", only)
	}
	for _, f := range []Fault{Drain{}, NodeKill{}, ZoneOutage{}, RevertImmediately{Drain{}}, Unbalance{}, FillNode{}} {
		if ChangesOnlyItsWorkload(f) {
			t.Errorf("%s changes nodes", f)
		}
	}
}
