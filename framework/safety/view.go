package disturb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// view is a Snapshot with indexes.
type view struct {
	*Snapshot
	workloads  []*Workload // by namespace and name
	byUID      map[types.UID]*Workload
	nodes      map[string]*corev1.Node
	namespaces map[string]*corev1.Namespace
	deployment map[types.UID]types.UID // of a ReplicaSet
}

func newView(s *Snapshot) *view {
	v := &view{
		Snapshot: s, byUID: map[types.UID]*Workload{}, nodes: map[string]*corev1.Node{}, namespaces: map[string]*corev1.Namespace{},
		deployment: map[types.UID]types.UID{},
	}
	for i := range s.Nodes {
		v.nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	for i := range s.Namespaces {
		v.namespaces[s.Namespaces[i].Name] = &s.Namespaces[i]
	}
	for _, r := range s.ReplicaSets {
		if owner := metav1.GetControllerOf(&r); owner != nil && owner.Kind == KindDeployment {
			v.deployment[r.UID] = owner.UID
		}
	}
	for _, d := range s.Deployments {
		v.add(ofDeployment(d))
	}
	for _, one := range s.StatefulSets {
		v.add(ofStatefulSet(one))
	}
	for _, p := range s.Pods {
		if w := v.ownerOf(p); w != nil && !Ended(p) {
			w.pods = append(w.pods, p)
		}
	}
	for _, w := range v.workloads {
		slices.SortFunc(w.pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(v.workloads, func(a, b *Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return v
}

func (v *view) add(w *Workload) {
	v.workloads = append(v.workloads, w)
	v.byUID[w.UID] = w
}

// ownerOf is the Deployment or the StatefulSet whose controller made a pod; nil: neither did, or it could not be read.
func (v *view) ownerOf(p corev1.Pod) *Workload {
	owner := metav1.GetControllerOf(&p)
	if owner == nil {
		return nil
	}
	uid := owner.UID
	if of, is := v.deployment[uid]; is {
		uid = of
	}
	if w := v.byUID[uid]; w != nil && w.Namespace == p.Namespace { // who may create pods elsewhere may name any controller
		return w
	}
	return nil
}

// on are the pods on a node that a drain would evict: those that have not ended, are not going already, and belong neither to a DaemonSet
// nor to the kubelet itself.
func (v *view) on(node string) []corev1.Pod {
	pods := slices.DeleteFunc(slices.Clone(v.Pods), func(p corev1.Pod) bool {
		return p.Spec.NodeName != node || p.DeletionTimestamp != nil || Ended(p) || stays(p)
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// stays reports whether a drain leaves a pod where it is.
func stays(p corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOf(&p)
	return owner != nil && owner.Kind == "DaemonSet"
}

func objectOf(p corev1.Pod) Object {
	return Object{Kind: KindPod, Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

func nodeObject(n *corev1.Node) Object { return Object{Kind: KindNode, Name: n.Name, UID: n.UID} }

// unread says why a resource could not be read in a namespace; empty: it was.
func (v *view) unread(resource, namespace string) (why string) {
	for _, u := range v.Unread {
		if u.Resource == resource && (u.Namespace == "" || u.Namespace == namespace) {
			return u.Why
		}
	}
	return ""
}

// runs says what else runs in the cluster: pods by namespace, the most first.
func (v *view) runs(home string) (lines []string) {
	count, order := map[string]int{}, []string(nil)
	for _, p := range v.Pods {
		if Ended(p) || p.Namespace == home {
			continue
		}
		if count[p.Namespace] == 0 {
			order = append(order, p.Namespace)
		}
		count[p.Namespace]++
	}
	slices.SortFunc(order, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	for _, n := range order {
		lines = append(lines, fmt.Sprintf("%d pods in %s", count[n], n))
	}
	if v.Holder != "" {
		lines = append(lines, "holdfast: "+v.Holder)
	}
	if v.NodeScaling != "" {
		lines = append(lines, "cluster autoscaler: "+v.NodeScaling)
	}
	return lines
}
