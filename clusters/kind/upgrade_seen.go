package kind

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// controlPlanePods are the static pods that kubeadm upgrades on each control plane.
var controlPlanePods = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}

// controlPlaneLacks lists the pods of a control plane that do not run the release's image or are not ready. kubeadm waits only
// until a pod has changed, not until the pod is ready.
func (n *Node) controlPlaneLacks(ctx context.Context, to clusters.Release) (missing []string) {
	for _, name := range controlPlanePods {
		pod, err := n.cluster.client.CoreV1().Pods(systemNamespace).Get(ctx, name+"-"+n.name, metav1.GetOptions{})
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		for _, c := range pod.Spec.Containers {
			if _, wanted := to.Images[c.Image]; !wanted {
				missing = append(missing, fmt.Sprintf("%s runs %s", pod.Name, c.Image))
			}
		}
		if !isReady(*pod) {
			missing = append(missing, fmt.Sprintf("%s is not ready (%s)", pod.Name, pod.Status.Phase))
		}
	}
	return append(missing, n.addonsLack(ctx, to)...)
}

// addonsLack describes what is missing until CoreDNS, and kube-proxy on every node, run the release's image.
func (n *Node) addonsLack(ctx context.Context, to clusters.Release) (missing []string) {
	for selector, want := range map[string]int{dnsSelector: 1, proxySelector: len(n.cluster.nodes)} {
		list, err := n.cluster.client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return append(missing, err.Error())
		}
		if selector == dnsSelector { // kubeadm overwrites the Deployment, which allows CoreDNS to move to a node that a fault may hit
			planned := members(n.cluster.name, n.cluster.record.Spec)
			if err := pinDNS(ctx, n.cluster.client, planned, list.Items); err != nil {
				return append(missing, err.Error())
			}
			missing = append(missing, dnsLacking(planned, list.Items)...)
		}
		var there int
		for _, pod := range list.Items {
			if ofRelease(pod, to) && isReady(pod) {
				there++
			}
		}
		if there < want {
			missing = append(missing, fmt.Sprintf("%d of %d pods with %s are ready at %s", there, want, selector, to.Kubernetes))
		}
	}
	return missing
}

// proxySelector selects the kube-proxy pods by kubeadm's label.
const proxySelector = "k8s-app=kube-proxy"

func ofRelease(pod corev1.Pod, to clusters.Release) bool {
	for _, c := range pod.Spec.Containers {
		if _, of := to.Images[c.Image]; !of {
			return false
		}
	}
	return true
}

// kubeletLacks returns a message unless the node's kubelet reports the version of the release.
func (n *Node) kubeletLacks(ctx context.Context, to clusters.Release) []string {
	node, err := n.cluster.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return []string{fmt.Sprintf("ask the API server for node %s: %v", n.name, err)}
	}
	if got := strings.TrimSpace(node.Status.NodeInfo.KubeletVersion); got != to.Kubernetes {
		return []string{fmt.Sprintf("the kubelet of %s reports version %s, not %s", n.name, got, to.Kubernetes)}
	}
	return nil
}
