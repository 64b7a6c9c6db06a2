package kind

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// The functions of this file evaluate data from the API server. None of them makes a request.

// lacking describes what prevents the planned nodes from being ready, node by node. It is empty if all are ready.
func lacking(planned []member, nodes []corev1.Node) []string {
	var missing []string
	for _, m := range planned {
		at := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == m.name })
		if at < 0 {
			missing = append(missing, "node "+m.name+": not registered")
			continue
		}
		for _, what := range nodeLacks(m, nodes[at]) {
			missing = append(missing, "node "+m.name+": "+what)
		}
	}
	return missing
}

func nodeLacks(m member, node corev1.Node) []string {
	var missing []string
	labels := map[string]string{clusters.LabelRole: string(m.role), clusters.LabelZone: m.zone}
	if m.unlabelled {
		delete(labels, clusters.LabelRole)
	}
	for key, want := range labels {
		if got := node.Labels[key]; got != want {
			missing = append(missing, fmt.Sprintf("label %s is %q, not %q", key, got, want))
		}
	}
	slices.Sort(missing)
	if ready := condition(node, corev1.NodeReady); ready.Status != corev1.ConditionTrue {
		missing = append(missing, describe(ready))
	}
	if node.Spec.PodCIDR == "" {
		missing = append(missing, "no podCIDR assigned")
	}
	return missing
}

// condition is a node's condition of a type, or the zero value if the node does not have it.
func condition(node corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// describe is "Ready=False (the reason)".
func describe(c corev1.NodeCondition) string {
	status := string(c.Status)
	if status == "" {
		return "Ready never reported"
	}
	if c.Message == "" {
		return "Ready=" + status
	}
	message, _, _ := strings.Cut(c.Message, "\n")
	return fmt.Sprintf("Ready=%s (%s)", status, message)
}

// pulse is when a kubelet last reported, by its own clock: the renewal of its lease, and the heartbeat of its Ready condition.
type pulse struct{ lease, ready time.Time }

// notBack describes what prevents a node from being back after an outage. before is its pulse from before the outage. An old
// Ready=True proves nothing, because the API server keeps it during the whole grace period: the kubelet must have reported
// since.
func notBack(m member, node corev1.Node, before, now pulse) []string {
	if missing := nodeLacks(m, node); len(missing) > 0 {
		return missing
	}
	if now.ready.Equal(before.ready) {
		return []string{"Ready=True is from before the start"}
	}
	if now.lease.Equal(before.lease) {
		return []string{"its lease was not renewed since the start"}
	}
	return nil
}

// podsLacking lists the nodes without a ready pod among pods, which belong to one DaemonSet.
func podsLacking(planned []member, pods []corev1.Pod) []string {
	running := map[string]bool{}
	for _, pod := range pods {
		if isReady(pod) {
			running[pod.Spec.NodeName] = true
		}
	}
	var missing []string
	for _, m := range planned {
		if !running[m.name] {
			missing = append(missing, "node "+m.name+": its witness pod does not run")
		}
	}
	return missing
}

// dnsLacking describes what prevents CoreDNS from being ready on the control planes, according to the API server.
func dnsLacking(planned []member, pods []corev1.Pod) []string {
	var ready int
	var missing []string
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil: // being deleted
		case isMisplaced(planned, pod):
			missing = append(missing, fmt.Sprintf("DNS: %s is on %s, not on a control plane", pod.Name, pod.Spec.NodeName))
		case isReady(pod):
			ready++
		default:
			missing = append(missing, fmt.Sprintf("DNS: %s is not ready (%s)", pod.Name, pod.Status.Phase))
		}
	}
	if ready == 0 && len(missing) == 0 {
		missing = append(missing, "DNS: no CoreDNS pod")
	}
	if node := crowded(planned, pods); node != "" {
		missing = append(missing, fmt.Sprintf("DNS: more than one CoreDNS pod is on %s, though there are other control planes", node))
	}
	return missing
}

// crowded is a node with more than one CoreDNS pod in a cluster with several control planes. It is empty if there is none.
func crowded(planned []member, pods []corev1.Pod) string {
	if controlPlanes(planned) < 2 {
		return ""
	}
	on := map[string]bool{}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" {
			continue
		}
		if on[pod.Spec.NodeName] {
			return pod.Spec.NodeName
		}
		on[pod.Spec.NodeName] = true
	}
	return ""
}

func controlPlanes(planned []member) (n int) {
	for _, m := range planned {
		if m.role == clusters.ControlPlane {
			n++
		}
	}
	return n
}

// isMisplaced reports whether a CoreDNS pod is on a node that a fault may hit. The loss of DNS would then be blamed on the
// workload.
func isMisplaced(planned []member, pod corev1.Pod) bool {
	return slices.ContainsFunc(planned, func(m member) bool {
		return m.name == pod.Spec.NodeName && m.role != clusters.ControlPlane
	})
}

func isReady(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.PodIP != "" &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// addresses are the addresses of the ready pods.
func addresses(pods []corev1.Pod) []string {
	var ips []string
	for _, pod := range pods {
		if isReady(pod) {
			ips = append(ips, pod.Status.PodIP)
		}
	}
	slices.Sort(ips)
	return ips
}
