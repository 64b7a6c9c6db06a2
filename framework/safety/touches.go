package disturb

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// evict is the eviction of a pod. The request names the pod's UID, so that no other pod of the same name is taken.
func evict(p corev1.Pod) Touch {
	return Touch{
		Object: objectOf(p), Verb: "create", Resource: "pods", Subresource: "eviction",
		Does:  "evict, if its budget allows it",
		Undo:  "none: its controller makes another pod",
		Needs: []string{"create pods/eviction in namespace " + p.Namespace},
	}
}

// note is the note on a node that a command of the user's takes away. Heal finds it, and has the node brought back.
func note(n *corev1.Node) Touch {
	return Touch{
		Object: nodeObject(n), Verb: "patch", Resource: "nodes",
		Does:  "annotate with the run, before the command disturb.nodeKill.command takes the node away",
		Field: string(undo.Command), Ours: []string{"the name of the run"},
		Undo:  "remove, after the command disturb.nodeKill.undo has brought the node back",
		Needs: []string{"get nodes", "patch nodes"},
	}
}

// cordon is the cordoning of a node.
func cordon(n *corev1.Node) Touch {
	return Touch{
		Object: nodeObject(n), Verb: "patch", Resource: "nodes",
		Does:  "cordon",
		Field: string(undo.Unschedulable), Before: strconv.FormatBool(n.Spec.Unschedulable), Ours: []string{"true"},
		Undo:  "uncordon, if no other client has set it since",
		Needs: []string{"get nodes", "patch nodes"},
	}
}

// edit is the change of a workload's spec.
func (v *view) edit(s Step) Touch {
	w := s.target
	t := Touch{Object: w.Object, Verb: "patch", Group: catalogue.Apps, Resource: resources[w.Kind], Field: s.Of.Edits}
	switch s.Of.Name {
	case catalogue.Scale.Name:
		t.Does, t.Before = "scale", strconv.Itoa(w.replicas)
		for _, n := range ScaleThrough(w.replicas) {
			t.Ours = append(t.Ours, strconv.Itoa(n))
		}
		t.Undo = fmt.Sprintf("scale to %d, if it still has a number of ours", w.replicas)
	default:
		t.Does, t.Ours = "restart its pods by a rolling update", []string{"the time of the restart"}
		t.Before = w.template.Annotations[undo.RestartedAt]
		t.Undo = "set back, if it is still ours: a rolling update to the former template"
	}
	for _, right := range s.Of.Inject() {
		if right.Resource == t.Resource {
			t.Needs = append(t.Needs, right.In(w.Namespace).String())
		}
	}
	return t
}

// resources are the plurals of the kinds.
var resources = map[string]string{KindDeployment: "deployments", KindStatefulSet: "statefulsets"}

// ScaleThrough are the numbers of replicas that scaling goes through: one more, the former number, and one less. No step ends more than one pod,
// and none ends the last one.
func ScaleThrough(replicas int) []int {
	if replicas < 2 {
		return []int{replicas + 1, replicas}
	}
	return []int{replicas + 1, replicas, replicas - 1}
}

// owned are the objects that holdfast creates for itself, and the Events by which it tells what it does.
func owned(r *Request) (all []Own) {
	why := map[string]string{
		"leases": "one run at a time, and the sign that the run is alive",
		"jobs":   "load workers", "deployments": "the healer", "poddisruptionbudgets": "the healer's", "pods": "to ask the load workers, through the API server",
		"events": "to tell what is done to the object",
	}
	for _, right := range append(catalogue.Owning(), catalogue.Trying(r.Faults)...) {
		if slices.Contains([]string{"get", "list", "watch"}, right.Verb) || right.Resource == "pods" && right.Subresource == "" { // a dry run creates nothing
			continue
		}
		for _, namespace := range r.Places(right.Where) {
			all = append(all, Own{
				Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource, Namespace: namespace, For: why[right.Resource],
			})
		}
	}
	return all
}
