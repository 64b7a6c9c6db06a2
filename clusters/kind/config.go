package kind

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
)

// The networks inside every cluster. Each cluster has its own bridge, so all clusters can use the same subnets.
const (
	podSubnet     = "10.244.0.0/16"
	serviceSubnet = "10.96.0.0/16"
	apiServiceIP  = "10.96.0.1"  // kubeadm uses the first address of serviceSubnet
	dnsServiceIP  = "10.96.0.10" // kubeadm uses the tenth address
)

// ground describes what a cluster is built on: the node image and the machine.
type ground struct {
	image      string
	minor      int  // of the image's Kubernetes version
	ownNetwork bool // the image includes a pod network, so kind must not install one
	cgroupV1   bool
	balancer   string // the load balancer in front of several control planes; empty with one
}

// configure builds the kind configuration of a cluster. It depends only on its arguments.
func configure(name string, spec clusters.Spec, on ground) *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     inventory.Prefix + name,
		Networking: v1alpha4.Networking{
			IPFamily:          v1alpha4.IPv4Family,
			PodSubnet:         podSubnet,
			ServiceSubnet:     serviceSubnet,
			KubeProxyMode:     v1alpha4.ProxyMode(spec.ProxyMode),
			DisableDefaultCNI: on.ownNetwork,
			DNSSearch:         &[]string{}, // otherwise every pod gets the host's search domains, and its lookups leave the cluster
		},
		KubeadmConfigPatches: []string{controlPlanePatch(spec), kubeletPatch(spec, on)},
	}
	workers := 0
	for _, m := range members(name, spec) {
		node := configureNode(m, on)
		if m.role == clusters.Worker {
			maps.Copy(node.Labels, spec.Dealt(workers))
			workers++
		}
		config.Nodes = append(config.Nodes, node)
	}
	return config
}

func configureNode(m member, on ground) v1alpha4.Node {
	// Labels and taints are set when the node registers, so the scheduler never sees the node without them.
	node := v1alpha4.Node{
		Role:   v1alpha4.WorkerRole,
		Image:  on.image,
		Labels: map[string]string{clusters.LabelRole: string(m.role)},
	}
	switch m.role {
	case clusters.ControlPlane:
		node.Role = v1alpha4.ControlPlaneRole
	case clusters.LoadNode:
		node.KubeadmConfigPatches = []string{loadNodePatch}
	case clusters.Worker:
		node.Labels[clusters.LabelZone] = m.zone
	}
	return node
}

const loadNodePatch = `kind: JoinConfiguration
nodeRegistration:
  taints:
  - key: ` + clusters.LabelRole + `
    value: ` + string(clusters.LoadNode) + `
    effect: NoSchedule
`

// controlPlanePatch has no apiVersion and writes extraArgs as maps. kind applies such a patch to kubeadm's v1beta3
// configuration, which uses maps, and converts the maps to lists for v1beta4.
//
// Before it starts any controller, the controller manager requests a token for each. With its default limit of 20 requests per
// second that takes 5 s at every start. Until then it does not sign the cluster-info ConfigMap, which a joining node must read,
// and kubeadm checks for the signature only every 5 s.
func controlPlanePatch(spec clusters.Spec) string {
	timings := spec.Profile.Timings()
	var text strings.Builder
	fmt.Fprintf(&text, `kind: ClusterConfiguration
apiServer:
  extraArgs:
    default-not-ready-toleration-seconds: "%[1]d"
    default-unreachable-toleration-seconds: "%[1]d"
controllerManager:
  extraArgs:
    node-monitor-period: %[2]s
    node-monitor-grace-period: %[3]s
    kube-api-qps: "200"
    kube-api-burst: "400"
`, int(timings.Toleration/time.Second), timings.NodeMonitorPeriod, timings.NodeMonitorGrace)
	if spec.ControlPlanes == 1 && !spec.LeaderElection {
		// No other instance could become leader. Without leader election a restarted component acts at once instead of waiting
		// for its old lease to expire, and an idle cluster writes two leases less every two seconds.
		text.WriteString(`    leader-elect: "false"
scheduler:
  extraArgs:
    leader-elect: "false"
`)
	}
	// A killed node is a killed container, and the host keeps the page cache: etcd loses no data by not waiting for the disk,
	// and a slow disk does not look like a slow cluster.
	text.WriteString(`etcd:
  local:
    extraArgs:
      unsafe-no-fsync: "true"
`)
	return text.String()
}

// failCgroupV1Since is the first minor version whose kubelet knows the field failCgroupV1. Older kubelets refuse it.
const failCgroupV1Since = 31

func kubeletPatch(spec clusters.Spec, on ground) string {
	timings := spec.Profile.Timings()
	var text strings.Builder
	fmt.Fprintf(&text, `kind: KubeletConfiguration
nodeStatusUpdateFrequency: %s
nodeLeaseDurationSeconds: %d
`, timings.NodeStatusUpdate, int(timings.NodeLease/time.Second))
	// The lease is the heartbeat. An unchanged node status is reported every 5 minutes, as in a stock cluster. Without this
	// setting the kubelet would report it at every status update.
	text.WriteString("nodeStatusReportFrequency: 5m0s\n")
	if on.cgroupV1 && on.minor >= failCgroupV1Since {
		text.WriteString("failCgroupV1: false\n")
	}
	return text.String()
}
