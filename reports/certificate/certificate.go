// Package certificate is the document about an upgrade of Kubernetes in place: what held before it, during it and after it, side by
// side, and for each profile whether that is enough to certify. Write writes it as JSON, YAML, Markdown and a page; Read reads it.
//
// Package certify makes it.
package certificate

import (
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// The name and version of the document. A version may gain fields, and readers skip fields that they do not know. Removing a field, or
// changing its meaning, makes a new version.
const (
	APIVersion = "holdfast.dev/v1"
	Kind       = "UpgradeCertificate"
)

// Result is the result of a profile, a feature, or the certificate in one word.
type Result string

// The results. The last four are of features only.
const (
	Certified    Result = "certified"
	Partial      Result = "partial"       // a part is certified, and nothing was seen broken
	NotCertified Result = "not certified" // something was seen broken, or nothing is certified
	Skipped      Result = "skipped"       // left out on purpose
	NotSupported Result = "not supported" // the environment cannot do it, for example this kernel
	NoEvidence   Result = "unknown"       // evidence is missing
	Interrupted  Result = "interrupted"   // the certification was interrupted
)

// Certificate is certificate.json and certificate.yaml. Durations are in seconds, and their names end in Seconds. Lists are
// empty, never null.
type Certificate struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	ID         string    `json:"id"`
	Issued     time.Time `json:"issued"`
	Holdfast   string    `json:"holdfast"` // version of the harness
	// Cluster is the upgraded cluster, if holdfast did not make it; absent otherwise.
	Cluster   *Cluster `json:"cluster,omitempty"`
	From      Release  `json:"from"`
	To        Release  `json:"to"`
	Machine   Machine  `json:"machine"`
	Seed      uint64   `json:"seed"`
	Reproduce string   `json:"reproduce"` // a command
	// Planted names a regression that was introduced on purpose. The certificate must then fail.
	Planted string `json:"planted,omitempty"`
	// Result sums up the profiles and the application. Reasons are everything that kept them from being certified.
	Result   Result    `json:"result"`
	Reasons  []string  `json:"reasons"`
	Profiles []Profile `json:"profiles"`
	Upgrade  Upgrade   `json:"upgrade"`
	// Application is the user's own application, which was on another cluster during the same upgrade; absent if none was named.
	Application *Application `json:"application,omitempty"`
	// Scenarios are those of the profiles, each once.
	Scenarios []Scenario `json:"scenarios"`
	// Skipped and NotSupported list the scenarios that were not tried. They count for nothing.
	Skipped      []NotTried    `json:"skipped"`
	NotSupported []NotTried    `json:"notSupported"`
	Failure      *Failure      `json:"failure,omitempty"` // where the upgrade stopped
	Deprecations []Deprecation `json:"deprecations"`
}

// Release is a version of Kubernetes, and the node image that has it.
type Release struct {
	Kubernetes string `json:"kubernetes"` // "v1.37.0"
	Image      string `json:"image"`
	Digest     string `json:"digest,omitempty"`
	// Components are the versions of what comes with it: etcd, coredns, containerd, ...
	Components map[string]string `json:"components,omitempty"`
	// Digests are those of their images, by the same names.
	Digests map[string]string `json:"digests,omitempty"`
}

// Machine is what the clusters ran on.
type Machine struct {
	Cores  int    `json:"cores"`
	Engine string `json:"engine,omitempty"` // podman 5.4.2
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch,omitempty"`
}

// Cluster is a cluster that holdfast did not make, and that a command of its owner has upgraded.
type Cluster struct {
	Name string `json:"name"`          // the context of the kubeconfig
	UID  string `json:"uid,omitempty"` // of namespace kube-system; absent if the user must not read it
	User string `json:"user,omitempty"`
	// Namespaces are those that were recorded; empty: all.
	Namespaces []string `json:"namespaces"`
	// Command upgraded it.
	Command string             `json:"command"`
	Probes  []ApplicationProbe `json:"probes"`
	Facts   []reports.Fact     `json:"facts"` // from before the upgrade
}

// Profile is what a cluster must be able to do, and whether it is.
type Profile struct {
	Name     string    `json:"name"`
	Result   Result    `json:"result"`
	Reasons  []string  `json:"reasons"`
	Features []Feature `json:"features"`
}

// Feature is a part of a profile.
type Feature struct {
	Name      string   `json:"name"`
	Result    Result   `json:"result"`
	Scenarios []string `json:"scenarios"` // by name; see Certificate.Scenarios
}

// Scenario is one claim, before the upgrade and after it.
type Scenario struct {
	Name  string `json:"name"`
	Claim string `json:"claim"`
	// Verdict is the worse of both sides.
	Verdict     reports.Result `json:"verdict"`
	Before      Side           `json:"before"`
	After       Side           `json:"after"`
	Differences []Difference   `json:"differences"`
}

// Side is what was found of a scenario on one side of the upgrade, and of the upgrade itself.
type Side struct {
	Verdict reports.Result `json:"verdict"`
	Why     string         `json:"why"` // what decided it
	// Promises are the judged ones; empty if the scenario did not run.
	Promises []Promise `json:"promises"`
	// Requests of all lanes but control.
	Requests uint64 `json:"requests"`
	Failed   uint64 `json:"failed"`
	Unsent   uint64 `json:"unsent"` // missing evidence
	// UpperBound95 is the share of requests that may fail although none did: 3/N of the lane with the fewest. Absent if a request
	// failed, or none was sent.
	UpperBound95 *float64            `json:"upperBound95,omitempty"`
	Disruptions  reports.Disruptions `json:"disruptions"`
	Lanes        []Lane              `json:"lanes"`
	Causes       []reports.Cause     `json:"causes"` // why requests failed, the most frequent first
	// RecoverySeconds is from the beginning of the last revert until the workload had settled for good, including its endpoints.
	// Absent if nothing had to recover, or the workload did not.
	RecoverySeconds *float64 `json:"recoverySeconds,omitempty"`
	// SettledSkew is the largest difference between zones while the workload had settled. Absent without a single workload.
	SettledSkew *int `json:"settledSkew,omitempty"`
	// Kubernetes is what its cluster ran, as the record says.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Record is the folder of the record, relative to the certificate, with slashes; empty without a record.
	Record    string `json:"record,omitempty"`
	Reproduce string `json:"reproduce,omitempty"` // a command
}

// Promise is the verdict on a promise.
type Promise struct {
	Promise  string         `json:"promise"`
	Kind     string         `json:"kind"` // for example NoFailedRequests
	Verdict  reports.Result `json:"verdict"`
	Seen     string         `json:"seen"`
	Cause    string         `json:"cause,omitempty"` // of a violated promise, if the cause is known
	Evidence []string       `json:"evidence"`
}

// Lane is the load of one lane. The control lane leads to the worker's own pod.
type Lane struct {
	Name         string   `json:"name"`
	Requests     uint64   `json:"requests"`
	Failed       uint64   `json:"failed"`
	Unsent       uint64   `json:"unsent"`
	UpperBound95 *float64 `json:"upperBound95,omitempty"`
	P99Seconds   float64  `json:"p99Seconds"` // from when a request was due; of those that did not fail
}

// Difference is a marked difference between the sides, see Marked.
type Difference struct {
	What   string `json:"what"` // "verdict", a promise's kind, "recovery", "p99", "skew"
	Before string `json:"before"`
	After  string `json:"after"`
	Worse  bool   `json:"worse"` // after the upgrade than before
}

// Upgrade is the upgrade itself, under load.
type Upgrade struct {
	Scenario string `json:"scenario,omitempty"`
	Side
	TookSeconds float64   `json:"tookSeconds"` // its record
	Steps       []Step    `json:"steps"`
	Evictions   Evictions `json:"evictions"`
	Budgets     []Budget  `json:"budgets"`
	WatchGaps   []Gap     `json:"watchGaps"`
}

// StepResult says how a step ended.
type StepResult string

// The results of a step.
const (
	StepDone     StepResult = "done"
	StepFailed   StepResult = "failed"
	StepNotEnded StepResult = "not ended" // its end was never recorded
)

// Step is a step of the upgrade.
type Step struct {
	ID           int        `json:"id"`
	What         string     `json:"what"`
	Node         string     `json:"node,omitempty"`
	From         string     `json:"from,omitempty"` // a version
	To           string     `json:"to,omitempty"`
	BeganSeconds float64    `json:"beganSeconds"` // since the base of its record
	TookSeconds  float64    `json:"tookSeconds"`
	Result       StepResult `json:"result"`
	Error        string     `json:"error,omitempty"`
	// Requests were sent during the step, on all lanes but control.
	Requests uint64 `json:"requests"`
	Failed   uint64 `json:"failed"`
}

// Evictions are the answers that the harness got from the eviction API.
type Evictions struct {
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
}

// Budget is a PodDisruptionBudget, and the moment at which it had the fewest healthy pods to spare.
type Budget struct {
	Namespace      string `json:"namespace"`
	Name           string `json:"name"`
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	LeastHealthy   int    `json:"leastHealthy"`
	DesiredHealthy int    `json:"desiredHealthy"` // at that moment
}

// Gap is a time in which a watch may have missed changes.
type Gap struct {
	What        string  `json:"what"` // pods, nodes, ...
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
	Why         string  `json:"why"`
}

// NotTried is a scenario that did not run.
type NotTried struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Failure is where the upgrade stopped.
type Failure struct {
	Step  string `json:"step"`
	Node  string `json:"node,omitempty"`
	Why   string `json:"why"`
	Cause string `json:"cause,omitempty"` // see CauseOf
}

// Deprecation is an API of a manifest that a version warns of.
type Deprecation struct {
	Object  string `json:"object"` // "PodDisruptionBudget backend"
	API     string `json:"api"`    // "policy/v1beta1"
	Message string `json:"message"`
	// Before and After are the sides that warned.
	Before bool `json:"before"`
	After  bool `json:"after"`
}

// Application is an application of the user's own, and what was found while its cluster was upgraded.
type Application struct {
	Name   string `json:"name"`   // its namespace
	Source string `json:"source"` // the file that describes it
	Digest string `json:"digest"` // SHA-256 of its objects and probes
	// Images are the names of its images, as its objects have them.
	Images []string           `json:"images"`
	Probes []ApplicationProbe `json:"probes"`
	Notes  []string           `json:"notes,omitempty"` // what of it was not deployed, and why
	Result Result             `json:"result"`
	// Reasons are what keeps it from being certified.
	Reasons []string `json:"reasons"`
	Upgrade Upgrade  `json:"upgrade"`
}

// ApplicationProbe is a request that was sent again and again.
type ApplicationProbe struct {
	Name string  `json:"name"`
	URL  string  `json:"url"`
	Rate float64 `json:"rate"` // requests a second on each lane
}
