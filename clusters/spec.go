package clusters

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels that holdfast puts on nodes, beside Kubernetes' own zone label.
const (
	LabelRole = "holdfast.dev/role" // value: a Role
	LabelZone = "topology.kubernetes.io/zone"
)

// LabelRegion is Kubernetes' own label for what zones lie in. holdfast sets it only where PerWorker does.
const LabelRegion = "topology.kubernetes.io/region"

// ProxyMode is kube-proxy's mode.
type ProxyMode string

// kube-proxy's modes. IPVS needs a kernel that has it, see KernelHasIPVS; the others work on every kernel holdfast meets.
const (
	NFTables ProxyMode = "nftables"
	IPTables ProxyMode = "iptables"
	IPVS     ProxyMode = "ipvs"
)

// Spec is what a cluster is asked to be. The zero value of a field means its default, see WithDefaults.
type Spec struct {
	// Kubernetes is a version such as "v1.37.0"; empty means the newest that can be had.
	Kubernetes string `json:"kubernetes,omitempty"`
	// ControlPlanes is the number of control-plane nodes; default 1.
	ControlPlanes int `json:"controlPlanes,omitempty"`
	// Zones are the values of the zone label, for example {"a", "b", "c"}. At least one.
	Zones []string `json:"zones"`
	// WorkersPerZone is the number of workers in each zone; default 1.
	WorkersPerZone int `json:"workersPerZone,omitempty"`
	// Profile sets how soon a lost node is noticed; default Lab.
	Profile ProfileName `json:"profile,omitempty"`
	// WorkerLabels are put on every worker.
	WorkerLabels map[string]string `json:"workerLabels,omitempty"`
	// PerWorker deals the values of a label out to the workers, zone by zone, and begins again when they are used up: of
	// rack: {"r1", "r2", "r3"} the fourth worker gets r1. For domains other than zones, such as racks, power lines, regions.
	PerWorker map[string][]string `json:"perWorker,omitempty"`
	// ProxyMode is kube-proxy's mode; default NFTables.
	ProxyMode ProxyMode `json:"proxyMode,omitempty"`
	// LeaderElection has kube-controller-manager and kube-scheduler elect a leader, as kubeadm has them do, also where there is
	// one control plane and nobody else could lead. Off by default: without it a restarted one acts at once. Where the API
	// server is away for longer than a node may be silent, it matters: who cannot renew their lease end themselves, and have
	// forgotten, when it is back, since when they have heard of no node; one that stayed takes all nodes for lost.
	LeaderElection bool `json:"leaderElection,omitempty"`
	// LoadOnWorkers is how many of the first workers carry a load worker, too. They go before the other nodes, as the load node does,
	// when all nodes want the processors.
	LoadOnWorkers int `json:"loadOnWorkers,omitempty"`
	// Egress leaves the nodes their default route. Off by default: nothing in the cluster reaches off this machine.
	Egress bool `json:"egress,omitempty"`
}

// ProfileName names a set of timings.
type ProfileName string

// The profiles: Lab notices a lost node in seconds, Stock has Kubernetes' own defaults.
const (
	Lab   ProfileName = "lab"
	Stock ProfileName = "stock"
)

// Timings say how soon Kubernetes notices and acts on a lost node.
type Timings struct {
	// NodeStatusUpdate is the kubelet's nodeStatusUpdateFrequency.
	NodeStatusUpdate time.Duration `json:"nodeStatusUpdate"`
	// NodeLease is the kubelet's nodeLeaseDurationSeconds; the lease is renewed every quarter of it.
	NodeLease time.Duration `json:"nodeLease"`
	// NodeMonitorPeriod and NodeMonitorGrace are kube-controller-manager's --node-monitor-period and
	// --node-monitor-grace-period: how often it looks, and how long a silent node stays Ready.
	NodeMonitorPeriod time.Duration `json:"nodeMonitorPeriod"`
	NodeMonitorGrace  time.Duration `json:"nodeMonitorGrace"`
	// Toleration is kube-apiserver's --default-{not-ready,unreachable}-toleration-seconds: how long a pod stays bound
	// to a lost node.
	Toleration time.Duration `json:"toleration"`
}

// Timings of a profile. Stock: the defaults of Kubernetes 1.32 and later.
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
		NodeMonitorPeriod: 1 * time.Second, NodeMonitorGrace: 8 * time.Second, // 8 missed renewals: a busy machine is no lost node
		Toleration: 5 * time.Second,
	}
}

// NodeLossNoticed is the longest time from a node's death to the moment the control plane marks its pods not ready: the
// last heartbeat is dated by the next look at it, the grace runs out, and that shows at the look after.
// Source: monitorNodeHealth in k8s.io/kubernetes/pkg/controller/nodelifecycle
func (t Timings) NodeLossNoticed() time.Duration {
	return t.NodeMonitorGrace + 2*t.NodeMonitorPeriod
}

// WithDefaults fills in what was left empty.
func (s Spec) WithDefaults() Spec {
	if s.ControlPlanes == 0 {
		s.ControlPlanes = 1
	}
	if s.WorkersPerZone == 0 {
		s.WorkersPerZone = 1
	}
	if s.Profile == "" {
		s.Profile = Lab
	}
	if s.ProxyMode == "" {
		s.ProxyMode = NFTables
	}
	return s
}

var versionPattern = regexp.MustCompile(`^v1\.\d+\.\d+$`)

// Validate says what of a spec cannot be made, and how to mend it.
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
	for key, value := range s.WorkerLabels {
		if err := checkLabel(key, value); err != nil {
			return fmt.Errorf("worker label %s=%q: %w", key, value, err)
		}
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

// badVersion says what a version looks like, and where to find one that there is.
func badVersion(version string) error {
	return fmt.Errorf("kubernetes version %q: want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is", version)
}

func (s Spec) validatePerWorker() error {
	for key, values := range s.PerWorker {
		if _, twice := s.WorkerLabels[key]; twice || len(values) == 0 {
			return fmt.Errorf("label %s of each worker: want at least one value, and none that all workers have", key)
		}
		for _, value := range values {
			if err := checkLabel(key, value); err != nil {
				return fmt.Errorf("label %s=%q of a worker: %w", key, value, err)
			}
		}
	}
	return nil
}

// Dealt are the labels that PerWorker gives the n-th worker, counted from 0, zone by zone.
func (s Spec) Dealt(n int) map[string]string {
	labels := map[string]string{}
	for key, values := range s.PerWorker {
		labels[key] = values[n%len(values)]
	}
	return labels
}

// checkLabel says why a label cannot be put on a worker. A kubelet that is given a label it may not set does not start,
// and the cluster would be found unusable minutes later.
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
