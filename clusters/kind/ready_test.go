package kind

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

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

func TestLacking(t *testing.T) {
	cp, w1, load := planned[0], planned[1], planned[2]
	for _, tt := range []struct {
		name  string
		nodes []corev1.Node
		want  []string
	}{
		{"all ready", []corev1.Node{nodeFor(load, nil), nodeFor(cp, nil), nodeFor(w1, nil)}, nil},
		{"one of three registered", []corev1.Node{nodeFor(cp, nil)}, []string{
			"node w1: not registered", "node load: not registered",
		}},
		{"no network yet", []corev1.Node{
			nodeFor(cp, nil), nodeFor(load, nil),
			nodeFor(w1, setReady(corev1.ConditionFalse, "cni config uninitialized\nand more")),
		}, []string{"node w1: Ready=False (cni config uninitialized)"}},
		{"unknown without a message", []corev1.Node{
			nodeFor(cp, setReady(corev1.ConditionUnknown, "")), nodeFor(load, nil), nodeFor(w1, nil),
		}, []string{"node cp: Ready=Unknown"}},
		{"nothing reported", []corev1.Node{
			nodeFor(cp, func(n *corev1.Node) { n.Status.Conditions = nil }), nodeFor(load, nil), nodeFor(w1, nil),
		}, []string{"node cp: Ready never reported"}},
		{"labels and pod addresses", []corev1.Node{
			nodeFor(cp, nil), nodeFor(load, func(n *corev1.Node) { n.Spec.PodCIDR = "" }),
			nodeFor(w1, func(n *corev1.Node) { n.Labels = nil }),
		}, []string{
			`node w1: label holdfast.dev/role is "", not "worker"`,
			`node w1: label topology.kubernetes.io/zone is "", not "a"`,
			"node load: no podCIDR assigned",
		}},
		{"the load node in a zone", []corev1.Node{
			nodeFor(cp, nil), nodeFor(w1, nil),
			nodeFor(load, func(n *corev1.Node) { n.Labels[clusters.LabelZone] = "a" }),
		}, []string{`node load: label topology.kubernetes.io/zone is "a", not ""`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lacking(planned, tt.nodes)); diff != "" {
				t.Errorf("lacking (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotBack(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before := pulse{lease: noon, ready: noon}
	after := pulse{lease: noon.Add(3 * time.Second), ready: noon.Add(2 * time.Second)}
	for _, tt := range []struct {
		name        string
		node        corev1.Node
		before, now pulse
		want        []string
	}{
		{"back", nodeFor(planned[1], nil), before, after, nil},
		{"Ready is stale", nodeFor(planned[1], nil), before, pulse{lease: after.lease, ready: noon}, []string{"Ready=True is from before the start"}},
		{"lease is stale", nodeFor(planned[1], nil), before, pulse{lease: noon, ready: after.ready}, []string{"its lease was not renewed since the start"}},
		{"not ready", nodeFor(planned[1], setReady(corev1.ConditionFalse, "starting")), before, after, []string{"Ready=False (starting)"}},
		{"nothing known from before", nodeFor(planned[1], nil), pulse{}, after, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, notBack(planned[1], tt.node, tt.before, tt.now)); diff != "" {
				t.Errorf("notBack (-want +got):\n%s", diff)
			}
		})
	}
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

func TestPodsLacking(t *testing.T) {
	pods := []corev1.Pod{
		podOn("cp", "a", "10.244.0.2", nil), podOn("w1", "b", "10.244.1.2", unready), podOn("load", "c", "10.244.2.2", leaving),
	}
	want := []string{"node w1: its witness pod does not run", "node load: its witness pod does not run"}
	if diff := cmp.Diff(want, podsLacking(planned, pods)); diff != "" {
		t.Errorf("podsLacking (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.244.0.2"}, addresses(pods)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

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

// With several control planes each runs at most one CoreDNS pod: losing one control plane must not mean losing all DNS.
func TestDNSIsNotAllOnOneOfSeveral(t *testing.T) {
	several := members("x", clusters.Spec{ControlPlanes: 3, Zones: []string{"a"}, WorkersPerZone: 1})
	first, second := several[0].name, several[1].name
	for _, tt := range []struct {
		name string
		pods []corev1.Pod
		want []string
	}{
		{"apart", []corev1.Pod{podOn(first, "d1", "1", nil), podOn(second, "d2", "2", nil)}, nil},
		{"an old one leaves", []corev1.Pod{podOn(first, "d1", "1", nil), podOn(first, "d2", "2", leaving)}, nil},
		{"as kubeadm leaves them", []corev1.Pod{podOn(first, "d1", "1", nil), podOn(first, "d2", "2", nil)},
			[]string{"DNS: more than one CoreDNS pod is on " + first + ", though there are other control planes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, dnsLacking(several, tt.pods)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			client := fake.NewClientset(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: dnsDeployment, Namespace: systemNamespace}})
			if err := pinDNS(t.Context(), client, several, tt.pods); err != nil {
				t.Fatal(err)
			}
			dns, err := client.AppsV1().Deployments(systemNamespace).Get(t.Context(), dnsDeployment, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if spread := len(dns.Spec.Template.Spec.TopologySpreadConstraints) == 1; spread != (tt.want != nil) {
				t.Errorf("CoreDNS: %+v", dns.Spec.Template.Spec)
			}
		})
	}
}

func TestPauseImage(t *testing.T) {
	with := func(names ...string) corev1.Node {
		return corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: names}}}}
	}
	for _, tt := range []struct {
		nodes []corev1.Node
		want  string
	}{
		{[]corev1.Node{with("registry.k8s.io/kube-proxy:v1.37.0"), with("registry.k8s.io/pause@sha256:0", "registry.k8s.io/pause:3.10.2")}, "registry.k8s.io/pause:3.10.2"},
		{[]corev1.Node{with("registry.k8s.io/not-pause:1")}, ""},
		{nil, ""},
	} {
		if got := pauseImage(tt.nodes); got != tt.want {
			t.Errorf("pauseImage(%v) = %q, want %q", tt.nodes, got, tt.want)
		}
	}
}
