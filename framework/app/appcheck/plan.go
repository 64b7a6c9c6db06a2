package appcheck

import (
	"fmt"
	"maps"
	"runtime"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// PlanOf is the plan of a cluster on this machine. Each of its nodes is a container that reports the machine's CPUs and memory as its own.
func PlanOf(spec clusters.Spec) Plan {
	spec = spec.WithDefaults()
	p := Plan{Kubernetes: spec.Kubernetes}
	if !semver.IsValid(p.Kubernetes) {
		p.Kubernetes = nodeimage.DefaultKubernetes
	}
	for i := range spec.ControlPlanes {
		p.add(clusters.ControlPlane, i, map[string]string{"node-role.kubernetes.io/control-plane": ""}, "node-role.kubernetes.io/control-plane")
	}
	workers := 0
	for _, zone := range spec.Zones {
		for range spec.WorkersPerZone {
			labels := map[string]string{clusters.LabelZone: zone}
			maps.Copy(labels, spec.Dealt(workers))
			p.add(clusters.Worker, workers, labels, "")
			workers++
		}
	}
	p.add(clusters.LoadNode, 0, nil, clusters.LabelRole)
	return p
}

// add adds a node. Its name, which its hostname follows, is not known yet.
func (p *Plan) add(role clusters.Role, n int, labels map[string]string, taint string) {
	name := fmt.Sprintf("%s-%d", role, n)
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		clusters.LabelRole: string(role), corev1.LabelHostname: name,
		corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH,
	}}}
	maps.Copy(node.Labels, labels)
	if taint != "" {
		node.Spec.Taints = []corev1.Taint{{Key: taint, Value: labels[taint], Effect: corev1.TaintEffectNoSchedule}}
		if role == clusters.LoadNode {
			node.Spec.Taints[0].Value = string(role)
		}
	}
	node.Status.Allocatable = capacity()
	p.Nodes = append(p.Nodes, node)
}
