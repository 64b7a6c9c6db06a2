package history

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Event is one line of events.jsonl: a time, and exactly one other field that is not nil.
type Event struct {
	T Offset `json:"t"` // nanoseconds since the base

	Header    *Header        `json:"header,omitempty"`
	Phase     *Phase         `json:"phase,omitempty"`
	Fault     *FaultMark     `json:"fault,omitempty"`
	Step      *Step          `json:"step,omitempty"`
	Pod       *Pod           `json:"pod,omitempty"`
	Node      *Node          `json:"node,omitempty"`
	Server    *Server        `json:"server,omitempty"`
	Workload  *Workload      `json:"workload,omitempty"`
	Slice     *Slice         `json:"slice,omitempty"`
	Budget    *Budget        `json:"budget,omitempty"`
	Eviction  *Eviction      `json:"eviction,omitempty"`
	Audit     *Audit         `json:"audit,omitempty"`
	Admission *Admission     `json:"admission,omitempty"`
	Warning   *APIWarning    `json:"warning,omitempty"`
	KubeNote  *KubeNote      `json:"kubeNote,omitempty"`
	Gap       *Gap           `json:"gap,omitempty"`
	Resumed   *Resumed       `json:"resumed,omitempty"`
	Clock     *Clock         `json:"clock,omitempty"`
	Noise     *Noise         `json:"noise,omitempty"`
	Echo      *Echo          `json:"echo,omitempty"`
	Reach     *Reach         `json:"reach,omitempty"`
	Share     *LoadShare     `json:"share,omitempty"`
	Load      *LoadTotals    `json:"load,omitempty"`
	Gateway   *GatewayTotals `json:"gateway,omitempty"`
	Segment   *Segment       `json:"segment,omitempty"`
	Trouble   *Trouble       `json:"trouble,omitempty"`
	End       *End           `json:"end,omitempty"`
}

// PhaseName names a phase of a scenario. A phase lasts until the next phase begins.
type PhaseName string

// The phases, in order. Load flows from the start of Steady until the end of Recovered.
const (
	Provision PhaseName = "provision"
	Deploy    PhaseName = "deploy"
	Steady    PhaseName = "steady"
	Disturbed PhaseName = "disturbed" // from before the first fault is injected until the last one is reverted
	Recovered PhaseName = "recovered"
	Drained   PhaseName = "drained" // the load has stopped, results are being collected
)

// Phase marks the beginning of a phase.
type Phase struct {
	Name PhaseName `json:"name"`
}

// FaultStage is a stage of a fault.
type FaultStage string

// The stages. Injecting and Healing are when the harness began to inject and to revert the fault; Seen and Healed are when
// the witness saw the result. Lasting is a second check by the witness, just before Healing, that the fault is still
// active. Older records do not have Lasting, nor do faults that are over as soon as they are seen, such as deleting pods.
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
	// Nodes and Pods are what the fault affected; known from Seen on.
	Nodes []string `json:"nodes,omitempty"`
	Pods  []string `json:"pods,omitempty"`
	// Witness describes what the witness saw.
	Witness string `json:"witness,omitempty"`
	// Hit is the number of the witness's probes that were affected, for faults that no watch can see, such as packet loss. Without Nodes, it was
	// the Pods that were looked at.
	Hit int `json:"hit,omitempty"`
	// Processes is the number of a component's processes that the witness saw running before and missing now. No watch sees
	// processes.
	Processes int `json:"processes,omitempty"`
	// Error is set if the stage was not reached; the evidence of the fault is then incomplete.
	Error string `json:"error,omitempty"`
	// Voluntary is set of what takes pods away in an orderly way, so that no request has to fail. No harness records it: it is derived
	// from what disturbed a recording, see Recorded.
	Voluntary bool `json:"voluntary,omitempty"`
	// NotSupported, together with an Error, is why the environment cannot run the fault, for example a missing kernel
	// feature.
	NotSupported string `json:"notSupported,omitempty"`
}

// Change is how an object came to be reported.
type Change string

// The changes. Listed: in the result of a list request, at the start or after a gap.
const (
	Listed   Change = "listed"
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
)

// Pod is a pod as reported by a watch.
type Pod struct {
	Change    Change            `json:"change"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	UID       string            `json:"uid"`
	Labels    map[string]string `json:"labels,omitempty"`
	Owner     Owner             `json:"owner,omitempty"`
	Node      string            `json:"node,omitempty"` // empty until bound
	IP        string            `json:"ip,omitempty"`
	Phase     string            `json:"phase"`
	Ready     bool              `json:"ready"`
	Restarts  int               `json:"restarts,omitempty"`
	// CPU is the CPU request that the kubelet has applied to the pod's containers, as a Kubernetes quantity ("20m"). It
	// differs from the spec during a resize. Empty: the kubelet has not reported it.
	CPU string `json:"cpu,omitempty"`
	// Deleting is true once the deletion was accepted (deletionTimestamp is set).
	Deleting bool `json:"deleting,omitempty"`
	// Disruption is the reason of a true DisruptionTarget condition: EvictionByEvictionAPI, PreemptionByScheduler,
	// DeletionByTaintManager, TerminationByKubelet, ... Empty for direct deletions, scale-downs and rollouts.
	Disruption string `json:"disruption,omitempty"`
	// Unschedulable is the scheduler's message while it cannot bind the pod.
	Unschedulable string `json:"unschedulable,omitempty"`
	// Waiting is the reason of a waiting container, such as CrashLoopBackOff.
	Waiting string `json:"waiting,omitempty"`
	// Killed means that a container of a pod that is being deleted ended by SIGKILL, as at the end of the grace period. One that ran out
	// of memory does not count. False in older records.
	Killed bool `json:"killed,omitempty"`
	// Rules are the pod's scheduling constraints in Kubernetes' JSON: nodeSelector, tolerations, topologySpreadConstraints,
	// and required affinity; {} if there are none. Only Listed and Added events contain them, see State. In older records
	// no event has them.
	Rules json.RawMessage `json:"rules,omitempty"`
	// Lifecycle is present in the same events as Rules; nil in all events of older records.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
}

// Lifecycle is how a pod starts and terminates, according to its spec.
type Lifecycle struct {
	// Readiness is true if every container has a readiness probe, so that the pod is not ready before the probes succeed.
	Readiness bool `json:"readiness,omitempty"`
	// PreStop is the longest preStop sleep, after which SIGTERM is sent; zero: at once. Hooks of other kinds count as zero,
	// because the spec does not contain their duration.
	PreStop time.Duration `json:"preStop,omitempty"`
	// Grace is the time from the deletion to SIGKILL.
	Grace time.Duration `json:"grace,omitempty"`
	// Containers are those that run as long as the pod, if there are several. Older records have none.
	Containers []Container `json:"containers,omitempty"`
}

// Container is how one of a pod's containers ends, and which TCP ports it declares. A sidecar gets SIGTERM only after all other containers have
// ended. The preStop hooks of all begin at the same time.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
type Container struct {
	Name    string        `json:"name"`
	Sidecar bool          `json:"sidecar,omitempty"`
	PreStop time.Duration `json:"preStop,omitempty"` // as of Lifecycle
	Ports   []int32       `json:"ports,omitempty"`
}

// Ended reports whether all containers of the pod have terminated for good. Such a pod holds no resources and counts for
// nothing. A pod that a kubelet evicted stays in this state.
func (p Pod) Ended() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// Node is a node as reported by a watch.
type Node struct {
	Change        Change            `json:"change"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Ready         string            `json:"ready"` // True, False or Unknown
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Taints        []string          `json:"taints,omitempty"` // key=value:effect
	// Kubelet is the version of the node's kubelet. Empty in older records.
	Kubelet string `json:"kubelet,omitempty"`
}

// UnderPressure reports whether the node controller has tainted the node because its kubelet reports memory or disk pressure.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-conditions
func (n Node) UnderPressure() bool {
	return slices.ContainsFunc(n.Taints, func(taint string) bool {
		return strings.HasPrefix(taint, "node.kubernetes.io/memory-pressure") || strings.HasPrefix(taint, "node.kubernetes.io/disk-pressure")
	})
}

// Workload is a Deployment, a StatefulSet or a DaemonSet as reported by a watch: its spec and its status.
type Workload struct {
	Change      Change            `json:"change"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	StatefulSet bool              `json:"statefulSet,omitempty"` // false in older records
	DaemonSet   bool              `json:"daemonSet,omitempty"`
	Selector    map[string]string `json:"selector"`
	// SelectsBy is the whole selector in kubectl's syntax, if it contains more than the labels of Selector.
	SelectsBy    string            `json:"selectsBy,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Spread is the pod template's topologySpreadConstraints in Kubernetes' JSON.
	Spread json.RawMessage `json:"spread,omitempty"`
	// Template changes whenever the pod template does, which begins a rollout. Empty in older records.
	Template  string `json:"template,omitempty"`
	Replicas  int    `json:"replicas"` // of a DaemonSet: the nodes that should have a pod
	Updated   int    `json:"updated"`
	Ready     int    `json:"ready"`
	Available int    `json:"available"`
	// Total is status.replicas: all pods that are not yet gone, old revisions included.
	Total    int  `json:"total"`
	Observed bool `json:"observed"` // the controller has seen the newest generation
	// Overdue is the message of a Deployment whose rollout has made no progress within its deadline (Progressing=False), and Refused that of
	// one whose pods cannot be created (ReplicaFailure=True). Empty in older records.
	Overdue string `json:"overdue,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Settled reports whether all replicas are of the newest revision and available, and there are no other pods.
func (w Workload) Settled() bool {
	return w.Observed && w.Updated == w.Replicas && w.Available == w.Replicas && w.Total == w.Replicas
}

// Slice is an EndpointSlice as reported by a watch.
type Slice struct {
	Change    Change     `json:"change"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Service   string     `json:"service"`
	Ports     []int32    `json:"ports,omitempty"` // of the pods; none in older records
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

// Budget is a PodDisruptionBudget as reported by a watch.
type Budget struct {
	Change    Change            `json:"change"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Selector  map[string]string `json:"selector"`
	// SelectsBy is the whole selector in kubectl's syntax, if it contains more than the labels of Selector.
	SelectsBy      string `json:"selectsBy,omitempty"`
	MinAvailable   string `json:"minAvailable,omitempty"`   // number or percentage
	MaxUnavailable string `json:"maxUnavailable,omitempty"` // number or percentage
	// UnhealthyPodEvictionPolicy is AlwaysAllow or IfHealthyBudget, the default. Empty in older records.
	UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy,omitempty"`
	// Observed reports whether the status below belongs to the newest generation.
	Observed           bool `json:"observed"`
	CurrentHealthy     int  `json:"currentHealthy"`
	DesiredHealthy     int  `json:"desiredHealthy"`
	ExpectedPods       int  `json:"expectedPods"`
	DisruptionsAllowed int  `json:"disruptionsAllowed"`
}

// Eviction is one response of the eviction API to the harness, or the loss of a response.
type Eviction struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// UID is that of the pod that existed when the eviction was requested. Empty if unknown, as in old records.
	UID      string `json:"uid,omitempty"`
	Accepted bool   `json:"accepted"`
	// Lost is why no response came; the eviction may have been accepted. Sent is when it was requested, and set only if
	// Lost is.
	Lost string `json:"lost,omitempty"`
	Sent Offset `json:"sent,omitempty"`
	// Budget is the name of the budget that refused the eviction, if the API names it.
	Budget  string `json:"budget,omitempty"`
	Message string `json:"message,omitempty"`
}

// Audit is the result of package audit's search for single points of failure of a workload.
type Audit struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	// Findings are all findings; none means that the workload is clean, apart from NotChecked.
	Findings []Finding `json:"findings"`
	// NotChecked lists the checks that were not possible, with reasons.
	NotChecked []string `json:"notChecked,omitempty"`
}

// Finding is one finding of an Audit.
type Finding struct {
	Rule     string `json:"rule"` // its ID, for example no-prestop
	Evidence string `json:"evidence"`
	// Commands are its fix as commands for a shell, and Fix is the same as JSON of a list of audit.Step, a type that this package cannot
	// import. Both are empty if no patch fixes it, and in records whose audit is not meant to be acted upon.
	Commands []string        `json:"commands,omitempty"`
	Fix      json.RawMessage `json:"fix,omitempty"`
}

// Admission is the API server's response to a dry run of a manifest.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type Admission struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"` // describes the manifest
	// Against is the ValidatingAdmissionPolicy that should refuse the manifest. Empty: none should.
	Against  string `json:"against,omitempty"`
	Accepted bool   `json:"accepted"`
	// By is the ValidatingAdmissionPolicy that refused it, if the API names it.
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
}

// KubeNote is a Kubernetes Event (the API object), kept for readers of a report.
type KubeNote struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Source    string `json:"source,omitempty"`
}

// Gap means that a watch may have missed changes between Since and the event's T.
type Gap struct {
	What  string `json:"what"` // pods, nodes, ...
	Since Offset `json:"since"`
	Why   string `json:"why"`
	// Bridged means that nothing was missed after all: the record contains every change of that time, in order, but
	// possibly dated later than it happened, at the end of the gap. False in older records.
	Bridged bool `json:"bridged,omitempty"`
}

// Clock is how a load worker's clock was mapped to the run's until now, and is from now on: worker time + Offset = run time. It is
// measured when the load begins, every minute, and at the end.
type Clock struct {
	Worker string `json:"worker"`
	Offset Offset `json:"offset"`
	// Uncertainty bounds the error of all rows that were collected before: half of the shortest round trip, and how far the offset
	// had moved since the last measurement.
	Uncertainty Offset `json:"uncertainty"`
	// Drift is how far the offset has moved since the last measurement. Zero in older records, which were measured twice.
	Drift Offset `json:"drift,omitempty"`
}

// LoadTotals are a worker's own final counts of one lane. Planned = Sent + Unsent always, and equals the number of rows.
type LoadTotals struct {
	Worker  string `json:"worker"`
	Lane    Lane   `json:"lane"`
	Planned uint64 `json:"planned"`
	Sent    uint64 `json:"sent"`
	Unsent  uint64 `json:"unsent"`
}

// GatewayTotals are a gateway's own counts while the load flowed, recorded after the load ended. They include requests that
// were saved by a retry, which clients do not see.
type GatewayTotals struct {
	Requests uint64 `json:"requests"`
	Tries    uint64 `json:"tries"`  // requests to upstreams
	Masked   uint64 `json:"masked"` // requests that were answered well only because of a retry
	Failed   uint64 `json:"failed"` // requests that no upstream answered
}

// Segment means that a requests file is closed and complete. Its size and checksum are those that it has before it is compressed.
type Segment struct {
	File     string `json:"file"` // below requests/; with packedSuffix after it if it was compressed
	Rows     uint64 `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum"` // CRC-32C of the file, hexadecimal
}

// Trouble is a problem of the harness or its environment that weakens the evidence.
type Trouble struct {
	What string `json:"what"`
	// Interrupted means that the harness was interrupted: see Run.Interrupted.
	Interrupted bool `json:"interrupted,omitempty"`
}

// End is the last line of a complete record. Lines is the number of lines before it. Checksum, the last field, is the
// CRC-32C of everything in the file before its own digits, in hexadecimal.
type End struct {
	Lines    uint64 `json:"lines"`
	Checksum string `json:"checksum"`
}

// APIWarning is a warning of the API server about an object that was created or changed, for example that an API version is
// deprecated. A record contains each text once, with the first object that it was about.
//
// Source: https://kubernetes.io/blog/2020/09/03/warnings/
type APIWarning struct {
	Object string `json:"object"` // for example "PodDisruptionBudget backend"
	Text   string `json:"text"`
}

// Warnings lists the API server's warnings, in order.
func (r Run) Warnings() []APIWarning { return all(r, func(e Event) *APIWarning { return e.Warning }) }

// StepStage is the beginning or the end of a step.
type StepStage string

// The stages of a step. A step that has begun and not ended is where the work stopped.
const (
	StepBegin StepStage = "begin"
	StepEnd   StepStage = "end"
)

// Step is a stage of one step of a long operation, such as upgrading a cluster node by node. The harness records it.
type Step struct {
	ID   int    `json:"id"`   // numbers the scenario's steps from 0; the same for both stages
	What string `json:"what"` // "drain", "kubeadm upgrade apply", "swap kubelet", "uncordon", "Ready", ...
	Node string `json:"node,omitempty"`
	// From and To are versions, if the step changes one.
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Stage StepStage `json:"stage"`
	// Error is why the step failed; only in the end stage.
	Error string `json:"error,omitempty"`
}

// Way is how the API server is reached.
type Way string

// The ways. Balanced: as clients reach it, through the load balancer in front of several control planes. In a kind cluster
// that is kind's own load balancer, so losses on this way may be caused by kind as well as by Kubernetes. Direct: one API
// server at its own address. Control: the kubelet on the probing node itself. No fault touches that node, and no network is
// involved, so losses on this way mean that the probing node had no time.
const (
	Balanced Way = "balanced"
	Direct   Way = "direct"
	Control  Way = "control"
)

// Reach is how well the API server could be reached on one way during a fault of the control plane. A node that no fault
// touches sends requests repeatedly, each on a new connection, for something that the API server reads from etcd with
// quorum. A good answer is a 200 within Wait.
type Reach struct {
	Fault int    `json:"fault"` // number of the fault in the scenario, see FaultMark.ID
	Way   Way    `json:"way"`
	Host  string `json:"host"` // the node of the API server, or the name of the balancer, or the probing node
	// Returning: the numbers cover the time from the start of reverting the fault until the revert was seen. Otherwise they
	// cover the time before that, from just before the injection.
	Returning bool `json:"returning,omitempty"`
	// Asked is the number of requests in that time, Failed the number of requests without a good answer.
	Asked  int `json:"asked"`
	Failed int `json:"failed"`
	// Longest is the longest time from one good answer to the next; if there was no further good answer, to the end.
	Longest time.Duration `json:"longest"`
	// Failing is the longest period of failures: from the first failed request to the end of the last one, with at most
	// FailuresApart between two of them. Zero: no request failed. A balancer that still sends every third connection to a
	// dead server has a long Failing but no long Longest.
	Failing time.Duration `json:"failing,omitempty"`
	// Before is Longest before the fault, when BeforeFailed of BeforeAsked requests failed. A Longest that does not exceed
	// it on this machine is not a gap.
	Before       time.Duration `json:"before"`
	BeforeAsked  int           `json:"beforeAsked"`
	BeforeFailed int           `json:"beforeFailed,omitempty"`
	// Wait is the time-out of a request.
	Wait time.Duration `json:"wait"`
}

// FailuresApart is the maximum time between two failed requests that belong to the same period of failures.
const FailuresApart = 5 * time.Second

// Reaches lists all recorded Reach events, in order.
func (r Run) Reaches() []Reach { return all(r, func(e Event) *Reach { return e.Reach }) }

// Mutant is what was broken on purpose, and which promise must catch it.
type Mutant struct {
	Removed  string `json:"removed"`
	CaughtBy string `json:"caughtBy"` // an invariant's kind
	Twin     string `json:"twin"`     // the scenario with the practice in place
	// Params are the parameters of the promise, as in the record's promises. Empty in older records: any parameters match.
	Params json.RawMessage `json:"params,omitempty"`
	// Lanes are the lanes on which requests must fail, each of them. Empty: every planned lane that the promise judges; in
	// a record without Params, at least one of those.
	Lanes []Lane `json:"lanes,omitempty"`
	// Harness is set if the harness was broken, not the workload: the promise must then be Unknown.
	Harness bool `json:"harness,omitempty"`
	// Doubt is the invariant.Doubt for which the promise must be Unknown. Empty in older records, which know only one.
	Doubt string `json:"doubt,omitempty"`
	// Cause is the invariant.Cause that the verdict must name; empty if no cause is required, as in older records.
	Cause string `json:"cause,omitempty"`
	// Reason is the judge.Reason for which the promise must break where no cause is named; empty in older records.
	Reason string `json:"reason,omitempty"`
	// Trap is set if the server waits for a request that it can harm. The share of caught runs then measures how often
	// holdfast detects a failure, not how often a server without the practice harms a request.
	Trap bool `json:"trap,omitempty"`
	// ByChance is set if the mutant need not harm any request. Catches are counted and reported, but a run that does not
	// catch it has not failed.
	ByChance bool `json:"byChance,omitempty"`
}

// Incident is an outage that happened to real users, described for others who see the same symptom.
type Incident struct {
	Name    string `json:"name"`    // kebab-case
	Story   string `json:"story"`   // the setup, and what happened
	Symptom string `json:"symptom"` // what was noticed
	Cause   string `json:"cause"`
	Fix     string `json:"fix"` // including when it is not sufficient
}

// Recorded says that a record is a recording: holdfast watched a cluster that it did not make. What disturbed the cluster, holdfast or another, is read
// from the record (package disturbances), and takes the place of the faults of other records. It is what was asked for.
//
// A recording has the phases Steady, from when everything was watched and the load flowed, and Drained, from when the load had ended.
type Recorded struct {
	// Command was run while the cluster was recorded, with its arguments; empty: none was. A Step of the name CommandStep says when.
	Command []string `json:"command,omitempty"`
	// Does are the kinds of disturbances (package disturbances) as which the watches may see what holdfast itself does in the time of the command, with the
	// node or workload: "drain of w1", "rollout of shop/web"; older records have the kinds alone. If they see none of them then, it had no effect. Empty:
	// holdfast does nothing.
	Does []string `json:"does,omitempty"`
	// For is how long the cluster was to be recorded; zero: until the command ended, or until somebody ended the recording.
	For time.Duration `json:"for,omitempty"`
	// Namespaces are those that were watched; empty: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Load is where load was sent from; empty: none was sent.
	Load LoadFrom `json:"load,omitempty"`
	// Services are those behind which the requests end, as namespace/name. Only what disturbs their pods can show something about the
	// requests. Empty: unknown, and then no promise about requests can be held.
	Services []string `json:"services,omitempty"`
	// NotWatched are the kinds of objects that were not watched, although a record usually has them.
	NotWatched []NotWatched `json:"notWatched,omitempty"`
}

// NotWatched is a kind of objects of which a record has no events, and why.
type NotWatched struct {
	What string `json:"what"` // as in Gap.What: pods, nodes, poddisruptionbudgets, ...
	Why  string `json:"why"`  // for example that the user must not list them
}

// LoadFrom is where the load of a recording was sent from.
type LoadFrom string

// The places. A difference between what was seen from inside and from outside is the front door's.
const (
	LoadInside  LoadFrom = "inside"  // from pods of the cluster
	LoadOutside LoadFrom = "outside" // from where holdfast ran
	LoadBoth    LoadFrom = "both"
)

// CommandStep is the Step.What of the command of a recording.
const CommandStep = "command"

// Resumed means that the recorder of a recording was away between Since and the event's T, for example because it was killed, and then
// continued the record. A Gap of the same time says that nothing was watched.
type Resumed struct {
	Since Offset `json:"since"`
	// Workers are the load workers that ended with the recorder. They have no totals, and sent nothing afterwards.
	Workers []string `json:"workers,omitempty"`
}

// Server is the API server as it described itself. It is recorded at the beginning, and whenever it differs.
type Server struct {
	Version string `json:"version"` // v1.37.0
}

// Fact is something that was found out about a cluster that holdfast did not make, such as what scales its nodes.
type Fact struct {
	Name string `json:"name"` // "API server", "zones", "GitOps", ...
	// Is is what was found. Empty: not known.
	Is string `json:"is,omitempty"`
	// Why is why nothing is known, or what a reader must know of the fact.
	Why string `json:"why,omitempty"`
}

// NoiseHarness is Noise.Of for the process that writes the record.
const NoiseHarness = "harness"

// Noise is how badly a part of the harness ran between Since and the event's T, measured by that part itself. Failures in
// that time may be caused by the harness instead of the system under test.
type Noise struct {
	Of    string `json:"of"` // NoiseHarness, or a load worker's name
	Since Offset `json:"since"`
	// Pause is the largest delay with which the process woke up from a short sleep. Whatever stops the process shows up
	// here.
	Pause time.Duration `json:"pause"`
	// Throttled is how long the control group had used up its CPU quota.
	Throttled time.Duration `json:"throttled,omitempty"`
	// Steal is the share of the machine's CPU time, 0 to 1, that the hypervisor gave to other machines.
	Steal float64 `json:"steal,omitempty"`
	// Used is the share of the machine's CPU time, 0 to 1, that was not idle. Waiting for input or output is idle, stolen time is not.
	// Zero in older records.
	Used float64 `json:"used,omitempty"`
	// CPU is the share of time, 0 to 1, in which a task on the machine waited for a processor: pressure stall information, the line "some"; zero if
	// the kernel does not provide it.
	//
	// Source: https://docs.kernel.org/accounting/psi.html
	CPU float64 `json:"waitCPU,omitempty"`
	// Groups are the control groups of the nodes, which NoiseHarness reads where it runs on their machine; nil elsewhere and in older records.
	Groups *CPUGroups `json:"groups,omitempty"`
}

// Echo is the harness's own change of an object, reported back by a watch at the event's T: it measures how late the
// harness hears of changes.
type Echo struct {
	Sent Offset `json:"sent"`
	// Taken is how long the API server took to respond to the change. Zero in older records.
	Taken Offset `json:"taken,omitempty"`
	// Error is why the change was not made. No watch reports the change then, and the event's T is when the error was
	// known.
	Error string `json:"error,omitempty"`
}

// CPUGroups is how much processor time control groups used, in processors, if it was at least a hundredth of one, and how long a CPU quota held
// the nodes back, of which no process inside of a node sees anything.
type CPUGroups struct {
	// Unknown is why nothing is known of them, in the first sample.
	Unknown    string             `json:"unknown,omitempty"`
	Processors int                `json:"processors,omitempty"` // of the machine
	Pods       map[string]float64 `json:"pods,omitempty"`       // by UID
	Nodes      map[string]float64 `json:"nodes,omitempty"`      // what a node used besides these pods, by name
	Harness    float64            `json:"harness,omitempty"`    // this process, and the commands that it ran
	Quota      *CPUQuota          `json:"quota,omitempty"`      // that held nodes back most; nil: none did
}

// CPUQuota is the CPU quota of a control group that contains nodes, or is one.
type CPUQuota struct {
	Group string `json:"group"` // its path
	// Held is for how long it kept processors from running what was ready to run, and Used how long they ran it; sums over all processors.
	Held time.Duration `json:"held"`
	Used time.Duration `json:"used"`
}
