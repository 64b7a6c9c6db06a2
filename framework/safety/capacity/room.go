// Package capacity estimates which nodes would take a pod: by what is requested of them, by the scheduler's hard rules, by the pod's volumes and
// by the images that a node has.
//
// It is an estimate: the scheduler has more rules, and what is left out here (device plugins, dynamic resources, the number of attached
// volumes) can only be seen by trying. It reads no cluster.
package capacity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/placement"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// Claim names a PersistentVolumeClaim.
type Claim struct{ Namespace, Name string }

// Cluster is what has to be known of a cluster.
type Cluster struct {
	Nodes  []corev1.Node
	Pods   []corev1.Pod // of all namespaces
	Claims map[Claim]corev1.PersistentVolume
}

// Way is how pods are replaced. The zero value: each leaves by itself before its replacement comes, as an evicted pod does.
type Way struct {
	// Together are the pods that leave at the same time, such as those of a drained node.
	Together []corev1.Pod
	// Stays: a pod leaves after its replacement has come, as in a rolling update that may make no pod unavailable.
	Stays bool
	// Renewed: a replacement is of a new revision, as in a rolling update.
	Renewed bool
}

// Room is what the nodes have left, and where the scheduler's rules let a pod go.
type Room struct {
	cluster Cluster
	way     Way
	left    map[string]corev1.ResourceList // by node
	ledgers map[string]*placement.Ledger   // by namespace, and by the pod that leaves
}

// New is the room of a cluster whose pods are replaced in some way.
func New(c Cluster, way Way) *Room {
	r := &Room{cluster: c, way: way, left: map[string]corev1.ResourceList{}, ledgers: map[string]*placement.Ledger{}}
	for _, n := range c.Nodes {
		r.left[n.Name] = n.Status.Allocatable.DeepCopy()
	}
	for _, p := range c.Pods {
		if p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			r.Take(p, p.Spec.NodeName)
		}
	}
	return r
}

// Take takes the requests of a pod from what a node has left.
func (r *Room) Take(p corev1.Pod, node string) {
	left := r.left[node]
	for name, quantity := range requests(p) {
		if has, is := left[name]; is {
			has.Sub(quantity)
			left[name] = has
		}
	}
}

// requests are the requests of a pod, and the place that it takes itself.
func requests(p corev1.Pod) corev1.ResourceList {
	all := podresource.PodRequests(&p, podresource.PodResourcesOptions{})
	if all == nil {
		all = corev1.ResourceList{}
	}
	all[corev1.ResourcePods] = *apiresource.NewQuantity(1, apiresource.DecimalSI)
	return all
}

// Refused says why a node would not take a replacement of a pod; empty: it would.
func (r *Room) Refused(p corev1.Pod, n *corev1.Node) string {
	for name, quantity := range requests(p) {
		if quantity.IsZero() {
			continue
		}
		left, has := r.left[n.Name][name]
		if has && n.Name == p.Spec.NodeName && r.alone() { // what it leaves behind is free
			left = left.DeepCopy()
			left.Add(quantity)
		}
		if !has || left.Cmp(quantity) < 0 {
			return fmt.Sprintf("it has %s of %s left, and %s are requested", left.String(), name, quantity.String())
		}
	}
	if why := r.volumes(p, n); why != "" {
		return why
	}
	return r.legal(p, n)
}

// volumes says why a pod's volumes keep it from a node; empty: they do not.
func (r *Room) volumes(p corev1.Pod, n *corev1.Node) string {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		volume, known := r.cluster.Claims[Claim{Namespace: p.Namespace, Name: v.PersistentVolumeClaim.ClaimName}]
		if !known {
			return "where the volume of its claim " + v.PersistentVolumeClaim.ClaimName + " can be used is not known"
		}
		if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
			continue
		}
		selector, err := nodeaffinity.NewNodeSelector(volume.Spec.NodeAffinity.Required)
		if err != nil || !selector.Match(n) {
			return "the volume of its claim " + v.PersistentVolumeClaim.ClaimName + " cannot be used there"
		}
	}
	return ""
}

// legal says which of the scheduler's rules about nodes and other pods keeps a replacement of a pod from a node; empty: none does.
func (r *Room) legal(p corev1.Pod, n *corev1.Node) string {
	made := p.DeepCopy()
	made.UID, made.Spec.NodeName, made.DeletionTimestamp = "made", n.Name, nil
	if r.way.Renewed {
		renew(made)
	}
	v, known, err := r.ledgerWithout(p).Would(*observe.ListedPod(made).Pod)
	switch {
	case err != nil:
		return "its scheduling rules cannot be weighed: " + err.Error()
	case !known:
		return "it is not known"
	case v.Broken != evidence.No:
		return "it is a node " + v.Words
	}
	return ""
}

// alone reports whether each pod leaves by itself before its replacement comes.
func (r *Room) alone() bool { return len(r.way.Together) == 0 && !r.way.Stays }

// ledgerWithout has the pods of a pod's namespace that stay.
func (r *Room) ledgerWithout(p corev1.Pod) *placement.Ledger {
	key, leaving := p.Namespace, r.way.Together
	if r.alone() {
		key, leaving = key+"/"+p.Name, []corev1.Pod{p}
	}
	if l := r.ledgers[key]; l != nil {
		return l
	}
	var run history.Run
	for i := range r.cluster.Nodes {
		run.Events = append(run.Events, observe.ListedNode(&r.cluster.Nodes[i]))
	}
	for i := range r.cluster.Pods {
		other := &r.cluster.Pods[i]
		leaves := slices.ContainsFunc(leaving, func(v corev1.Pod) bool { return v.UID == other.UID })
		if other.Namespace == p.Namespace && !leaves {
			run.Events = append(run.Events, observe.ListedPod(other))
		}
	}
	l := placement.NewLedger(run)
	r.ledgers[key] = l
	return l
}
