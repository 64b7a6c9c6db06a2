package clusters

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels that holdfast puts on nodes: its own role label, and the well-known zone label.
const (
	LabelRole = "holdfast.dev/role" // value: a Role
	LabelZone = "topology.kubernetes.io/zone"
)

// LabelRegion is the well-known label of the region that contains a zone. holdfast sets it only if PerWorker does.
const LabelRegion = "topology.kubernetes.io/region"

// ProxyMode is kube-proxy's mode.
type ProxyMode string

// kube-proxy's modes. IPVS needs kernel support, see KernelHasIPVS. The other modes work on every kernel that holdfast
// supports.
const (
	NFTables ProxyMode = "nftables"
	IPTables ProxyMode = "iptables"
	IPVS     ProxyMode = "ipvs"
)

// Spec describes a cluster to create. A zero field means its default, see WithDefaults.
type Spec struct {
	// Kubernetes is a version such as "v1.37.0". Empty means the newest available version.
	Kubernetes string `json:"kubernetes,omitempty"`
	// ControlPlanes is the number of control-plane nodes; default 1.
	ControlPlanes int `json:"controlPlanes,omitempty"`
	// Zones are the values of the zone label, for example {"a", "b", "c"}. At least one is required.
	Zones []string `json:"zones"`
	// WorkersPerZone is the number of workers in each zone; default 1.
	WorkersPerZone int `json:"workersPerZone,omitempty"`
	// Profile sets how soon Kubernetes notices a lost node; default Lab.
	Profile ProfileName `json:"profile,omitempty"`
	// PerWorker assigns the values of a label to the workers in turn, zone by zone, and starts over when all values are used:
	// with rack: {"r1", "r2", "r3"} the fourth worker gets r1. Use it for topology domains other than zones, such as racks,
	// power lines or regions.
	PerWorker map[string][]string `json:"perWorker,omitempty"`
	// ProxyMode is kube-proxy's mode; default NFTables.
	ProxyMode ProxyMode `json:"proxyMode,omitempty"`
	// LeaderElection enables leader election in kube-controller-manager and kube-scheduler even with a single control plane, as
	// kubeadm does by default. Off by default here, so that a restarted component acts at once. It matters if the API server is
	// away for longer than the node monitor grace period: with leader election the components exit when they cannot renew their
	// lease, and restart with fresh node heartbeats. Without it, a controller manager that outlives the API server outage marks
	// every node unreachable.
	LeaderElection bool `json:"leaderElection,omitempty"`
	// LoadOnWorkers is how many of the first workers also carry a load worker. They get CPU priority, as the load node does.
	LoadOnWorkers int `json:"loadOnWorkers,omitempty"`
	// Egress keeps the nodes' default route. Off by default: nothing in the cluster can reach anything outside this machine.
	Egress bool `json:"egress,omitempty"`
	// Plain makes a cluster as others make it, on which recordings and disturbances of foreign clusters are tried: without a load node, labels of
	// holdfast's on nodes and pods of holdfast's, and with an audit log of the API server below the cluster's state folder.
	Plain bool `json:"plain,omitempty"`
	// SimulatedNodes is how many nodes without a machine the cluster has beside its real ones, dealt to SimulatedZones in turn. The
	// control plane cannot tell them from others: see Simulated.
	SimulatedNodes int `json:"simulatedNodes,omitempty"`
}

// PlainSpec is a plain cluster with the defaults of kubeadm and of kind, and with three workers in three zones.
func PlainSpec(kubernetes string) Spec {
	return Spec{
		Kubernetes: kubernetes, Plain: true, Zones: []string{"a", "b", "c"}, Profile: Stock, ProxyMode: IPTables, LeaderElection: true, Egress: true,
	}
}

// ProfileName names a set of timings.
type ProfileName string

// The profiles. Lab notices a lost node within seconds, Stock has the Kubernetes defaults.
const (
	Lab   ProfileName = "lab"
	Stock ProfileName = "stock"
)

// Timings determine how soon Kubernetes notices a lost node and reacts to it.
type Timings struct {
	// NodeStatusUpdate is the kubelet's nodeStatusUpdateFrequency.
	NodeStatusUpdate time.Duration `json:"nodeStatusUpdate"`
	// NodeLease is the kubelet's nodeLeaseDurationSeconds. The kubelet renews its lease every quarter of this duration.
	NodeLease time.Duration `json:"nodeLease"`
	// NodeMonitorPeriod and NodeMonitorGrace are kube-controller-manager's --node-monitor-period and
	// --node-monitor-grace-period: the interval of its checks, and how long a node without heartbeats stays Ready.
	NodeMonitorPeriod time.Duration `json:"nodeMonitorPeriod"`
	NodeMonitorGrace  time.Duration `json:"nodeMonitorGrace"`
	// Toleration is kube-apiserver's --default-{not-ready,unreachable}-toleration-seconds: how long a pod stays bound
	// to a lost node.
	Toleration time.Duration `json:"toleration"`
}

// Timings are the timings of a profile. Stock has the defaults of Kubernetes 1.32 and later.
// Source: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
func (p ProfileName) Timings() Timings {
	if p == Stock {
		return Timings{
			NodeStatusUpdate: 10 * time.Second, NodeLease: 40 * time.Second,
			NodeMonitorPeriod: 5 * time.Second, NodeMonitorGrace: 50 * time.Second,
			Toleration: 300 * time.Second,
		}
	}
	return Timings{
		NodeStatusUpdate: 2 * time.Second, NodeLease: 4 * time.Second,
		NodeMonitorPeriod: 1 * time.Second, NodeMonitorGrace: 8 * time.Second, // 8 missed renewals: tolerates a busy machine
		Toleration: 5 * time.Second,
	}
}

// Timings are those of the profile, with a longer NodeMonitorGrace where many simulated nodes renew their leases.
func (s Spec) Timings() Timings {
	t := s.Profile.Timings()
	t.NodeMonitorGrace = max(t.NodeMonitorGrace, time.Duration(s.SimulatedNodes)*gracePerSimulatedNode)
	return t
}

// NodeLossNoticed is the longest time from a node's death until the control plane marks its pods not ready: the controller
// records the last heartbeat at its next check, up to one period late. Then the grace period runs out, and the check after
// that, up to another period later, acts.
// Source: monitorNodeHealth in k8s.io/kubernetes/pkg/controller/nodelifecycle
func (t Timings) NodeLossNoticed() time.Duration {
	return t.NodeMonitorGrace + 2*t.NodeMonitorPeriod
}

// WithDefaults replaces zero fields with their defaults.
func (s Spec) WithDefaults() Spec {
	s.ControlPlanes = cmp.Or(s.ControlPlanes, 1)
	s.WorkersPerZone = cmp.Or(s.WorkersPerZone, 1)
	s.Profile = cmp.Or(s.Profile, Lab)
	s.ProxyMode = cmp.Or(s.ProxyMode, NFTables)
	return s
}

var versionPattern = regexp.MustCompile(`^v1\.\d+\.\d+$`)

// Validate returns an error that names the first invalid field and, where possible, what is accepted.
func (s Spec) Validate() error {
	seen := map[string]bool{}
	for _, zone := range s.Zones {
		if zone == "" || seen[zone] {
			return fmt.Errorf("zones %q: every zone needs a name of its own", s.Zones)
		}
		if problems := validation.IsValidLabelValue(zone); len(problems) > 0 {
			return fmt.Errorf("zone %q: %s", zone, problems[0])
		}
		seen[zone] = true
	}
	if err := s.validatePerWorker(); err != nil {
		return err
	}
	switch {
	case len(s.Zones) == 0:
		return fmt.Errorf("zones: none given; name at least one, for example --zones a,b,c")
	case s.WorkersPerZone < 0:
		return fmt.Errorf("workers per zone %d: must be at least 1", s.WorkersPerZone)
	case s.LoadOnWorkers < 0 || s.LoadOnWorkers > len(s.Zones)*s.WithDefaults().WorkersPerZone:
		return fmt.Errorf("load on %d workers: the cluster has %d", s.LoadOnWorkers, len(s.Zones)*s.WithDefaults().WorkersPerZone)
	case s.SimulatedNodes < 0 || s.SimulatedNodes > MostSimulatedNodes:
		return fmt.Errorf("simulated nodes %d: want a number from 0 to %d", s.SimulatedNodes, MostSimulatedNodes)
	case s.SimulatedNodes > 0 && slices.ContainsFunc(s.Zones, func(zone string) bool { return slices.Contains(SimulatedZones(), zone) }):
		return fmt.Errorf("zones %q: simulated nodes are in the zones %q, and no others may be", s.Zones, SimulatedZones())
	case s.ControlPlanes < 0:
		return fmt.Errorf("control planes %d: must be at least 1", s.ControlPlanes)
	case s.Kubernetes != "" && !versionPattern.MatchString(s.Kubernetes):
		return badVersion(s.Kubernetes)
	case s.Profile != "" && s.Profile != Lab && s.Profile != Stock:
		return fmt.Errorf("profile %q: want lab or stock", s.Profile)
	case s.ProxyMode != "" && s.ProxyMode != NFTables && s.ProxyMode != IPTables && s.ProxyMode != IPVS:
		return fmt.Errorf("kube-proxy mode %q: want nftables, iptables or ipvs", s.ProxyMode)
	}
	return nil
}

// badVersion explains the format of a version and how to list the available versions.
func badVersion(version string) error {
	return fmt.Errorf("kubernetes version %q: want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is", version)
}

func (s Spec) validatePerWorker() error {
	for key, values := range s.PerWorker {
		if len(values) == 0 {
			return fmt.Errorf("label %s of each worker: want at least one value", key)
		}
		for _, value := range values {
			if err := checkLabel(key, value); err != nil {
				return fmt.Errorf("label %s=%q of a worker: %w", key, value, err)
			}
		}
	}
	return nil
}

// Dealt are the PerWorker labels of the n-th worker, counted from 0, zone by zone.
func (s Spec) Dealt(n int) map[string]string {
	labels := map[string]string{}
	for key, values := range s.PerWorker {
		labels[key] = values[n%len(values)]
	}
	return labels
}

// checkLabel rejects labels that cannot be put on a worker. A kubelet with a forbidden label does not start, and the cluster
// would be found unusable only minutes later.
func checkLabel(key, value string) error {
	if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
		return errors.New(problems[0])
	}
	if key == LabelRole || key == LabelZone {
		return errors.New("holdfast sets it itself")
	}
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed || domain == "kubelet.kubernetes.io" || domain == "node.kubernetes.io" || key == LabelRegion {
		return nil
	}
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return errors.New("a kubelet may not set it; use a prefix of your own")
		}
	}
	return nil
}
