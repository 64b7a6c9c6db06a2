package existing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Fact is something that was found out about a cluster.
type Fact struct {
	Name string
	// Is is what was found. Empty: not known.
	Is string
	// Why is why nothing is known, or what a reader must know of the fact.
	Why string
}

// String is the fact for a table's second column.
func (f Fact) String() string {
	switch {
	case f.Is == "":
		return "not known: " + f.Why
	case f.Why != "":
		return f.Is + " (" + f.Why + ")"
	}
	return f.Is
}

// The names of the facts.
const (
	FactServer   = "API server"
	FactProvider = "provider"
	FactNodes    = "nodes"
	FactZones    = "zones"
	FactNetwork  = "pod network"
	FactTools    = "controllers" // that change workloads, nodes or traffic by themselves
)

// Facts finds out what can be known about a cluster by reading its version, its API groups and its nodes. What the user must not read is not known,
// and its fact says so. Only an API server that does not answer is an error.
func Facts(ctx context.Context, client kubernetes.Interface) ([]Fact, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	served, err := client.Discovery().ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("list the API groups: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil && !MayNot(err) {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	var networks, tools []string
	for name, groups := range networkGroups {
		if slices.ContainsFunc(served.Groups, func(g metav1.APIGroup) bool { return slices.Contains(groups, g.Name) }) {
			networks = append(networks, name)
		}
	}
	for _, g := range served.Groups {
		if name := toolOf(g.Name); name != "" && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	facts := []Fact{{Name: FactServer, Is: version.GitVersion}}
	if err != nil {
		const why = "this user must not list nodes"
		facts = append(facts, Fact{Name: FactProvider, Why: why}, Fact{Name: FactNodes, Why: why}, Fact{Name: FactZones, Why: why})
	} else {
		facts = append(facts, provider(nodes.Items), versions(nodes.Items, version.GitVersion), zones(nodes.Items))
		networks = append(networks, annotated(nodes.Items)...)
	}
	slices.Sort(networks)
	slices.Sort(tools)
	network := Fact{Name: FactNetwork, Is: strings.Join(slices.Compact(networks), ", "), Why: "no network that holdfast knows has left a trace"}
	if network.Is != "" {
		network.Why = ""
	}
	return append(facts, network, Fact{Name: FactTools, Is: cmp.Or(strings.Join(tools, ", "), "none seen")}), nil
}

// provider is the scheme of the nodes' provider IDs: aws, gce, azure, kind, ...
//
// Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#NodeSpec
func provider(nodes []corev1.Node) Fact {
	for i := range nodes {
		if scheme, _, found := strings.Cut(nodes[i].Spec.ProviderID, "://"); found {
			return Fact{Name: FactProvider, Is: scheme}
		}
	}
	return Fact{Name: FactProvider, Why: "no node has a provider ID"}
}

// versions counts the nodes by the versions of their kubelets.
func versions(nodes []corev1.Node, server string) Fact {
	count := map[string]int{}
	for i := range nodes {
		count[nodes[i].Status.NodeInfo.KubeletVersion]++
	}
	f := Fact{Name: FactNodes, Is: counted(count)}
	if len(count) > 1 || count[server] != len(nodes) {
		f.Why = "not all have the version of the API server: an upgrade may be under way"
	}
	return f
}

// controlPlaneLabels mark the nodes of the control plane, where a cluster has some.
//
// Source: https://kubernetes.io/docs/reference/labels-annotations-taints/#node-role-kubernetes-io-control-plane
var controlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func zones(nodes []corev1.Node) Fact {
	count, without := map[string]int{}, 0
	for i := range nodes {
		labels := nodes[i].Labels
		isOne := func(label string) bool { _, is := labels[label]; return is }
		switch zone := labels[clusters.LabelZone]; {
		case zone != "":
			count[zone]++
		case !slices.ContainsFunc(controlPlaneLabels, isOne):
			without++
		}
	}
	switch {
	case len(count) == 0:
		return Fact{FactZones, "none", "no node has the label topology.kubernetes.io/zone"}
	case without > 0:
		return Fact{FactZones, counted(count), fmt.Sprintf("workers without a zone: %d", without)}
	}
	return Fact{Name: FactZones, Is: counted(count)}
}

// counted is "3 v1.36.3, 1 v1.37.0".
func counted(count map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d %s", count[what], what))
	}
	return strings.Join(all, ", ")
}

// networkGroups are the API groups of pod networks. A cluster may have two, such as Calico for the policies and another for the routes.
var networkGroups = map[string][]string{
	"Cilium": {"cilium.io"}, "Calico": {"crd.projectcalico.org"}, "Antrea": {"crd.antrea.io"}, "Amazon VPC CNI": {"vpcresources.k8s.aws"},
	"Azure CNI": {"acn.azure.com"}, "OVN-Kubernetes": {"k8s.ovn.org"},
}

// networkAnnotations are the prefixes of the annotations that pod networks give nodes.
var networkAnnotations = map[string]string{
	"network.cilium.io/": "Cilium", "projectcalico.org/": "Calico", "flannel.alpha.coreos.com/": "Flannel", "node.antrea.io/": "Antrea", "kube-router.io/": "kube-router",
}

func annotated(nodes []corev1.Node) (names []string) {
	for i := range nodes {
		for key := range nodes[i].Annotations {
			for prefix, name := range networkAnnotations {
				if strings.HasPrefix(key, prefix) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// tools are programs that change workloads, nodes or traffic by themselves, by the API groups of their objects. All groups below one with a leading
// dot belong to its tool.
var tools = map[string]string{
	"networking.istio.io": "Istio", "policy.linkerd.io": "Linkerd", "consul.hashicorp.com": "Consul",
	"karpenter.sh": "Karpenter", "keda.sh": "KEDA", "autoscaling.k8s.io": "vertical pod autoscaler",
	"templates.gatekeeper.sh": "Gatekeeper", "kyverno.io": "Kyverno", "policies.kubewarden.io": "Kubewarden",
	".toolkit.fluxcd.io": "Flux", "argoproj.io": "Argo", "tests.testkube.io": "Testkube",
	"chaos-mesh.org": "Chaos Mesh", "litmuschaos.io": "LitmusChaos", "chaos.datadoghq.com": "Chaos Controller", "krkn.krkn-chaos.dev": "Krkn",
	"chaosblade.io": "ChaosBlade", "chaostoolkit.org": "Chaos Toolkit",
}

// toolOf is the tool that an API group belongs to; empty: to none that is known.
func toolOf(group string) string {
	_, below, _ := strings.Cut(group, ".")
	return cmp.Or(tools[group], tools["."+below])
}

// AutoscalerStatus is the ConfigMap in kube-system in which the cluster autoscaler writes what it does.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
const AutoscalerStatus = "cluster-autoscaler-status"
