package reports

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// Fact is something that was found out about a cluster.
type Fact struct {
	Name  string `json:"name"`
	Found string `json:"found"`
}

// Scenario is one scenario of a run. All moments are offsets from the run's base, as in its record.
type Scenario struct {
	Name        string      `json:"name"`                  // suite/name
	Claim       string      `json:"claim"`                 // the sentence that can be false
	Application string      `json:"application,omitempty"` // the user's own, as in the header of the record
	Notes       []string    `json:"notes,omitempty"`       // what a reader must know of the cluster or the application
	Facts       []Fact      `json:"facts,omitempty"`       // what was found out about a cluster that holdfast did not make
	Result      Result      `json:"result"`
	Why         string      `json:"why"` // what decided the result, in one sentence
	Mutant      *Mutant     `json:"mutant,omitempty"`
	Incomplete  string      `json:"incomplete,omitempty"` // why the record is incomplete
	Trouble     []string    `json:"trouble"`              // what weakened the evidence: errors of the harness, gaps in a watch
	Took        Seconds     `json:"tookSeconds"`
	Requests    Requests    `json:"requests"`
	Disruptions Disruptions `json:"disruptions"`
	Verdicts    []Verdict   `json:"verdicts"`
	Phases      []Phase     `json:"phases"`
	Faults      []Fault     `json:"faults"`
	// Lanes are in the order of the load plan, the control lane last. Empty without load.
	Lanes []Lane  `json:"lanes"`
	Noise []Noise `json:"noise"`
	// WatchDelay is how late watches delivered changes. Absent if it was not measured.
	WatchDelay *Quantiles `json:"watchesLate,omitempty"`
	// APIAway is how long the API server was unavailable during a fault of the control plane. Absent if it was not measured.
	APIAway *APIAway `json:"apiAway,omitempty"`
	Causes  []Cause  `json:"causes"` // why requests failed, on all lanes but control, the most frequent first
	// Remedies take away why a promise was broken. Absent if none is known, and of workloads of holdfast's own.
	Remedies  []judge.Remedy `json:"remedies,omitempty"`
	Cluster   Cluster        `json:"cluster"`
	Seed      uint64         `json:"seed"`
	Reproduce string         `json:"reproduce"` // the command that runs this scenario again

	// NotJudged is set if the harness failed before it could judge.
	NotJudged bool `json:"-"`
	// From and To are the ends of the timeline; they are equal without a record.
	From, To history.Offset `json:"-"`
	// End is the time of the last event. In an incomplete record requests may be later.
	End   history.Offset `json:"-"`
	Zones []Zone         `json:"-"`
	// Gateway is what a gateway itself counted; nil without a gateway, or if it could not be asked.
	Gateway *history.GatewayTotals `json:"-"`
	// BucketWidth is the time that a Bucket covers; zero without load.
	BucketWidth time.Duration `json:"-"`
	// OffAxis counts requests that were due before From or after To. They are in the totals and in no bucket.
	OffAxis uint64 `json:"-"`
}

// Mutant says which good practice was removed, and which promise must catch that.
type Mutant struct {
	history.Mutant
	// TwinNote is what a reader must know about the twin. Absent if the twin held in the same run.
	TwinNote string `json:"twinNote,omitempty"`
	// Verdict is the verdict on the mutant itself, made from its record. Absent without a record.
	Verdict *Verdict `json:"verdict,omitempty"`
}

// Requests counts the requests on all lanes but control.
type Requests struct {
	Sent   uint64 `json:"sent"`
	Failed uint64 `json:"failed"`
	Unsent uint64 `json:"unsent"` // control included: missing evidence
	// UpperBound95 is the share that may fail although none did: 3/sent of the lane with the fewest requests, because lanes are
	// judged separately. Absent if a request failed, or none was sent.
	UpperBound95 *float64 `json:"upperBound95,omitempty"`
}

// Disruptions counts what the faults took away.
type Disruptions struct {
	PodTerminations int `json:"podTerminations"`
	NodeLosses      int `json:"nodeLosses"`
	// UpperBound95 is the share of disruptions that may fail a request although none did. Absent if a request failed, or without
	// disruptions or requests.
	UpperBound95 *float64 `json:"upperBound95,omitempty"`
}

// Total is the number of disruption events.
func (d Disruptions) Total() int { return d.PodTerminations + d.NodeLosses }

// Phase is a part of a scenario.
type Phase struct {
	Name history.PhaseName `json:"name"`
	From Seconds           `json:"fromSeconds"`
	To   Seconds           `json:"toSeconds"`
}

// Fault is one disturbance. A stage that was not reached is absent.
type Fault struct {
	Name      string   `json:"name"`
	Injecting *Seconds `json:"injectingSeconds,omitempty"`
	Seen      *Seconds `json:"seenSeconds,omitempty"`
	Healing   *Seconds `json:"healingSeconds,omitempty"`
	Healed    *Seconds `json:"healedSeconds,omitempty"`
	Nodes     []string `json:"nodes"`
	Pods      []string `json:"pods"`
	Witness   []string `json:"witness"` // the observations of the probe, in order
	Errors    []string `json:"errors"`  // why stages were not reached
	// Lasting is when the probe saw, just before the revert, that the fault was still active.
	Lasting *Seconds `json:"lastingSeconds,omitempty"`
	Affected
}

// Affected is what was in flight, and what was lost, from the beginning of a fault until it was reverted. If all are zero, the fault
// tested nothing.
type Affected struct {
	RequestsInFlight uint64 `json:"requestsInFlight"` // to the system under test
	PodTerminations  int    `json:"podTerminations"`
	PodRestarts      int    `json:"podRestarts"`
	NodeLosses       int    `json:"nodeLosses"`
}

// Lane is the load of one lane. Latencies are of successful requests only.
type Lane struct {
	Name          history.Lane               `json:"name"`
	Target        string                     `json:"target"`
	RatePerSecond float64                    `json:"ratePerSecond"` // as planned; zero if the record has no plan for the lane
	OK            uint64                     `json:"ok"`
	Failed        uint64                     `json:"failed"`
	Unsent        uint64                     `json:"unsent"`
	Outcomes      map[history.Outcome]uint64 `json:"outcomes"` // failures by kind
	// GatewayTries is how many upstreams a gateway tried for these requests, as its responses say. MaskedByGateway succeeded only
	// because the gateway tried more than one; they are part of OK.
	GatewayTries    uint64   `json:"gatewayTries,omitempty"`
	MaskedByGateway uint64   `json:"maskedByGateway,omitempty"`
	UpperBound95    *float64 `json:"upperBound95,omitempty"`
	// FirstFailure is when the first failed request was due, and LastFailure is when the last one ended.
	FirstFailure Seconds   `json:"firstFailureSeconds,omitempty"`
	LastFailure  Seconds   `json:"lastFailureSeconds,omitempty"`
	LatestSend   Seconds   `json:"latestSendSeconds"` // the maximum of Lag, exactly
	Lag          Quantiles `json:"lag"`               // from when a request was due until it was sent, of all sent requests
	Latency      Quantiles `json:"latency"`           // from when a request was due until its response had been read
	Service      Quantiles `json:"service"`           // from when a request was sent until its response had been read

	Buckets []Bucket `json:"-"`
}

// Sent is the number of sent requests.
func (l Lane) Sent() uint64 { return l.OK + l.Failed }

// Quantiles of a set of durations; zero if it is empty.
type Quantiles struct {
	P50  Seconds `json:"p50Seconds"`
	P90  Seconds `json:"p90Seconds"`
	P99  Seconds `json:"p99Seconds"`
	P999 Seconds `json:"p999Seconds"`
	Max  Seconds `json:"maxSeconds"`
}

// Bucket counts the requests that were due within one BucketWidth. The first bucket begins at Scenario.From.
type Bucket struct {
	OK, Failed, Unsent uint32
	P50, P99, Max      time.Duration // from due, of OK requests; Max is exact, the others within 7 %
}

// Cause is how many requests failed for a reason.
type Cause struct {
	Cause  attribution.Cause `json:"cause"`
	Words  string            `json:"words"`
	Failed uint64            `json:"failed"`
	Known  string            `json:"known"` // how that is known; empty if it is not
}

// complete fills in the figures that follow from others, and makes lists that are not null.
func (s *Scenario) complete() {
	s.Requests = Requests{Sent: s.Sent(), Failed: s.Failed(), Unsent: s.Unsent()}
	s.Requests.UpperBound95, s.Disruptions.UpperBound95 = s.Bounds95()
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Failed == 0 && l.OK > 0 {
			l.UpperBound95 = new(stats.UpperBound95(l.OK))
		}
	}
	s.Trouble, s.Verdicts, s.Phases, s.Faults = notNil(s.Trouble), notNil(s.Verdicts), notNil(s.Phases), notNil(s.Faults)
	s.Lanes, s.Noise, s.Causes = notNil(s.Lanes), notNil(s.Noise), notNil(s.Causes)
}

// Bounds95 are nil if there is no bound. The bound over requests is that of the lane with the fewest, because lanes are judged
// separately.
func (s *Scenario) Bounds95() (requests, disruptions *float64) {
	events, worst := s.Disruptions.Total(), 0.0
	for l := range s.tested {
		if l.Sent() > 0 {
			worst = max(worst, stats.UpperBound95(l.Sent()))
		}
	}
	if worst == 0 || s.Failed() > 0 {
		return nil, nil
	}
	requests = new(worst)
	if events > 0 {
		disruptions = new(stats.UpperBound95(uint64(events)))
	}
	return requests, disruptions
}

func faultOf(f timeline.FaultLife) Fault {
	at := func(m history.Moment) *Seconds {
		if !m.OK {
			return nil
		}
		return new(Seconds(m.At))
	}
	return Fault{
		Name: f.Name, Injecting: at(f.Injecting), Seen: at(f.Seen), Healing: at(f.Healing), Healed: at(f.Healed), Lasting: at(f.Lasting),
		Nodes: notNil(f.Nodes), Pods: notNil(f.Pods), Witness: notNil(f.Witness), Errors: notNil(f.Errors),
	}
}

// SplitName splits "suite/name". A name without a suite belongs to the suite "holdfast".
func SplitName(scenario string) (suite, name string) {
	suite, name, ok := strings.Cut(scenario, "/")
	if !ok {
		return "holdfast", scenario
	}
	return suite, name
}

// Kinds lists the failures of the lane by kind, the most frequent first.
func (l Lane) Kinds() string {
	kinds := slices.SortedFunc(maps.Keys(l.Outcomes), func(a, b history.Outcome) int {
		if l.Outcomes[a] != l.Outcomes[b] {
			return int(l.Outcomes[b]) - int(l.Outcomes[a])
		}
		return strings.Compare(string(a), string(b))
	})
	var parts []string
	for _, k := range kinds {
		parts = append(parts, prose.Thousands(l.Outcomes[k])+" "+string(k))
	}
	return strings.Join(parts, ", ")
}
