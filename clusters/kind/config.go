package kind

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// The networks inside every cluster. Each cluster has its own bridge, so all clusters can use the same subnets.
const (
	podSubnet     = "10.244.0.0/16"
	widePodSubnet = "10.128.0.0/9" // each node takes a range of 256 addresses, and the usual subnet has room for 256 nodes
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
	audit      string // the folder with the audit policy and log of a plain cluster; empty for others
}

// configure builds the kind configuration of a cluster. It depends only on its arguments.
func configure(name string, spec clusters.Spec, on ground) *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Name:     prefix + name,
		Networking: v1alpha4.Networking{
			IPFamily:          v1alpha4.IPv4Family,
			PodSubnet:         podSubnetOf(spec),
			ServiceSubnet:     serviceSubnet,
			KubeProxyMode:     v1alpha4.ProxyMode(spec.ProxyMode),
			DisableDefaultCNI: on.ownNetwork,
			DNSSearch:         &[]string{}, // otherwise every pod gets the host's search domains, and its lookups leave the cluster
		},
		KubeadmConfigPatches: []string{controlPlanePatch(spec), kubeletPatch(spec, on), patience("InitConfiguration"), patience("JoinConfiguration")},
	}
	if on.audit != "" {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, auditPatch)
	}
	if !on.ownNetwork { // an image that holdfast built has them already
		config.ContainerdConfigPatches = []string{nodeimage.ContainerdSettings}
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

func podSubnetOf(spec clusters.Spec) string {
	if spec.SimulatedNodes > 0 {
		return widePodSubnet
	}
	return podSubnet
}

func configureNode(m member, on ground) v1alpha4.Node {
	// Labels and taints are set when the node registers, so the scheduler never sees the node without them.
	node := v1alpha4.Node{
		Role:   v1alpha4.WorkerRole,
		Image:  on.image,
		Labels: map[string]string{},
	}
	if !m.unlabelled {
		node.Labels[clusters.LabelRole] = string(m.role)
	}
	switch m.role {
	case clusters.ControlPlane:
		node.Role = v1alpha4.ControlPlaneRole
		if on.audit != "" {
			node.ExtraMounts = []v1alpha4.Mount{{HostPath: on.audit, ContainerPath: auditOnNode}}
		}
	case clusters.LoadNode:
		node.KubeadmConfigPatches = []string{loadNodePatch}
	case clusters.Worker:
		node.Labels[clusters.LabelZone] = m.zone
	}
	return node
}

// patience lets kubeadm wait longer for an answer of the API server than the minute that is its default. With a third of two processors, while another
// cluster started beside, the API server did not answer within that minute, and kubeadm init gave up. Kubernetes before v1.36 gets a configuration
// of version v1beta3 from kind, which lacks the field: by its source, kubeadm then warns, and waits for a minute. That was not tried.
//
// Source: https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/#kubeadm-k8s-io-v1beta4-Timeouts
func patience(kind string) string {
	return "kind: " + kind + "\ntimeouts:\n  kubernetesAPICall: 5m0s\n"
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
func controlPlanePatch(spec clusters.Spec) string {
	var text strings.Builder
	text.WriteString("kind: ClusterConfiguration\n")
	writeArgs(&text, "", "apiServer", apiServerArgs(spec))
	writeArgs(&text, "", "controllerManager", controllerManagerArgs(spec))
	writeArgs(&text, "", "scheduler", schedulerArgs(spec))
	text.WriteString("etcd:\n")
	writeArgs(&text, "  ", "local", etcdArgs(spec))
	return text.String()
}

// arg is a flag of a component of the control plane, without its dashes.
type arg struct{ name, value string }

// writeArgs writes the flags of a component as a map in YAML. Without flags it writes nothing.
func writeArgs(text *strings.Builder, indent, component string, args []arg) {
	if len(args) == 0 {
		return
	}
	fmt.Fprintf(text, "%[1]s%[2]s:\n%[1]s  extraArgs:\n", indent, component)
	for _, a := range args {
		fmt.Fprintf(text, "%s    %s: %q\n", indent, a.name, a.value)
	}
}

func apiServerArgs(spec clusters.Spec) []arg {
	toleration := strconv.Itoa(int(spec.Timings().Toleration / time.Second))
	return []arg{{"default-not-ready-toleration-seconds", toleration}, {"default-unreachable-toleration-seconds", toleration}}
}

// controllerManagerArgs raise the limit of requests: before it starts any controller, the controller manager requests a token for each.
// With its default limit of 20 requests per second that takes 5 s at every start. Until then it does not sign the cluster-info ConfigMap,
// which a joining node must read, and kubeadm checks for the signature only every 5 s.
//
// Where there are simulated nodes, the limit must not be what slows down the creation of their pods. The rate at which lost nodes lose their
// pods is clusters.EvictionsPerSecond.
func controllerManagerArgs(spec clusters.Spec) []arg {
	timings := spec.Timings()
	args := []arg{
		{"node-monitor-period", timings.NodeMonitorPeriod.String()}, {"node-monitor-grace-period", timings.NodeMonitorGrace.String()},
	}
	if spec.SimulatedNodes > 0 {
		args = append(args, arg{"kube-api-qps", "1000"}, arg{"kube-api-burst", "2000"}, arg{"node-eviction-rate", strconv.Itoa(clusters.EvictionsPerSecond(spec.SimulatedNodes))})
	} else {
		args = append(args, arg{"kube-api-qps", "200"}, arg{"kube-api-burst", "400"})
	}
	return append(args, loneLeaderArgs(spec)...)
}

// schedulerArgs raise the scheduler's limit of 50 requests per second where there are simulated nodes: a binding takes two requests, and
// the limit would be measured in place of the scheduler.
func schedulerArgs(spec clusters.Spec) (args []arg) {
	if spec.SimulatedNodes > 0 {
		args = []arg{{"kube-api-qps", "1000"}, {"kube-api-burst", "2000"}}
	}
	return append(args, loneLeaderArgs(spec)...)
}

// loneLeaderArgs disable leader election where no other instance could become leader. Without it a restarted component acts at once
// instead of waiting for its old lease to expire, and an idle cluster writes two leases less every two seconds.
func loneLeaderArgs(spec clusters.Spec) []arg {
	if spec.ControlPlanes > 1 || spec.LeaderElection {
		return nil
	}
	return []arg{{"leader-elect", "false"}}
}

// etcdArgs keep etcd from waiting for the disk: a killed node is a killed container, and the host keeps the page cache, so that etcd loses
// no data, and a slow disk does not look like a slow cluster. 150,000 simulated pods may take more than etcd's default quota of 2 GiB.
func etcdArgs(spec clusters.Spec) []arg {
	args := []arg{{"unsafe-no-fsync", "true"}}
	if spec.SimulatedNodes > 0 {
		args = append(args, arg{"quota-backend-bytes", strconv.Itoa(8 << 30)})
	}
	return args
}

// failCgroupV1Since is the first minor version whose kubelet knows the field failCgroupV1. Older kubelets refuse it.
const failCgroupV1Since = 31

func kubeletPatch(spec clusters.Spec, on ground) string {
	timings := spec.Timings()
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
