package disturb

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/safety/capacity"
)

func TestRecreatable(t *testing.T) {
	web := func(w *world) Object {
		return Object{Kind: KindDeployment, Namespace: shop, Name: "web", UID: w.web().UID}
	}
	on := func(node string, change func(*corev1.Node)) func(*world) {
		return func(w *world) {
			for i := range w.Nodes {
				if w.Nodes[i].Name == node || node == "" {
					change(&w.Nodes[i])
				}
			}
		}
	}
	const drains = "drain delete-pod rollout scale node-kill"
	refuses(t, recreatable, map[string]try{
		"a policy does not admit it": {faults: drains, change: func(w *world) {
			w.Admitted[web(w)] = errors.New("exceeded quota: few, requested: pods=1")
		}, reason: "would not be admitted: exceeded quota", object: "Deployment shop/web"},
		"nobody asked":               {faults: drains, change: func(w *world) { delete(w.Admitted, web(w)) }, reason: "was not asked"},
		"nobody asked, for a cordon": {faults: "cordon", change: func(w *world) { delete(w.Admitted, web(w)) }},
		"no other node has the image": {faults: drains, change: func(w *world) {
			on("", func(n *corev1.Node) { n.Status.Images = nil })(w)
		}, reason: "it does not list image docker.io/shop/web:1"},
		"no other node has the image, and the registry is trusted": {faults: drains, change: func(w *world) {
			w.Limits.TrustRegistry = true
			on("", func(n *corev1.Node) { n.Status.Images = nil })(w)
		}},
		"pulled each time": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways })
		}, reason: "pulls its image each time"},
		"another name of the same image": {faults: drains, change: func(w *world) {
			on("", func(n *corev1.Node) {
				n.Status.Images = []corev1.ContainerImage{{Names: []string{"docker.io/library/nginx:latest"}}}
			})(w)
			w.each("web", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nginx" })
		}},
		"the other nodes are full": {faults: drains, change: func(w *world) {
			on("", func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("700m") })(w)
		}, reason: "it has 200m of cpu left, and 500m are requested"},
		"the other nodes have no place for a pod": {faults: drains, change: func(w *world) {
			on("", func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1") })(w)
		}, reason: "it has 0 of pods left"},
		"a resource that no other node has": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
			})
		}, reason: "of example.com/gpu left"},
		"pinned by a selector": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: p.Spec.NodeName} })
		}, reason: "which its node selector or node affinity excludes"},
		"one on each node, and no more nodes": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
					}},
				}}
			})
		}, reason: "against its anti-affinity over kubernetes.io/hostname"},
		"a volume of its node": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { claimed(w, p, p.Spec.NodeName) })
		}, reason: "cannot be used there"},
		"a volume of any node": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { claimed(w, p, "") })
		}},
		"a volume that could not be read": {faults: drains, change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { claimed(w, p, "") })
			w.Claims = nil
		}, reason: "where the volume of its claim data-web-1-0 can be used is not known"},
		"a neighbour of which nobody knows who makes it again": {faults: "drain", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			w.each("smtp", func(p *corev1.Pod) { p.OwnerReferences[0].Kind, p.OwnerReferences[0].UID = "Job", "job" })
		}, reason: "it is not known whether its controller, Job smtp-1, would make it again"},
		"together they do not fit": {faults: "drain node-kill", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			on("", func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1400m") })(w)
			w.each("smtp", func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("400m")
			})
			w.neighbourTo("w1", "w2", "w3") // each node has 500m left, and needs 900m and more
		}, reason: "no other node would take its replacement"},
		"it is the only worker": {faults: drains, change: func(w *world) {
			w.Nodes = w.Nodes[:2]
			w.each("web", func(p *corev1.Pod) { p.Spec.NodeName = "w1" })
			w.Limits.Pods = 3
			w.budget().Status.DisruptionsAllowed = 3
		}, reason: "whose taint node-role.kubernetes.io/control-plane", also: []int{10}},
		"not all pods could be read": {faults: drains, change: func(w *world) {
			w.Unread = append(w.Unread, Unread{Resource: "pods", Why: "forbidden"})
		}, reason: "pods could not be read: forbidden", also: []int{9, 10, 11, 13}},
	})
}

// neighbourTo gives the neighbour a second pod on each node.
func (w *world) neighbourTo(nodes ...string) {
	d := w.deploy("mail", "imap", nodes...)
	d.Status.ObservedGeneration = d.Generation
}

// claimed gives a pod a claim, whose volume can be used on one node only, or on every node.
func claimed(w *world, p *corev1.Pod, node string) {
	name := "data-" + p.Name
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	volume := corev1.PersistentVolume{}
	if node != "" {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	w.Claims[capacity.Claim{Namespace: p.Namespace, Name: name}] = volume
}

// A planted fault: the workload's own ReplicaSet has a template that is no longer admitted. Every tool that deletes a pod would do it, and the pod
// would never come back. The plan says so, and with the policy gone it goes.
func TestRecreatableStopsThePodThatNeverComesBack(t *testing.T) {
	w := newWorld("delete-pod")
	of := Object{Kind: KindDeployment, Namespace: shop, Name: "web", UID: w.web().UID}
	w.Admitted[of] = errors.New(`admission webhook "signed.example.com" denied the request`)
	if p := w.plan(); len(p.Steps) != 1 || p.Goes(p.Steps[0]) || p.Steps[0].Refusals[0].Rule != recreatable.Number {
		t.Errorf("planned %+v", p.Steps)
	}
	w.Admitted[of] = nil
	if p := w.plan(); p.Refused() {
		t.Errorf("refused %+v", p.refusals())
	}
}
