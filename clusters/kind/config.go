package kind

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
)

// The networks of every cluster. Each cluster has a bridge of its own, so they may be the same in all of them.
const (
	podSubnet     = "10.244.0.0/16"
	serviceSubnet = "10.96.0.0/16"
	apiServiceIP  = "10.96.0.1"  // kubeadm: the first address of serviceSubnet
	dnsServiceIP  = "10.96.0.10" // kubeadm: the tenth
)

// ground is what a cluster stands on: the node image and the machine.
type ground struct {
	image      string
	minor      int  // of the image's Kubernetes version
	ownNetwork bool // the image brings its pod network itself; kind need not install one
	cgroupV1   bool
	balancer   string // the program before several control planes; empty: there is but one
}

// configure is the kind configuration of a cluster. It depends on nothing but its arguments.
func configure(name string, spec clusters.Spec, on ground) *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     Prefix + name,
		Networking: v1alpha4.Networking{
			IPFamily:          v1alpha4.IPv4Family,
			PodSubnet:         podSubnet,
			ServiceSubnet:     serviceSubnet,
			KubeProxyMode:     v1alpha4.ProxyMode(spec.ProxyMode),
			DisableDefaultCNI: on.ownNetwork,
			DNSSearch:         &[]string{}, // else the host's search domains reach every pod, and its lookups leave the cluster
		},
		KubeadmConfigPatches: []string{controlPlanePatch(spec), kubeletPatch(spec, on)},
	}
	workers := 0
	for _, m := range members(name, spec) {
		node := configureNode(m, spec, on)
		if m.role == clusters.Worker {
			maps.Copy(node.Labels, spec.Dealt(workers))
			workers++
		}
		config.Nodes = append(config.Nodes, node)
	}
	return config
}

func configureNode(m member, spec clusters.Spec, on ground) v1alpha4.Node {
	// Labels and taints are set as the node registers: there is no moment at which the scheduler sees it without them.
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
		for key, value := range spec.WorkerLabels {
			node.Labels[key] = value
		}
		node.Labels[clusters.LabelRole] = string(m.role)
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

// controlPlanePatch names no apiVersion, and gives extraArgs as maps: kind then applies it to v1beta3 of kubeadm's
// configuration, which has maps, and turns the maps into lists for v1beta4.
//
// The controller manager asks for a token for each of its controllers before it starts any. With its own limit of 20
// requests a second that takes 5 s, at each start. Until then it does not sign what a node must read to join, and
// kubeadm looks for the signature every 5 s only.
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
		// Nobody else could lead. Without the election a restarted control plane acts at once, not when its old lease
		// has run out, and an idle cluster writes two leases less every two seconds.
		text.WriteString(`    leader-elect: "false"
scheduler:
  extraArgs:
    leader-elect: "false"
`)
	}
	// A killed node is a killed container: the page cache lives on, so etcd loses nothing by not waiting for the disk,
	// and a slow disk is no longer taken for a slow cluster.
	text.WriteString(`etcd:
  local:
    extraArgs:
      unsafe-no-fsync: "true"
`)
	return text.String()
}

// failCgroupV1Since is the minor version whose kubelet knows failCgroupV1; an older one refuses the field.
const failCgroupV1Since = 31

func kubeletPatch(spec clusters.Spec, on ground) string {
	timings := spec.Profile.Timings()
	var text strings.Builder
	fmt.Fprintf(&text, `kind: KubeletConfiguration
nodeStatusUpdateFrequency: %s
nodeLeaseDurationSeconds: %d
`, timings.NodeStatusUpdate, int(timings.NodeLease/time.Second))
	// The lease is the heartbeat. A status that has not changed is repeated every 5 minutes, as in a stock cluster; the
	// kubelet would else repeat it at every update.
	text.WriteString("nodeStatusReportFrequency: 5m0s\n")
	if on.cgroupV1 && on.minor >= failCgroupV1Since {
		text.WriteString("failCgroupV1: false\n")
	}
	return text.String()
}
