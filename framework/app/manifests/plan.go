package manifests

import (
	"fmt"
	"maps"
	"runtime"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// Plan is what is known of a cluster before it exists.
type Plan struct {
	Nodes      []corev1.Node
	Kubernetes string // "v1.37.1"
	// Existing says that the cluster is there already, and may have more than holdfast creates: kinds, classes, drivers.
	Existing bool
	// Asked are the Services to which requests are sent, as NAMESPACE/NAME, and how.
	Asked map[string]Way
}

// Way is how a Service is asked, or several ways.
type Way int

// The ways.
const (
	AtEntry     Way = 1 << iota // through the address of a front, or by the DNS of a headless Service
	AtClusterIP                 // as pods ask it
	AtNodePorts                 // as clients outside of the cluster do
	AtBalancer                  // at the address of a load balancer
)

// PlanOf is the plan of a cluster on this machine. The names of its nodes, which their hostnames follow, are not known yet.
func PlanOf(spec clusters.Spec) Plan {
	spec = spec.WithDefaults()
	p := Plan{Kubernetes: spec.Kubernetes}
	if !semver.IsValid(p.Kubernetes) {
		p.Kubernetes = nodeimage.DefaultKubernetes
	}
	add := func(role clusters.Role, labels map[string]string, taints ...corev1.Taint) {
		node := corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
		node.Labels = map[string]string{
			clusters.LabelRole: string(role), corev1.LabelHostname: fmt.Sprintf("%s-%d", role, len(p.Nodes)),
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH,
		}
		maps.Copy(node.Labels, labels)
		p.Nodes = append(p.Nodes, node)
	}
	const controlPlane = "node-role.kubernetes.io/control-plane"
	for range spec.ControlPlanes {
		add(clusters.ControlPlane, map[string]string{controlPlane: ""}, corev1.Taint{Key: controlPlane, Effect: corev1.TaintEffectNoSchedule})
	}
	for i := range len(spec.Zones) * spec.WorkersPerZone {
		labels := map[string]string{clusters.LabelZone: spec.Zones[i/spec.WorkersPerZone]}
		maps.Copy(labels, spec.Dealt(i))
		add(clusters.Worker, labels)
	}
	add(clusters.LoadNode, nil, corev1.Taint{Key: clusters.LabelRole, Value: string(clusters.LoadNode), Effect: corev1.TaintEffectNoSchedule})
	return p
}
