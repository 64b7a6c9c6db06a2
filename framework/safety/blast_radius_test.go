package disturb

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestBlastRadius(t *testing.T) {
	unbudgeted := func(w *world) { w.Budgets = nil }
	two := func(w *world) { // pods on each of two nodes
		w.each("web", func(p *corev1.Pod) {
			p.Spec.NodeName = map[string]string{"web-1-0": "w1", "web-1-1": "w1", "web-1-2": "w2"}[p.Name]
		})
		more := w.Pods[2].DeepCopy()
		more.Name, more.UID, more.Spec.NodeName = "web-1-3", "pod-4", "w2"
		w.Pods = append(w.Pods, *more)
		four := int32(4)
		w.web().Spec.Replicas = &four
		w.web().Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 4, ReadyReplicas: 4, AvailableReplicas: 4}
	}
	only := func(w *world) { // one replica
		w.Pods = w.Pods[:1]
		one := int32(1)
		w.web().Spec.Replicas = &one
		w.web().Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	}
	refuses(t, blastRadius, map[string]try{
		"two on the node, and no budget":                           {faults: "drain", change: func(w *world) { unbudgeted(w); two(w) }, reason: "2 of its pods would be away at a time, and the file allows 1"},
		"two on the node, and a budget that makes them take turns": {faults: "drain", change: two},
		"two on the node that a command takes away":                {faults: "node-kill", change: two, reason: "2 of its pods would be away at a time, and its budget allows 1", also: nil},
		"two on the node, and the file allows two": {faults: "drain node-kill", change: func(w *world) {
			unbudgeted(w)
			two(w)
			w.Limits.Pods = 2
		}},
		"a budget that allows more than the file": {faults: "drain", change: func(w *world) { two(w); w.budget().Status.DisruptionsAllowed = 2 }, reason: "2 of its pods would be away at a time, and the file allows 1"},
		"the last one": {faults: "drain delete-pod node-kill", change: func(w *world) { unbudgeted(w); only(w) }, reason: "it has 1 ready, and 1 would be away at a time: none would be left"},
		"the last one that is ready": {faults: "drain delete-pod node-kill", change: func(w *world) {
			w.Pods[1].Status.Conditions, w.Pods[2].Status.Conditions = nil, nil
		}, reason: "it has 1 ready", also: []int{13}},
		"all at once, by Recreate": {faults: "rollout", change: func(w *world) {
			w.web().Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		}, reason: "3 of its pods would be away at a time, and the file allows 1"},
		"many at once, by maxUnavailable": {faults: "rollout", change: func(w *world) {
			half := intstr.FromString("70%")
			w.web().Spec.Strategy.RollingUpdate.MaxUnavailable = &half
		}, reason: "2 of its pods would be away at a time, and the file allows 1"},
		"the only one, replaced before it goes": {faults: "rollout", change: func(w *world) {
			only(w)
			none := intstr.FromInt32(0)
			w.web().Spec.Strategy.RollingUpdate.MaxUnavailable = &none
		}},
		"a control plane by its label": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels["node-role.kubernetes.io/control-plane"] = ""
			}
		}, reason: "it is a node of the control plane"},
		"a control plane of RKE1": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels["node-role.kubernetes.io/controlplane"] = "true"
			}
		}, reason: "it is a node of the control plane"},
		"a control plane of MicroK8s": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels["node.kubernetes.io/microk8s-controlplane"] = "microk8s-controlplane"
			}
		}, reason: "it is a node of the control plane"},
		"a control plane of k0s": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels["node.k0sproject.io/role"] = "control-plane"
			}
		}, reason: "it is a node of the control plane"},
		"a worker of k0s": {faults: "drain cordon", change: func(w *world) {
			for i := range w.Nodes {
				w.Nodes[i].Labels["node.k0sproject.io/role"] = "worker"
			}
		}},
		"a control plane by the address of the API server": {faults: "drain cordon", change: func(w *world) {
			w.Cluster.Server = "https://10.0.0.9:6443"
			for i := range w.Nodes {
				w.Nodes[i].Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: w.Nodes[i].Name}, {Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}
			}
		}, reason: "it is a node of the control plane"},
		"a pod of another namespace that claims to be one": {faults: "delete-pod", change: func(w *world) {
			unbudgeted(w)
			only(w)
			forged := w.Pods[0].DeepCopy()
			forged.Namespace, forged.Name, forged.UID = "mallory", "a-0", "forged"
			w.Pods = append(w.Pods, *forged)
		}, reason: "it has 1 ready, and 1 would be away at a time: none would be left"},
		"a control plane by what runs on it": {faults: "drain cordon", change: func(w *world) {
			for _, n := range []string{"w1", "w2", "w3"} {
				p := pod("kube-system", "kube-apiserver-"+n, n, w.web().Spec.Template, nil)
				p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
				w.Pods = append(w.Pods, p)
			}
		}, reason: "it is a node of the control plane"},
		"a pod of kube-system on each node, though it is listed and allowed": {faults: "drain", change: func(w *world) {
			w.Limits.Neighbours = append(w.Limits.Neighbours, "kube-system")
			w.Namespaces = append(w.Namespaces, corev1.Namespace{ObjectMeta: w.Namespaces[0].ObjectMeta})
			w.Namespaces[2].Name = "kube-system"
			w.deploy("kube-system", "dns", "w1", "w2", "w3")
			w.allow()
		}, reason: "its namespace is Kubernetes' own"},
		"a workload of kube-system": {faults: "delete-pod rollout", change: func(w *world) {
			w.Namespaces[0].Name, w.Namespace = "kube-system", "kube-system"
			d := w.deploy("kube-system", "dns", "w1", "w2", "w3")
			w.Workloads = []Object{{Kind: d.Kind, Name: "dns"}}
			w.Workloads[0].Kind = KindDeployment
			w.allow()
		}, reason: "its namespace is Kubernetes' own"},
		"a workload of holdfast's": {faults: "delete-pod", change: func(w *world) {
			w.Namespaces[0].Name, w.Namespace = "holdfast", "holdfast"
			w.deploy("holdfast", "dns", "w1", "w2", "w3")
			w.Workloads = []Object{{Kind: KindDeployment, Name: "dns"}}
			w.allow()
		}, reason: "its namespace is holdfast's own"},
		"the budgets could not be read": {faults: "delete-pod", change: func(w *world) {
			w.Unread = append(w.Unread, Unread{Resource: "poddisruptionbudgets", Namespace: shop, Why: "forbidden"})
		}, reason: "poddisruptionbudgets could not be read", also: []int{13}},
	})
}

// Scaling never ends the last pod, and no step ends more than one.
func TestScaleThrough(t *testing.T) {
	for replicas := 0; replicas < 20; replicas++ {
		have := replicas
		for _, n := range ScaleThrough(replicas) {
			if n < 1 && replicas > 0 || have-n > 1 {
				t.Errorf("from %d: %v", replicas, ScaleThrough(replicas))
			}
			have = n
		}
	}
}
