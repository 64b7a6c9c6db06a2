package disturb

import (
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

func TestPermitted(t *testing.T) {
	refuses(t, permitted, map[string]try{
		"may cordon, and may not look whether": {faults: "drain", change: func(w *world) { w.deny("patch nodes") }, reason: "jane may not patch nodes, and who cannot undo may not do"},
		"may not evict":                        {faults: "drain", change: func(w *world) { w.deny("create pods/eviction") }, reason: "jane may not create pods/eviction", object: "Namespace shop"},
		"may not evict the neighbour": {faults: "drain", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			delete(w.Rights, existing.Permission{Namespace: "mail", Verb: "create", Resource: "pods", Subresource: "eviction"})
		}, reason: "whether jane may create pods/eviction was not asked", object: "Namespace mail"},
		"may not announce it":             {faults: "rollout", change: func(w *world) { w.deny("create events") }, reason: "jane may not create events"},
		"may not hold the cluster":        {faults: "rollout", change: func(w *world) { w.deny("update leases.coordination.k8s.io") }, reason: "jane may not update leases", object: "Namespace holdfast"},
		"nothing was asked":               {faults: "rollout", change: func(w *world) { w.Rights = nil }, reason: "was not asked"},
		"may not patch the other kind":    {faults: "rollout", change: func(w *world) { w.deny("patch statefulsets.apps") }},
		"may scale and not set it back":   {faults: "scale", change: func(w *world) { w.deny("list deployments.apps") }, reason: "and who cannot undo may not do"},
		"may not ask what a pod would be": {faults: "delete-pod", change: func(w *world) { w.deny("create pods") }, reason: "jane may not create pods"},
	})
}

// deny takes a right away, as `kubectl auth can-i` has it.
func (w *world) deny(right string) {
	for p := range w.Rights {
		if words(p) == right {
			w.Rights[p] = false
		}
	}
}

// Each right that a fault injects or undoes with is asked about: without any one of them, nothing of the fault is done.
func TestEachRightIsNeeded(t *testing.T) {
	for _, f := range catalogue.Faults {
		for _, right := range append(append([]catalogue.Right{}, f.Inject()...), f.Undo()...) {
			if right.Resource == "statefulsets" {
				continue // the workload is a Deployment
			}
			w := newWorld(f.Name)
			w.neighbour("w1", "w2", "w3")
			w.deny(right.String())
			if p := w.plan(); !p.Refused() {
				t.Errorf("%s without the right to %s is not refused", f.Name, right)
			}
		}
	}
}
