package reports

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SchemaVersion names the shape of report.json. A version may gain fields. Removing a field, or changing one or its meaning, makes
// a new version.
const SchemaVersion = "holdfast.dev/report/v1"

// Seconds is a duration, or a moment since the base of the run. JSON has it as a number of seconds.
type Seconds time.Duration

// MarshalJSON writes a number of seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON reads a number of seconds, to the nanosecond.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	*s = Seconds(math.Round(seconds * float64(time.Second)))
	return nil
}

// Report is what is known about a run. Build makes it, and every format is written from it, so that the formats cannot disagree:
// report.json is its JSON form. The names of durations and moments end in Seconds there. Lists are empty, never null. Fields without
// a JSON name are for drawing the page.
type Report struct {
	SchemaVersion string    `json:"schemaVersion"`
	RunID         string    `json:"runID"`
	Result        Result    `json:"result"`           // Held, Violated, Unknown or Interrupted
	Started       time.Time `json:"started,omitzero"` // wall clock
	Took          Seconds   `json:"tookSeconds"`      // zero if unknown
	Holdfast      string    `json:"holdfast"`         // version of the harness
	Seed          uint64    `json:"seed"`             // zero if unknown
	Profile       string    `json:"profile"`
	Cluster       Cluster   `json:"cluster"` // of the first scenario whose record has one
	// Machine is what the nodes ran on, or what holdfast ran on if it did not make the cluster. Absent in older records.
	Machine     *runfolder.Machine `json:"machine,omitempty"`
	Counts      Counts             `json:"counts"`
	Reproduce   string             `json:"reproduce"`             // the command that runs everything again
	Interrupted string             `json:"interrupted,omitempty"` // by what, such as SIGINT
	// Resumed are the times at which the run was continued after an interruption.
	Resumed []Resumption `json:"resumed,omitempty"`
	// Incident is the outage that the scenarios reproduce; nil if they reproduce none.
	Incident  *history.Incident `json:"incident,omitempty"`
	Trouble   []string          `json:"trouble"` // what is wrong with the run's own record
	Scenarios []Scenario        `json:"scenarios"`
	// Confusion is absent if fewer than two mutants name the cause that they plant.
	Confusion *Confusion `json:"confusion,omitempty"`

	// Damaged is why run.json or a record cannot be read, is missing, or is that of another scenario or run.
	Damaged error `json:"-"`
}

// Resumption is the continuation of an interrupted run.
type Resumption struct {
	At       time.Time `json:"at"`       // wall clock
	Holdfast string    `json:"holdfast"` // version of the harness that continued it
	Left     int       `json:"left"`     // scenarios that were run then; all others kept their results
}

// Counts is the number of scenarios with each result.
type Counts struct {
	Held     int `json:"held"`
	Violated int `json:"violated"`
	Unknown  int `json:"unknown"`
	Caught   int `json:"caught"` // mutants
	Missed   int `json:"missed"` // mutants
	// Escaped are mutants that are caught by chance only, and were not.
	Escaped int `json:"escaped,omitempty"`
	// Unsupported are scenarios that the environment cannot run.
	Unsupported int `json:"unsupported,omitempty"`
	// Interrupted and NotBegun are scenarios that were not completed because the run was interrupted.
	Interrupted int `json:"interrupted,omitempty"`
	NotBegun    int `json:"notBegun,omitempty"`
}

// Confusion compares the causes that mutants planted with the causes that their verdicts reported.
type Confusion struct {
	Agree int             `json:"agree"` // mutants that were caught for the planted cause
	Of    int             `json:"of"`
	Pairs []ConfusionPair `json:"pairs"`

	Planted, Reported []attribution.Cause `json:"-"` // the rows and columns of the matrix, sorted
}

// ConfusionPair is a field of the matrix that is not zero.
type ConfusionPair struct {
	Planted  attribution.Cause `json:"planted"`
	Reported attribution.Cause `json:"reported"` // "none" if the verdict named no cause
	Mutants  int               `json:"mutants"`
}

// Cluster is what a scenario ran on.
type Cluster struct {
	Name       string  `json:"name"`
	Kubernetes string  `json:"kubernetes"`
	Provider   string  `json:"provider"`
	Engine     string  `json:"engine"`
	Image      string  `json:"image"`
	Profile    string  `json:"profile"`
	ProxyMode  string  `json:"proxyMode"`
	Timings    Timings `json:"timings"`
	// SimulatedNodes is how many of the nodes have no machine.
	SimulatedNodes int `json:"simulatedNodes,omitempty"`
}

// Timings determine how soon the cluster notices a lost node. See clusters.Timings.
type Timings struct {
	NodeStatusUpdate  Seconds `json:"nodeStatusUpdateSeconds"`
	NodeLease         Seconds `json:"nodeLeaseSeconds"`
	NodeMonitorPeriod Seconds `json:"nodeMonitorPeriodSeconds"`
	NodeMonitorGrace  Seconds `json:"nodeMonitorGraceSeconds"`
	Toleration        Seconds `json:"tolerationSeconds"`
}

// Completed returns the report with the figures that follow from its scenarios.
func (r Report) Completed() Report {
	r.SchemaVersion, r.Trouble, r.Scenarios = SchemaVersion, notNil(r.Trouble), notNil(r.Scenarios)
	for i := range r.Scenarios {
		r.Scenarios[i].complete()
	}
	r.Counts, r.Result, r.Confusion = r.counts(), r.result(), r.confusion()
	return r
}

func (r *Report) counts() Counts {
	return Counts{
		Held: r.Count(Held), Violated: r.Count(Violated), Unknown: r.Count(Unknown), Caught: r.Count(Caught), Missed: r.Count(Missed),
		Escaped: r.Count(Escaped), Unsupported: r.Count(Unsupported), Interrupted: r.Count(Interrupted), NotBegun: r.Count(NotBegun),
	}
}

func clusterOf(c history.ClusterInfo) Cluster {
	t := c.Timings
	return Cluster{
		Name: c.Name, Kubernetes: c.Kubernetes, Provider: c.Provider, Engine: c.Engine, Image: c.Image, Profile: c.Profile, ProxyMode: c.ProxyMode,
		Timings: Timings{
			Seconds(t.NodeStatusUpdate), Seconds(t.NodeLease), Seconds(t.NodeMonitorPeriod), Seconds(t.NodeMonitorGrace), Seconds(t.Toleration),
		},
		SimulatedNodes: c.SimulatedNodes,
	}
}

// Verdict is the verdict on a promise.
type Verdict struct {
	Promise  string             `json:"promise"`
	Kind     string             `json:"kind"` // for example NoFailedRequests
	Outcome  verdict.Outcome    `json:"outcome"`
	Untested bool               `json:"untested,omitempty"` // see verdict.Verdict
	At       Seconds            `json:"atSeconds"`          // the moment that decided the outcome; zero if the whole record did
	Seen     string             `json:"seen"`
	Evidence []string           `json:"evidence"`
	Numbers  map[string]float64 `json:"numbers"` // durations are in seconds
	// Limits are the limits that the promise sets to some numbers. Records of older versions have none.
	Limits map[string]verdict.Limit `json:"limits,omitempty"`
}

func newVerdict(v verdict.Verdict) Verdict {
	if v.Numbers == nil {
		v.Numbers = map[string]float64{}
	}
	return Verdict{v.Promise, v.Kind, v.Outcome, v.Untested, Seconds(v.At), v.Seen, notNil(v.Evidence), v.Numbers, v.Limits}
}

// Recorded is the verdict in the form in which a run stores it.
func (v *Verdict) Recorded() verdict.Verdict {
	return verdict.Verdict{
		Promise: v.Promise, Kind: v.Kind, Outcome: v.Outcome, Untested: v.Untested, At: time.Duration(v.At), Seen: v.Seen, Evidence: v.Evidence,
		Numbers: v.Numbers, Limits: v.Limits,
	}
}

// notNil makes an empty list of nil, which JSON would write as null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// SeedText is the run's seed in words; empty if it is not known. No run has the seed 0.
func (r *Report) SeedText() string {
	if r.Seed == 0 {
		return ""
	}
	return strconv.FormatUint(r.Seed, 10)
}
