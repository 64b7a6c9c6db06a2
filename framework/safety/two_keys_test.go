package disturb

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestTwoKeys(t *testing.T) {
	relabel := func(w *world, namespace string, labels map[string]string) {
		for i := range w.Namespaces {
			if w.Namespaces[i].Name == namespace {
				w.Namespaces[i].Labels = labels
			}
		}
	}
	denied := map[string]string{KeyLabel: "no"}
	refuses(t, twoKeys, map[string]try{
		"the operator has not said so":      {change: func(w *world) { w.Disturb = false }, reason: "--disturb"},
		"no owner has":                      {change: func(w *world) { relabel(w, shop, nil) }, reason: "neither it nor its namespace has the label", object: "Deployment shop/web"},
		"the owner of the namespace denies": {change: func(w *world) { relabel(w, shop, denied) }, reason: `its namespace's label holdfast.dev/disturb is "no"`},
		"the owner of the workload denies, in a namespace that allows": {
			change: func(w *world) { w.web().Labels = denied }, reason: `its own label holdfast.dev/disturb is "no"`,
		},
		"another case":                 {change: func(w *world) { relabel(w, shop, map[string]string{KeyLabel: "Allowed"}) }, reason: `is "Allowed"`},
		"the namespace cannot be read": {change: func(w *world) { w.Namespaces = nil }, reason: "the labels of its namespace could not be read"},
		"the workload's own key": {change: func(w *world) {
			relabel(w, shop, nil)
			w.web().Labels = map[string]string{KeyLabel: Allowed}
		}},
		"a neighbour's owner has not": {faults: "drain", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			relabel(w, "mail", nil)
		}, reason: "neither it nor its namespace", object: "Deployment mail/smtp"},
		"a neighbour's owner has, and nothing of it is touched": {faults: "cordon", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			relabel(w, "mail", nil)
		}},
		"a neighbour of which nobody knows whose it is": {faults: "drain", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			relabel(w, "mail", nil)
			w.each("smtp", func(p *corev1.Pod) { p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "Job", "job" })
		}, reason: "neither it nor its namespace has the label", also: []int{8}},
		"every node's owner denies": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels[KeyLabel] = "no"
			}
		}, reason: `its label holdfast.dev/disturb is "no"`},
		"the owner of the namespace allows other faults": {faults: "scale rollout", change: func(w *world) {
			w.Namespaces[0].Annotations = map[string]string{FaultsKey: "rollout, delete-pod"}
		}, reason: `its namespace's annotation holdfast.dev/disturb-faults is "rollout, delete-pod", and does not name scale`},
		"the owner of the workload allows other faults than that of the namespace": {faults: "scale", change: func(w *world) {
			w.web().Annotations = map[string]string{FaultsKey: ""}
		}, reason: `its own annotation holdfast.dev/disturb-faults is "", and does not name scale`},
		"a key of its own for all faults, in a namespace that allows few": {faults: "scale", change: func(w *world) {
			w.Namespaces[0].Annotations = map[string]string{FaultsKey: "rollout"}
			w.web().Labels = map[string]string{KeyLabel: Allowed}
		}},
		"a key that names the fault, with others": {faults: "scale", change: func(w *world) {
			w.Namespaces[0].Annotations = map[string]string{FaultsKey: "rollout,scale"}
		}},
		"the owner of a neighbour allows no drain": {faults: "drain", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			w.Namespaces[1].Annotations = map[string]string{FaultsKey: "delete-pod"}
		}, reason: "does not name drain", object: "Deployment mail/smtp"},
		"the owners of all nodes allow no drain": {faults: "drain", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Annotations = map[string]string{FaultsKey: "cordon"}
			}
		}, reason: "does not name drain"},
		"one node's owner denies: another is taken": {faults: "drain cordon", change: func(w *world) { w.Nodes[1].Labels[KeyLabel] = "no" }},
	})
}
