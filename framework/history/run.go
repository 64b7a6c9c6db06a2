package history

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// FormatVersion is the version of the files in a scenario's folder. A reader accepts its own version and older ones.
const FormatVersion = 1

// RotatedVersion is the version of the files of a recording: they are rotated, and closed ones are compressed.
const RotatedVersion = 2

// Run is the record of one scenario. Invariants judge it.
type Run struct {
	Header Header
	// Events are everything that was seen except the requests, ordered by T.
	Events []Event
	// Requests reads the requests from the start at every call. The requests of each worker are ordered by Done.
	Requests Requests
	// Incomplete is why the record is incomplete (a killed harness, a truncated or corrupted file); empty if it is
	// complete.
	Incomplete string
}

// Requests is a sequence that can be read any number of times. The Request is valid only until the next iteration. An error
// ends the sequence: the requests before it are valid, but the record is incomplete.
type Requests func() iter.Seq2[*Request, error]

// Header is the first line of events.jsonl: what was requested.
type Header struct {
	Format   int    `json:"format"`
	RunID    string `json:"runID"`
	Scenario string `json:"scenario"` // suite/name, for example "chaos/drain-one-worker"
	Claim    string `json:"claim"`    // a sentence that can be proven false
	// Application is the user's own that is tested, as namespace/Service, or the namespaces that are recorded. Empty: none, or an older record.
	Application string    `json:"application,omitempty"`
	Base        time.Time `json:"base"` // wall-clock time of offset zero, for human readers
	Seed        uint64    `json:"seed"`
	Holdfast    string    `json:"holdfast"` // version of the harness
	// Cluster is the cluster that the scenario ran on.
	Cluster ClusterInfo `json:"cluster"`
	// Promises are the invariants to judge, in order, encoded with invariant.Encode.
	Promises []Promise `json:"promises"`
	// Mutant is set if the workload was broken on purpose.
	Mutant *Mutant `json:"mutant,omitempty"`
	// Plan is the requested load; nil for a scenario without traffic.
	Plan *Plan `json:"plan,omitempty"`
	// Recorded is set if the record is a recording of a cluster that holdfast did not disturb.
	Recorded *Recorded `json:"recorded,omitempty"`
	// Continued is set in the header of a file that continues the files before it, see EventsFolder. Run.Header is that of the first file.
	Continued *Continued `json:"continued,omitempty"`
	// Samples tells which events about the harness itself a complete record contains, so that missing ones count as missing
	// evidence: see SamplesOfItself. Zero in older records.
	Samples int `json:"samples,omitempty"`
	// Notes are what a reader of the verdicts must know of the cluster or the application, each a sentence.
	Notes []string `json:"notes,omitempty"`
	// Facts are what was found out about a cluster that holdfast did not make.
	Facts []Fact `json:"facts,omitempty"`
}

// SamplesOfItself is the Header.Samples of a record that contains, for the whole time in which the cluster is watched, a
// Noise of the harness for every second and an Echo for each echo call, successful or failed.
const SamplesOfItself = 1

// SamplesOfNoise is the Header.Samples of a record that contains such a Noise and no Echo: a recorder that only reads makes no changes
// whose reports it could wait for.
const SamplesOfNoise = 2

// ClusterInfo describes the cluster of a run.
type ClusterInfo struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
	Provider   string `json:"provider"`
	Engine     string `json:"engine"`
	Image      string `json:"image"`
	Profile    string `json:"profile"` // lab or stock
	ProxyMode  string `json:"proxyMode"`
	// Balancer is the program that balances the load of several control planes; empty if there is none, and in older
	// records.
	Balancer string  `json:"balancer,omitempty"`
	Timings  Timings `json:"timings"`
	// SimulatedNodes is how many of the nodes have no machine, see clusters.Simulated.
	SimulatedNodes int `json:"simulatedNodes,omitempty"`
}

// OneMachine reports whether the nodes share one machine, as kind's do, which are containers. It may be another than the harness's own.
func (c ClusterInfo) OneMachine() bool { return c.Provider == "kind" }

// Timings determine how soon the cluster notices a lost node and reacts; predictions are derived from them. The fields are
// Kubernetes' own settings, see clusters.Timings.
type Timings struct {
	NodeStatusUpdate  time.Duration `json:"nodeStatusUpdate"`
	NodeLease         time.Duration `json:"nodeLease"`
	NodeMonitorPeriod time.Duration `json:"nodeMonitorPeriod"`
	NodeMonitorGrace  time.Duration `json:"nodeMonitorGrace"`
	Toleration        time.Duration `json:"toleration"`
}

// Promise is an invariant in its stored form.
type Promise struct {
	Kind   string          `json:"kind"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Plan is the requested load.
type Plan struct {
	Lanes []LanePlan `json:"lanes"`
	// Aside says that no lane is meant to come to the pods that the faults are aimed at: what the lanes lead to may need them.
	Aside bool `json:"aside,omitempty"`
}

// LanePlan is one lane of a Plan.
type LanePlan struct {
	Lane          Lane    `json:"lane"`
	Target        string  `json:"target"` // URL
	RatePerSecond float64 `json:"ratePerSecond"`
	// Front is what the lane's requests pass on their way; nil: nothing that says so.
	Front *Front `json:"front,omitempty"`
}

// Front is a proxy that is not holdfast's own gateway, such as the controller of an Ingress. Its answers do not name the pod behind it. A
// connection leads to one of its own pods, so that which pod behind it a request met is inferred, and never known.
type Front struct {
	// Name is how users call it: "Ingress shop".
	Name string `json:"name"`
	// Entries are the Services of which one leads to the proxy's pods, and Backends those whose pods answer in the end.
	Entries  []string `json:"entries,omitempty"`
	Backends []string `json:"backends"`
	// Sticky is why all requests of a client come to the same pod behind it, such as "sessionAffinity ClientIP of Service web"; empty: nothing says so.
	Sticky string `json:"sticky,omitempty"`
}

// Fronts are the fronts of the planned lanes; lanes without one are left out.
func (r Run) Fronts() map[Lane]*Front {
	fronts := make(map[Lane]*Front)
	if r.Header.Plan == nil {
		return fronts
	}
	for _, l := range r.Header.Plan.Lanes {
		if l.Front != nil {
			fronts[l.Lane] = l.Front
		}
	}
	return fronts
}

// Service is the name of the Service that the lane's URL names, as its clients in the cluster do, such as http://web.shop/; empty: it names
// none, or what the lane passes on its way says more.
func (l LanePlan) Service() string {
	u, err := url.Parse(l.Target)
	if err != nil || l.Front != nil || net.ParseIP(u.Hostname()) != nil {
		return ""
	}
	name, rest, _ := strings.Cut(u.Hostname(), ".")
	if _, domain, _ := strings.Cut(rest, "."); domain != "" && domain != "svc" && !strings.HasPrefix(domain, "svc.") {
		return ""
	}
	return name
}

// Services are the Services that the URLs of the planned lanes name. Lanes whose URL names no Service that has endpoints in the record are left
// out.
func (r Run) Services() map[Lane]string {
	services := make(map[Lane]string)
	if r.Header.Plan == nil {
		return services
	}
	known := func(service string) bool {
		return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Slice != nil && e.Slice.Service == service })
	}
	for _, l := range r.Header.Plan.Lanes {
		if name := l.Service(); name != "" && known(name) {
			services[l.Lane] = name
		}
	}
	return services
}

// Troubles lists the events with a Trouble.
func (r Run) Troubles() (troubles []Event) {
	for _, e := range r.Events {
		if e.Trouble != nil {
			troubles = append(troubles, e)
		}
	}
	return troubles
}

// all are the payloads of one kind, in order.
func all[T any](r Run, of func(Event) *T) (list []T) {
	for _, e := range r.Events {
		if payload := of(e); payload != nil {
			list = append(list, *payload)
		}
	}
	return list
}

// PhaseSpan is a phase with its beginning and its end, the end excluded.
type PhaseSpan struct {
	Name     PhaseName
	From, To Offset
}

// Phases lists the phases in the order in which they began. The last one ends with the record's last event.
func (r Run) Phases() []PhaseSpan {
	var spans []PhaseSpan
	for _, e := range r.Events {
		if n := len(spans); n > 0 {
			spans[n-1].To = e.T
		}
		if e.Phase != nil {
			spans = append(spans, PhaseSpan{Name: e.Phase.Name, From: e.T, To: e.T})
		}
	}
	// Every event moved the end of the current phase, so each phase ends where the next one begins.
	return spans
}

// Window is the time of a phase, the end excluded; of the first one if the phase occurs several times. ok is false if it
// does not occur.
func (r Run) Window(name PhaseName) (from, to Offset, ok bool) {
	for _, span := range r.Phases() {
		if span.Name == name {
			return span.From, span.To, true
		}
	}
	return 0, 0, false
}

// UnderLoad is the time from the beginning of Steady to the end of Recovered, the end excluded: verdicts count the requests
// that are due in this time. A record that was cut off before Drained is under load forever; one without Steady never was.
func (r Run) UnderLoad() (from, to Offset) {
	const never = Offset(1<<63 - 1)
	steady, _, ok := r.Window(Steady)
	if !ok {
		return never, never
	}
	if drained, _, ok := r.Window(Drained); ok {
		return steady, drained
	}
	return steady, never
}

// Interrupted is where the scenario was interrupted; empty if it was not. If it was, missing events are explained by the
// interruption and do not count as missing evidence.
func (r Run) Interrupted() string {
	for _, e := range r.Events {
		if e.Trouble == nil || !e.Trouble.Interrupted {
			continue
		}
		for _, phase := range slices.Backward(r.Phases()) {
			if phase.Name != Drained { // in Drained the results are collected, however the scenario ended
				return "interrupted in the phase " + string(phase.Name)
			}
		}
		return "interrupted before it was deployed"
	}
	return ""
}

// MaxLoadWorkers is how many load workers a record may have.
const MaxLoadWorkers = 1024

// Share is the part of the planned load that one of several load workers sends: of each lane the hits k with k mod Workers = Index.
// The shares of all workers together are the plan: no hit is in two of them, and a hit that is missing can be named. The zero value
// is the whole plan.
type Share struct {
	Index   int `json:"index"`
	Workers int `json:"workers,omitempty"` // 0: one
}

// workers is how many workers share the plan.
func (s Share) workers() uint64 { return uint64(max(1, s.Workers)) }

// Hit is the number in the plan of the worker's n-th hit, both counted from 0.
func (s Share) Hit(n uint64) uint64 { return uint64(s.Index) + n*s.workers() }

// Nth is the inverse of Hit: how many hits of this worker come before hit k of the plan, which must be one of its own.
func (s Share) Nth(k uint64) uint64 { return k / s.workers() }

// Below is how many of the first total hits of the plan are this worker's.
func (s Share) Below(total uint64) uint64 {
	if total <= uint64(s.Index) {
		return 0
	}
	return (total - uint64(s.Index) + s.workers() - 1) / s.workers()
}

// Of is the share of a rate, which may be a rate of anything.
func (s Share) Of(rate float64) float64 { return rate / float64(s.workers()) }

// Validate returns an error for a share that no plan has.
func (s Share) Validate() error {
	if s.Index < 0 || s.Workers < 0 || uint64(s.Index) >= s.workers() {
		return fmt.Errorf("share %d of %d workers: the number must be from 0 to %d", s.Index, s.workers(), s.workers()-1)
	}
	return nil
}

// String names the share as people count: "2 of 4".
func (s Share) String() string { return fmt.Sprintf("%d of %d", s.Index+1, s.workers()) }

// LoadShare is what a load worker was told to send, recorded before it begins. A worker that is lost leaves no totals: then this
// says which hits are missing.
type LoadShare struct {
	Worker string `json:"worker"`
	Share
	Lanes []LaneStart `json:"lanes"`
}

// Shares are the shares of the load workers, by their names. Older records have none.
func (r Run) Shares() map[string]Share {
	all := make(map[string]Share)
	for _, e := range r.Events {
		if e.Share != nil {
			all[e.Share.Worker] = e.Share.Share
		}
	}
	return all
}

// LaneStart is the schedule of a lane: hit k of the plan is due at Start + k/RatePerSecond.
type LaneStart struct {
	Lane          Lane    `json:"lane"`
	Start         Offset  `json:"start"`
	RatePerSecond float64 `json:"ratePerSecond"` // of all workers together
}

// DueBefore is how many hits of the lane, of all workers, are due before a moment.
func (l LaneStart) DueBefore(at Offset) uint64 {
	if at <= l.Start || l.RatePerSecond <= 0 {
		return 0
	}
	const rounding = 1e-6 // of a hit
	return uint64(math.Ceil(max(0, (at-l.Start).Seconds()*l.RatePerSecond-rounding)))
}
