package reports

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Model is what a report says of a run: all formats are written from it, so they cannot disagree. Build makes one.
type Model struct {
	RunID    string
	Started  time.Time     // wall clock, zero when unknown
	Took     time.Duration // zero when unknown
	Holdfast string        // version of the harness
	Seed     uint64
	Profile  string
	Cluster  history.ClusterInfo // of the first scenario that says
	// Reproduce is the command that runs the whole again.
	Reproduce string
	// Damaged says why run.json, which is there, could not be read; nil: it could.
	Damaged error
	// Interrupted says by what the run was interrupted, such as SIGINT; empty: it was not.
	Interrupted string
	// Incident is what the scenarios retell; nil: none.
	Incident *history.Incident
	// Trouble says what is wrong with the run's own record; empty when nothing is.
	Trouble   []string
	Scenarios []Scenario
}

// Scenario is one scenario of a run. All moments are offsets from the run's base, as in its record.
type Scenario struct {
	Name  string // suite/name
	Claim string // the sentence that can be false
	// Result sums up the verdicts; Why says what decided it, in one sentence.
	Result   Result
	Why      string
	Verdicts []verdict.Verdict
	// Mutant is set when the workload, or the harness, was broken on purpose.
	Mutant *history.Mutant
	// Caught is the verdict on the mutant, made from its record; nil without a record.
	Caught *verdict.Verdict
	// TwinNote says what a reader must know of the mutant's twin; empty: it held in the same run.
	TwinNote string
	// Incomplete says why the record is not whole; empty when it is.
	Incomplete string
	NotJudged  bool     // the harness failed before
	Trouble    []string // what weakened the evidence: troubles of the harness, gaps in a watch

	From, To history.Offset // what the timeline shows; equal when there is no record
	// End is the last event of the record. Requests may go on after it when the record is not whole.
	End    history.Offset
	Took   time.Duration
	Phases []history.PhaseSpan
	Faults []history.FaultLife
	// Met is what each of the Faults met while it was on, in their order.
	Met   []Met
	Zones []Zone
	// Lanes are the load, as planned first, the control lane last. Empty without traffic.
	Lanes []Lane
	// Causes say why requests failed, that of most first. Empty when none failed.
	Causes []attribution.CauseCount
	// Gateway is what a gateway counted of the load by itself; nil without one, or if it could not be asked.
	Gateway *history.GatewayTotals
	// BucketWidth is the time that one Bucket covers; zero without traffic.
	BucketWidth time.Duration
	// OffAxis counts requests that were due outside From and To: they are in the totals and in no bucket.
	OffAxis uint64

	Disruptions Disruptions
	Noise       Noise
	APIAway     APIAway
	Seed        uint64
	Cluster     history.ClusterInfo
	Reproduce   string // the command that runs this scenario again
}

// Zone is a topology domain and its nodes. The name is empty for nodes without one.
type Zone struct {
	Name  string
	Nodes []Node
}

// Node is a node and the pods that were bound to it. The name is empty for pods that were never bound.
type Node struct {
	Name  string
	Spans []NodeSpan
	Pods  []Pod
}

// NodeSpan is a time in which a node's state did not change. The states are those of package timeline.
type NodeSpan = objects.Span[objects.NodeState]

// Pod is a pod's life.
type Pod struct {
	Name     string
	Workload string // the Deployment it belongs to; empty for pods of none
	// Generation counts the workload's pod templates in the order they were seen, from 0.
	Generation int
	Restarts   int
	Disruption string // the reason of its DisruptionTarget condition
	Trouble    string // why it could not be scheduled or started, as last seen
	Spans      []PodSpan
}

// PodSpan is a time in which a pod's state did not change. After the last span the pod has ended.
type PodSpan = objects.Span[objects.PodState]

// Disruptions counts what was taken away while the run was disturbed.
type Disruptions struct {
	PodTerminations int
	NodeLosses      int
}

// Total is the number of disruption events.
func (d Disruptions) Total() int { return d.PodTerminations + d.NodeLosses }

// Met is what a fault met from its beginning until it was healed: without requests in flight, and without anything that was
// taken away, nothing was tried.
type Met struct {
	Requests        uint64 // sent to the system under test, and in flight at some moment of it
	PodTerminations int
	PodRestarts     int
	NodeLosses      int
}

// Lane is the load of one lane.
type Lane struct {
	Name          history.Lane
	Target        string
	RatePerSecond float64 // as planned; zero when the record has no plan for the lane
	OK            uint64
	Failed        uint64
	Unsent        uint64
	Outcomes      map[history.Outcome]uint64 // failures by kind
	// GatewayTries is how many upstreams the gateway tried for these requests, as its answers say; zero without a gateway.
	// MaskedByGateway were answered well, and only because it tried more than one.
	GatewayTries, MaskedByGateway uint64
	// FirstFailure and LastFailure are when the first failed request was due and when the last one ended.
	FirstFailure, LastFailure history.Offset
	// Latency is from when a request was due, Service from when it was sent, until the response had been read. Of OK
	// requests only: the others are counted as failures.
	Latency, Service Quantiles
	// Lag is how long after it was due a request was sent; LatestSend is its maximum.
	Lag        Quantiles
	LatestSend time.Duration
	Buckets    []Bucket
}

// Sent is how many requests went out.
func (l Lane) Sent() uint64 { return l.OK + l.Failed }

// Quantiles of a set of durations; zero when it is empty.
type Quantiles struct {
	P50, P90, P99, P999, Max time.Duration
}

// Bucket counts the requests that were due within one BucketWidth, the first from Scenario.From on.
type Bucket struct {
	OK, Failed, Unsent uint32
	P50, P99, Max      time.Duration // from due, of OK requests; within 7 % but Max, which is exact
}
