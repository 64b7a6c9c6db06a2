package kind

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

var planned = []member{
	{name: "cp", role: clusters.ControlPlane},
	{name: "w1", role: clusters.Worker, zone: "a"},
	{name: "load", role: clusters.LoadNode},
}

// nodeFor is a healthy node, modified by change.
func nodeFor(m member, change func(*corev1.Node)) corev1.Node {
	node := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Labels: map[string]string{clusters.LabelRole: string(m.role)}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.244.1.0/24"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}
	if m.zone != "" {
		node.Labels[clusters.LabelZone] = m.zone
	}
	if change != nil {
		change(&node)
	}
	return node
}

func setReady(status corev1.ConditionStatus, message string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[1].Status, n.Status.Conditions[1].Message = status, message }
}

// podOn is a ready pod.
func podOn(node, name, ip string, change func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: systemNamespace},
		Spec:       corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if change != nil {
		change(&pod)
	}
	return pod
}

func unready(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil }
func leaving(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func TestDNSLacking(t *testing.T) {
	for _, tt := range []struct {
		name string
		pods []corev1.Pod
		want []string
	}{
		{"both ready", []corev1.Pod{podOn("cp", "d1", "1", nil), podOn("cp", "d2", "2", nil)}, nil},
		{"an old one leaves a worker", []corev1.Pod{podOn("cp", "d1", "1", nil), podOn("w1", "d2", "2", leaving)}, nil},
		{"one starts", []corev1.Pod{podOn("cp", "d1", "1", nil), podOn("cp", "d2", "", unready)}, []string{"DNS: d2 is not ready (Pending)"}},
		{"one under test", []corev1.Pod{podOn("cp", "d1", "1", nil), podOn("w1", "d2", "2", nil)}, []string{"DNS: d2 is on w1, not on a control plane"}},
		{"none", nil, []string{"DNS: no CoreDNS pod"}},
		{"all leave", []corev1.Pod{podOn("cp", "d1", "1", leaving)}, []string{"DNS: no CoreDNS pod"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, dnsLacking(planned, tt.pods)); diff != "" {
				t.Errorf("dnsLacking (-want +got):\n%s", diff)
			}
		})
	}
}
