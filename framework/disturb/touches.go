package disturb

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/disturb/catalogue"
)

// CordonMark is the annotation of a node that holdfast has cordoned, which is set with the same request: a node that was cordoned by
// somebody else is never uncordoned.
const CordonMark = "holdfast.dev/cordoned"

// evict is the eviction of a pod. The request names the pod's UID, so that no other pod of the same name is taken.
func evict(p corev1.Pod) Touch {
	return Touch{
		Object: objectOf(p), Verb: "create", Resource: "pods", Subresource: "eviction",
		Does:  "evict, if its budget allows it",
		Undo:  "none: its controller makes another pod",
		Needs: []string{"create pods/eviction in namespace " + p.Namespace},
	}
}

// cordon is the cordoning of a node.
func cordon(n *corev1.Node) Touch {
	return Touch{
		Object: nodeObject(n), Verb: "patch", Resource: "nodes",
		Does:  "cordon, and annotate with " + CordonMark,
		Field: "spec.unschedulable", Before: strconv.FormatBool(n.Spec.Unschedulable), Ours: []string{"true"},
		Undo:  "uncordon, if it still has our annotation",
		Needs: []string{"patch nodes"},
	}
}

// edit is the change of a workload's spec.
func (v *view) edit(s Step) Touch {
	w := s.target
	t := Touch{Object: w.Object, Verb: "patch", Group: catalogue.Apps, Resource: resources[w.Kind], Field: s.fault.Edits}
	switch s.fault.Name {
	case catalogue.Scale.Name:
		t.Subresource = "scale"
		t.Does, t.Before = "scale", strconv.Itoa(w.replicas)
		for _, n := range ScaleThrough(w.replicas) {
			t.Ours = append(t.Ours, strconv.Itoa(n))
		}
		t.Undo = fmt.Sprintf("scale to %d, if it still has a number of ours", w.replicas)
	default:
		t.Does, t.Ours = "restart its pods by a rolling update", []string{"the time of the restart"}
		t.Before = w.template.Annotations[catalogue.RestartedAt]
		t.Undo = "set back, if it is still ours: a rolling update to the former template"
	}
	for _, right := range s.fault.Inject {
		if right.Resource == t.Resource {
			t.Needs = append(t.Needs, Permission{Namespace: w.Namespace, Right: right}.String())
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

// owned are the objects that holdfast creates for itself.
func owned(home string) []Own {
	why := map[string]string{
		"leases": "one run at a time, and the sign that the run is alive", "configmaps": "the journal of changes, from which a healer undoes them",
		"jobs": "load workers and the healer", "pods": "to ask the load workers, through the API server",
	}
	var all []Own
	for _, r := range catalogue.Owning() {
		if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			all = append(all, Own{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: home, For: why[r.Resource]})
		}
	}
	return all
}
