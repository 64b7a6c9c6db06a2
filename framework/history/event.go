package history

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Event is one line of events.jsonl: a moment, and the one field that is not nil.
type Event struct {
	T Offset `json:"t"` // nanoseconds since the base

	Header    *Header        `json:"header,omitempty"`
	Phase     *Phase         `json:"phase,omitempty"`
	Fault     *FaultMark     `json:"fault,omitempty"`
	Step      *Step          `json:"step,omitempty"`
	Pod       *Pod           `json:"pod,omitempty"`
	Node      *Node          `json:"node,omitempty"`
	Workload  *Workload      `json:"workload,omitempty"`
	Slice     *Slice         `json:"slice,omitempty"`
	Budget    *Budget        `json:"budget,omitempty"`
	Eviction  *Eviction      `json:"eviction,omitempty"`
	Audit     *Audit         `json:"audit,omitempty"`
	Admission *Admission     `json:"admission,omitempty"`
	Warning   *APIWarning    `json:"warning,omitempty"`
	KubeNote  *KubeNote      `json:"kubeNote,omitempty"`
	Gap       *Gap           `json:"gap,omitempty"`
	Clock     *Clock         `json:"clock,omitempty"`
	Noise     *Noise         `json:"noise,omitempty"`
	Echo      *Echo          `json:"echo,omitempty"`
	Reach     *Reach         `json:"reach,omitempty"`
	Load      *LoadTotals    `json:"load,omitempty"`
	Gateway   *GatewayTotals `json:"gateway,omitempty"`
	Segment   *Segment       `json:"segment,omitempty"`
	Trouble   *Trouble       `json:"trouble,omitempty"`
	End       *End           `json:"end,omitempty"`
}

// PhaseName names a part of a scenario. A phase lasts until the next begins.
type PhaseName string

// The phases, in order. Load flows from the start of Steady until the end of Recovered.
const (
	Provision PhaseName = "provision"
	Deploy    PhaseName = "deploy"
	Steady    PhaseName = "steady"
	Disturbed PhaseName = "disturbed" // from before the first fault is injected until the last is healed
	Recovered PhaseName = "recovered"
	Drained   PhaseName = "drained" // load stopped, results being collected
)

// Phase marks the beginning of one.
type Phase struct {
	Name PhaseName `json:"name"`
}

// FaultStage is a step in a fault's life.
type FaultStage string

// The stages. Injecting and Healing are when the harness began to act; Seen and Healed are when the witness saw it. Lasting
// is when the witness was asked once more, just before Healing, and saw the fault still in force; a record that is older
// than this stage has it of no fault, nor has one of what is over as soon as it was seen, such as a deletion of pods.
const (
	Injecting FaultStage = "injecting"
	Seen      FaultStage = "seen"
	Lasting   FaultStage = "lasting"
	Healing   FaultStage = "healing"
	Healed    FaultStage = "healed"
)

// FaultMark is a stage of a fault.
type FaultMark struct {
	ID    int        `json:"id"`   // numbers the scenario's faults from 0
	Name  string     `json:"name"` // Fault.String()
	Stage FaultStage `json:"stage"`
	// Nodes and Pods are what it bit, known from Seen on.
	Nodes []string `json:"nodes,omitempty"`
	Pods  []string `json:"pods,omitempty"`
	// Witness says what was seen, and by whom, in words.
	Witness string `json:"witness,omitempty"`
	// Hit counts the witness's probes that a fault hit which takes nothing away, such as a loss of packets: no watch sees one.
	Hit int `json:"hit,omitempty"`
	// Processes counts those of a component that its witness saw running before and gone now: no watch sees a process.
	Processes int `json:"processes,omitempty"`
	// Error is set when the stage was not reached; the fault's evidence is then missing.
	Error string `json:"error,omitempty"`
	// NotSupported says why, with an Error, if what the fault takes is not to be had there, such as a feature of the kernel.
	NotSupported string `json:"notSupported,omitempty"`
}

// Change says how an object came to be reported.
type Change string

// The changes. Listed: found by a list, at the start or after a gap.
const (
	Listed   Change = "listed"
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
)

// Pod is a pod as a watch reported it.
type Pod struct {
	Change    Change            `json:"change"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	UID       string            `json:"uid"`
	Labels    map[string]string `json:"labels,omitempty"`
	Node      string            `json:"node,omitempty"` // empty until bound
	IP        string            `json:"ip,omitempty"`
	Phase     string            `json:"phase"`
	Ready     bool              `json:"ready"`
	Restarts  int               `json:"restarts,omitempty"`
	// CPU is the processor time that its containers have been given by its kubelet, as Kubernetes writes it ("20m"): what it
	// asks for, unless a resize is under way. Empty: its kubelet has not said so.
	CPU string `json:"cpu,omitempty"`
	// Deleting is true once a deletion was accepted (deletionTimestamp is set).
	Deleting bool `json:"deleting,omitempty"`
	// Disruption is the reason of a true DisruptionTarget condition: EvictionByEvictionAPI, PreemptionByScheduler,
	// DeletionByTaintManager, TerminationByKubelet, ... Empty for direct deletes, scale-downs and rollouts.
	Disruption string `json:"disruption,omitempty"`
	// Unschedulable is the scheduler's message while the pod cannot be bound.
	Unschedulable string `json:"unschedulable,omitempty"`
	// Waiting is the reason of a container that waits, such as CrashLoopBackOff.
	Waiting string `json:"waiting,omitempty"`
	// Rules are by what the scheduler must place it, as Kubernetes writes them in a pod's spec: nodeSelector, tolerations,
	// topologySpreadConstraints, and of affinity what is required. A pod without any has {}. Events other than Listed and
	// Added do not repeat them, see State; a record in which nothing has them is older than they are.
	Rules json.RawMessage `json:"rules,omitempty"`
	// Lifecycle is told as Rules are; nil in all events of a record that is older than it is.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
}

// Lifecycle is what a pod's spec says of how it begins and ends.
type Lifecycle struct {
	// Readiness tells whether every container has a readiness probe, so that it is not ready before it says so.
	Readiness bool `json:"readiness,omitempty"`
	// PreStop is the longest preStop sleep, after which SIGTERM is sent; zero: at once. A hook of another kind counts as none:
	// how long it takes is not in a spec.
	PreStop time.Duration `json:"preStop,omitempty"`
	// Grace is when SIGKILL follows, counted from the deletion.
	Grace time.Duration `json:"grace,omitempty"`
}

// Ended tells whether all containers of a pod have ended for good. Such a pod holds nothing and counts for nothing; what a
// kubelet evicts stays behind as one.
func (p Pod) Ended() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// Node is a node as a watch reported it.
type Node struct {
	Change        Change            `json:"change"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Ready         string            `json:"ready"` // True, False or Unknown, as Kubernetes writes it
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Taints        []string          `json:"taints,omitempty"` // key=value:effect
}

// UnderPressure tells whether the node controller has tainted the node because its kubelet says that it is short of memory or
// of disk.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-conditions
func (n Node) UnderPressure() bool {
	return slices.ContainsFunc(n.Taints, func(taint string) bool {
		return strings.HasPrefix(taint, "node.kubernetes.io/memory-pressure") || strings.HasPrefix(taint, "node.kubernetes.io/disk-pressure")
	})
}

// Workload is a Deployment or a StatefulSet as a watch reported it: what is wanted, and how much of it is there.
type Workload struct {
	Change      Change            `json:"change"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	StatefulSet bool              `json:"statefulSet,omitempty"` // false of all in a record that is older than this
	Selector    map[string]string `json:"selector"`
	// SelectsBy is the whole selector, as kubectl takes it, where it asks for more than the labels of Selector.
	SelectsBy    string            `json:"selectsBy,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Spread are the pod template's topologySpreadConstraints, as Kubernetes writes them.
	Spread    json.RawMessage `json:"spread,omitempty"`
	Replicas  int             `json:"replicas"`
	Updated   int             `json:"updated"`
	Ready     int             `json:"ready"`
	Available int             `json:"available"`
	// Total counts all its pods that are not yet gone, old revisions included, as the controller says.
	Total    int  `json:"total"`
	Observed bool `json:"observed"` // the controller has seen the newest generation
}

// Settled tells whether all replicas, and only those, are of the newest revision and available.
func (w Workload) Settled() bool {
	return w.Observed && w.Updated == w.Replicas && w.Available == w.Replicas && w.Total == w.Replicas
}

// Slice is an EndpointSlice as a watch reported it.
type Slice struct {
	Change    Change     `json:"change"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Service   string     `json:"service"`
	Endpoints []Endpoint `json:"endpoints"`
}

// Endpoint is one address of a Slice.
type Endpoint struct {
	IP          string `json:"ip"`
	Pod         string `json:"pod,omitempty"`
	Node        string `json:"node,omitempty"`
	Ready       bool   `json:"ready"`
	Serving     bool   `json:"serving"`
	Terminating bool   `json:"terminating"`
}

// Budget is a PodDisruptionBudget as a watch reported it.
type Budget struct {
	Change    Change            `json:"change"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Selector  map[string]string `json:"selector"`
	// SelectsBy is the whole selector, as kubectl takes it, where it asks for more than the labels of Selector.
	SelectsBy      string `json:"selectsBy,omitempty"`
	MinAvailable   string `json:"minAvailable,omitempty"`   // number or percentage
	MaxUnavailable string `json:"maxUnavailable,omitempty"` // number or percentage
	// UnhealthyPodEvictionPolicy is AlwaysAllow or IfHealthyBudget, which it is by default. Empty: the record is older than this.
	UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy,omitempty"`
	// Observed tells whether the status below belongs to the newest generation.
	Observed           bool `json:"observed"`
	CurrentHealthy     int  `json:"currentHealthy"`
	DesiredHealthy     int  `json:"desiredHealthy"`
	ExpectedPods       int  `json:"expectedPods"`
	DisruptionsAllowed int  `json:"disruptionsAllowed"`
}

// Eviction is one answer of the eviction API to the harness, or the loss of one.
type Eviction struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// UID is that of the pod that was there when the eviction was asked for. Empty: it is not known, as in old records.
	UID      string `json:"uid,omitempty"`
	Accepted bool   `json:"accepted"`
	// Lost is why no answer came; the eviction may have been accepted. Sent is when it was asked for, of such a one alone.
	Lost string `json:"lost,omitempty"`
	Sent Offset `json:"sent,omitempty"`
	// Budget names the budget that refused it, where the API says so.
	Budget  string `json:"budget,omitempty"`
	Message string `json:"message,omitempty"`
}

// Audit is what a look for a workload's single points of failure found, as package audit has them.
type Audit struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	// Findings are all that was found; none: the workload is clean, as far as it could be looked at.
	Findings []Finding `json:"findings"`
	// NotChecked says what could not be looked at, and why.
	NotChecked []string `json:"notChecked,omitempty"`
}

// Finding is one of an Audit.
type Finding struct {
	Rule     string `json:"rule"` // its ID, for example no-prestop
	Evidence string `json:"evidence"`
}

// Admission is the API server's answer to a manifest that the harness tried as a dry run: nothing came of it.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type Admission struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"` // says what it is like
	// Against names the ValidatingAdmissionPolicy that is to refuse it. Empty: none is.
	Against  string `json:"against,omitempty"`
	Accepted bool   `json:"accepted"`
	// By names the ValidatingAdmissionPolicy that refused it, where the API says so.
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
}

// KubeNote is a Kubernetes Event (the API object), kept for the reader of a report.
type KubeNote struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Source    string `json:"source,omitempty"`
}

// Gap says that a watch may have missed changes between Since and the event's own moment.
type Gap struct {
	What  string `json:"what"` // pods, nodes, ...
	Since Offset `json:"since"`
	Why   string `json:"why"`
	// Bridged says that nothing was missed after all: every change of that time is in the record, in its order, but may be
	// told later than it happened, at the end of the gap. False of all in a record that is older than this.
	Bridged bool `json:"bridged,omitempty"`
}

// Clock says how a load worker's clock was mapped to the run's: worker time + Offset = run time, right within
// Uncertainty (half of the shortest round trip seen).
type Clock struct {
	Worker      string `json:"worker"`
	Offset      Offset `json:"offset"`
	Uncertainty Offset `json:"uncertainty"`
}

// LoadTotals are a worker's own final counts of one lane. Planned = Sent + Unsent always, and equals the rows recorded.
type LoadTotals struct {
	Worker  string `json:"worker"`
	Lane    Lane   `json:"lane"`
	Planned uint64 `json:"planned"`
	Sent    uint64 `json:"sent"`
	Unsent  uint64 `json:"unsent"`
}

// GatewayTotals are a gateway's own counts while the load flowed, written once it had ended. What a retry of its saved,
// clients did not see.
type GatewayTotals struct {
	Requests uint64 `json:"requests"`
	Tries    uint64 `json:"tries"`  // of upstreams
	Masked   uint64 `json:"masked"` // requests that were answered well, and only because of another try
	Failed   uint64 `json:"failed"` // requests that no upstream answered
}

// Segment says that a file of requests is closed and whole.
type Segment struct {
	File     string `json:"file"` // below requests/
	Rows     uint64 `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"` // CRC-32C of the file, hexadecimal
}

// Trouble is something that went wrong with the harness or its surroundings and weakens the evidence.
type Trouble struct {
	What string `json:"what"`
	// Interrupted says that the harness was told to end: see Run.Interrupted.
	Interrupted bool `json:"interrupted,omitempty"`
}

// End is the last line: nothing was cut off. Lines counts the lines before it. Checksum, the last field, is the CRC-32C
// of all that stands in the file before its own digits, in hexadecimal.
type End struct {
	Lines    uint64 `json:"lines"`
	Checksum string `json:"checksum"`
}
