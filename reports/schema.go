package reports

import "time"

// SchemaVersion names the shape of report.json. Fields may be added to a version; one that changes or goes away, or
// changes its meaning, makes a new version.
const SchemaVersion = "holdfast.dev/report/v1"

// Report is report.json. Durations are in seconds, and their names end in Seconds; moments are seconds since the run's
// base. Lists are empty, never null.
type Report struct {
	SchemaVersion string           `json:"schemaVersion"`
	RunID         string           `json:"runID"`
	Result        Result           `json:"result"`            // Held, Violated, Unknown or Interrupted
	Started       *time.Time       `json:"started,omitempty"` // wall clock
	TookSeconds   float64          `json:"tookSeconds"`
	Holdfast      string           `json:"holdfast"` // version of the harness
	Seed          uint64           `json:"seed"`
	Profile       string           `json:"profile"`
	Cluster       ReportCluster    `json:"cluster"`
	Counts        ReportCounts     `json:"counts"`
	Reproduce     string           `json:"reproduce"`             // a command
	Interrupted   string           `json:"interrupted,omitempty"` // by what, such as SIGINT
	Incident      *ReportIncident  `json:"incident,omitempty"`
	Trouble       []string         `json:"trouble"` // what is wrong with the run's own record
	Scenarios     []ReportScenario `json:"scenarios"`
	// Confusion is absent when fewer than two mutants name the cause that they plant.
	Confusion *ReportConfusion `json:"confusion,omitempty"`
}

// ReportConfusion lays the causes that mutants planted against those that their verdicts reported.
type ReportConfusion struct {
	Agree int                   `json:"agree"` // mutants caught for the reason that was planted
	Of    int                   `json:"of"`
	Pairs []ReportConfusionPair `json:"pairs"`
}

// ReportConfusionPair is one field of the matrix that is not zero.
type ReportConfusionPair struct {
	Planted  string `json:"planted"`
	Reported string `json:"reported"` // "none" where none was named
	Mutants  int    `json:"mutants"`
}

// ReportCause is how many requests failed for a reason.
type ReportCause struct {
	Cause  string `json:"cause"`
	Words  string `json:"words"`
	Failed uint64 `json:"failed"`
	Known  string `json:"known"` // how that is known; empty: it is not
}

// ReportIncident is an outage that the scenarios retell.
type ReportIncident struct {
	Name    string `json:"name"`
	Story   string `json:"story"`
	Symptom string `json:"symptom"`
	Cause   string `json:"cause"`
	Fix     string `json:"fix"`
}

// ReportCounts says how many scenarios ended how.
type ReportCounts struct {
	Held     int `json:"held"`
	Violated int `json:"violated"`
	Unknown  int `json:"unknown"`
	Caught   int `json:"caught"` // mutants
	Missed   int `json:"missed"` // mutants
	// Escaped are mutants that are caught by chance, and were not; left out where there are none.
	Escaped int `json:"escaped,omitempty"`
	// Unsupported is how many could not be tried where the run was; left out where there are none.
	Unsupported int `json:"unsupported,omitempty"`
	// Interrupted and NotBegun are how many were left because the run was interrupted; left out where there are none.
	Interrupted int `json:"interrupted,omitempty"`
	NotBegun    int `json:"notBegun,omitempty"`
}

// ReportCluster says what a scenario ran on.
type ReportCluster struct {
	Name       string        `json:"name"`
	Kubernetes string        `json:"kubernetes"`
	Provider   string        `json:"provider"`
	Engine     string        `json:"engine"`
	Image      string        `json:"image"`
	Profile    string        `json:"profile"`
	ProxyMode  string        `json:"proxyMode"`
	Timings    ReportTimings `json:"timings"`
}

// ReportTimings say how soon the cluster notices a lost node. See clusters.Timings.
type ReportTimings struct {
	NodeStatusUpdateSeconds  float64 `json:"nodeStatusUpdateSeconds"`
	NodeLeaseSeconds         float64 `json:"nodeLeaseSeconds"`
	NodeMonitorPeriodSeconds float64 `json:"nodeMonitorPeriodSeconds"`
	NodeMonitorGraceSeconds  float64 `json:"nodeMonitorGraceSeconds"`
	TolerationSeconds        float64 `json:"tolerationSeconds"`
}

// ReportScenario is one scenario.
type ReportScenario struct {
	Name        string            `json:"name"`
	Claim       string            `json:"claim"`
	Result      Result            `json:"result"`
	Why         string            `json:"why"` // what decided the result
	Mutant      *ReportMutant     `json:"mutant,omitempty"`
	Incomplete  string            `json:"incomplete,omitempty"` // why the record is not whole
	Trouble     []string          `json:"trouble"`              // what weakened the evidence
	TookSeconds float64           `json:"tookSeconds"`
	Requests    ReportRequests    `json:"requests"`
	Disruptions ReportDisruptions `json:"disruptions"`
	Verdicts    []ReportVerdict   `json:"verdicts"`
	Phases      []ReportPhase     `json:"phases"`
	Faults      []ReportFault     `json:"faults"`
	Lanes       []ReportLane      `json:"lanes"`
	Noise       []ReportNoise     `json:"noise"`
	// WatchesLate is how much later than they happened changes came to the record; absent where that was not measured.
	WatchesLate *ReportQuantiles `json:"watchesLate,omitempty"`
	// APIAway is how the API server was reached while a fault of the control plane was on; absent where none was.
	APIAway   *ReportAPIAway `json:"apiAway,omitempty"`
	Causes    []ReportCause  `json:"causes"` // why requests failed, all lanes but control
	Cluster   ReportCluster  `json:"cluster"`
	Seed      uint64         `json:"seed"`
	Reproduce string         `json:"reproduce"` // a command
}

// ReportMutant says which good practice was removed and which promise must catch it.
type ReportMutant struct {
	Removed  string `json:"removed"`
	CaughtBy string `json:"caughtBy"`
	Twin     string `json:"twin"`            // the scenario with the practice in place
	Cause    string `json:"cause,omitempty"` // what the verdict must name as the reason
	// Lanes are those on which requests must fail; absent: any, or the promise is about no requests.
	Lanes []string `json:"lanes,omitempty"`
	Doubt string   `json:"doubt,omitempty"` // of a mutant of the harness: why the promise must be Unknown
	// Trap says that the server waits up to a second for a request that it can hurt.
	Trap     bool `json:"trap,omitempty"`
	ByChance bool `json:"byChance,omitempty"` // how often it is caught is counted, and not demanded
	// TwinNote says what a reader must know of the twin; absent: it held in the same run.
	TwinNote string `json:"twinNote,omitempty"`
	// Verdict is that on the mutant itself; absent without a record.
	Verdict *ReportVerdict `json:"verdict,omitempty"`
}

// ReportRequests counts the requests of all lanes but control.
type ReportRequests struct {
	Sent   uint64 `json:"sent"`
	Failed uint64 `json:"failed"`
	Unsent uint64 `json:"unsent"` // control included: evidence that is missing
	// UpperBound95 is the share that may fail although none was seen to: 3/sent of the lane with the fewest, since lanes
	// are judged apart. Absent when some failed or none was sent.
	UpperBound95 *float64 `json:"upperBound95,omitempty"`
}

// ReportDisruptions counts what the load had to survive.
type ReportDisruptions struct {
	PodTerminations int `json:"podTerminations"`
	NodeLosses      int `json:"nodeLosses"`
	// UpperBound95 is the share of disruptions that may lose a request although none was seen to. Absent when some
	// request failed, or without disruptions or requests.
	UpperBound95 *float64 `json:"upperBound95,omitempty"`
}

// ReportVerdict is what was found about one promise.
type ReportVerdict struct {
	Promise   string             `json:"promise"`
	Kind      string             `json:"kind"`
	Outcome   string             `json:"outcome"` // held, violated or unknown
	AtSeconds float64            `json:"atSeconds"`
	Seen      string             `json:"seen"`
	Evidence  []string           `json:"evidence"`
	Numbers   map[string]float64 `json:"numbers"` // durations in seconds
}

// ReportPhase is a part of a scenario.
type ReportPhase struct {
	Name        string  `json:"name"`
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
}

// ReportFault is one disturbance. A stage that was not reached is absent.
type ReportFault struct {
	Name             string   `json:"name"`
	InjectingSeconds *float64 `json:"injectingSeconds,omitempty"`
	SeenSeconds      *float64 `json:"seenSeconds,omitempty"`
	HealingSeconds   *float64 `json:"healingSeconds,omitempty"`
	HealedSeconds    *float64 `json:"healedSeconds,omitempty"`
	Nodes            []string `json:"nodes"`
	Pods             []string `json:"pods"`
	Witness          []string `json:"witness"` // what was seen of it, in order
	Errors           []string `json:"errors"`  // why stages were not reached
	// LastingSeconds is when the witness saw, just before the undo, that it was still in force.
	LastingSeconds *float64 `json:"lastingSeconds,omitempty"`
	// What it met while it was on.
	RequestsInFlight uint64 `json:"requestsInFlight"`
	PodTerminations  int    `json:"podTerminations"`
	PodRestarts      int    `json:"podRestarts"`
	NodeLosses       int    `json:"nodeLosses"`
}

// ReportLane is the load of one lane.
type ReportLane struct {
	Name          string            `json:"name"`
	Target        string            `json:"target"`
	RatePerSecond float64           `json:"ratePerSecond"`
	OK            uint64            `json:"ok"`
	Failed        uint64            `json:"failed"`
	Unsent        uint64            `json:"unsent"`
	Outcomes      map[string]uint64 `json:"outcomes"` // failures by kind
	// GatewayTries is how many upstreams a gateway tried for them. MaskedByGateway were answered well only because it tried
	// more than one: they are among OK.
	GatewayTries    uint64   `json:"gatewayTries,omitempty"`
	MaskedByGateway uint64   `json:"maskedByGateway,omitempty"`
	UpperBound95    *float64 `json:"upperBound95,omitempty"`
	// FirstFailureSeconds is when the first failed request was due, LastFailureSeconds when the last one ended.
	FirstFailureSeconds *float64        `json:"firstFailureSeconds,omitempty"`
	LastFailureSeconds  *float64        `json:"lastFailureSeconds,omitempty"`
	LatestSendSeconds   float64         `json:"latestSendSeconds"` // after it was due
	Lag                 ReportQuantiles `json:"lag"`               // from due to sent, of all that were sent
	Latency             ReportQuantiles `json:"latency"`           // from due
	Service             ReportQuantiles `json:"service"`           // from sent
}

// ReportNoise is how well a process of the harness ran: "harness", which wrote the record, or a load worker.
type ReportNoise struct {
	Of               string  `json:"of"`
	PauseSeconds     float64 `json:"pauseSeconds"`     // the longest that it stood still
	ThrottledSeconds float64 `json:"throttledSeconds"` // by its quota, in all
	Steal            float64 `json:"steal"`            // share of its machine's processors given to others: the worst second
	WaitCPU          float64 `json:"waitCPU"`          // share of time in which something there waited for a processor
}

// ReportAPIAway tells what stands before several control planes apart from Kubernetes itself.
type ReportAPIAway struct {
	Balancer ReportAwayBy `json:"balancer"` // by the way that clients take: of a kind cluster, through kind's load balancer
	Own      ReportAwayBy `json:"own"`      // by asking each API server that was left itself; the worst of them
}

// ReportAwayBy is what new connections saw by one way.
type ReportAwayBy struct {
	AwaySeconds   float64 `json:"awaySeconds"`   // the longest time without a good answer; of a balancer, also with some that had none
	BeforeSeconds float64 `json:"beforeSeconds"` // the longest from one good answer to the next before the fault
	Asked         int     `json:"asked"`
	Failed        int     `json:"failed"`
}

// ReportQuantiles are of OK requests only, but for those of lag and of the watches.
type ReportQuantiles struct {
	P50Seconds  float64 `json:"p50Seconds"`
	P90Seconds  float64 `json:"p90Seconds"`
	P99Seconds  float64 `json:"p99Seconds"`
	P999Seconds float64 `json:"p999Seconds"`
	MaxSeconds  float64 `json:"maxSeconds"`
}
