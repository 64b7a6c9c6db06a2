package history

import (
	"encoding/json"
	"iter"
	"time"
)

// FormatVersion is the version of the files below a scenario's folder. A reader takes its own version and older ones.
const FormatVersion = 1

// Run is the record of one scenario: what an invariant judges.
type Run struct {
	Header Header
	// Events are all that was seen but the requests, ordered by T.
	Events []Event
	// Requests reads the requests again from the start at every call, ordered within a worker by Done.
	Requests Requests
	// Incomplete says why the record is not whole (a killed harness, a truncated or corrupted file). Empty: it is whole.
	Incomplete string
}

// Requests is a sequence that can be read any number of times. The request pointed at is valid until the next step. An
// error ends the sequence: what came before it stands, and the record is not whole.
type Requests func() iter.Seq2[*Request, error]

// Header says what was asked: the first line of events.jsonl.
type Header struct {
	Format   int       `json:"format"`
	RunID    string    `json:"runID"`
	Scenario string    `json:"scenario"` // suite/name, for example "chaos/drain-one-worker"
	Claim    string    `json:"claim"`    // the sentence that can be false
	Base     time.Time `json:"base"`     // wall-clock time of offset zero, for people
	Seed     uint64    `json:"seed"`
	Holdfast string    `json:"holdfast"` // version of the harness
	// Cluster is what the scenario ran on.
	Cluster ClusterInfo `json:"cluster"`
	// Promises are the invariants to judge, in order, as invariant.Encode wrote them.
	Promises []Promise `json:"promises"`
	// Mutant is set when the workload was broken on purpose.
	Mutant *Mutant `json:"mutant,omitempty"`
	// Plan says what load was asked for; nil for a scenario without traffic.
	Plan *Plan `json:"plan,omitempty"`
	// Samples says what the record has to have of the harness itself, so that its silence is missing evidence: see SamplesOfItself.
	// Zero in a record that is older than this.
	Samples int `json:"samples,omitempty"`
}

// SamplesOfItself is the Header.Samples of a record that has, for as long as the cluster is watched, a Noise of the harness for
// every second and an Echo for each change of its own, be it that it came back or that it failed.
const SamplesOfItself = 1

// ClusterInfo describes the cluster of a run.
type ClusterInfo struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
	Provider   string `json:"provider"`
	Engine     string `json:"engine"`
	Image      string `json:"image"`
	Profile    string `json:"profile"` // lab or stock
	ProxyMode  string `json:"proxyMode"`
	// Balancer is the program that stands before several control planes; empty where there is none, and in older records.
	Balancer string  `json:"balancer,omitempty"`
	Timings  Timings `json:"timings"`
}

// Timings say how soon the run's cluster notices and acts on a lost node; predictions are derived from them. The
// fields are Kubernetes' own, see clusters.Timings.
type Timings struct {
	NodeStatusUpdate  time.Duration `json:"nodeStatusUpdate"`
	NodeLease         time.Duration `json:"nodeLease"`
	NodeMonitorPeriod time.Duration `json:"nodeMonitorPeriod"`
	NodeMonitorGrace  time.Duration `json:"nodeMonitorGrace"`
	Toleration        time.Duration `json:"toleration"`
}

// Promise is an invariant in storable form.
type Promise struct {
	Kind   string          `json:"kind"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Plan is the load that was asked for.
type Plan struct {
	Lanes []LanePlan `json:"lanes"`
}

// LanePlan is one lane of a plan.
type LanePlan struct {
	Lane          Lane    `json:"lane"`
	Target        string  `json:"target"` // URL
	RatePerSecond float64 `json:"ratePerSecond"`
}
