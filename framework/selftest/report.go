package selftest

import (
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// The names of the files that a selftest writes into its folder, and of the folders of its rounds.
const (
	MarkdownFile = "selftest.md"
	JSONFile     = "selftest.json"
	RoundFormat  = "round-%03d"
	roundPattern = "round-*"
)

// Version is the version of selftest.json. It changes if a field is changed or removed, but not if one is added.
const Version = 1

// Report is how good the harness is, measured by many seeded runs: how often it caught mutants, which are broken on purpose, and how
// often it called a good scenario Violated.
type Report struct {
	Version   int      `json:"version"`
	ID        string   `json:"id"`
	Asked     int      `json:"asked,omitempty"` // planned rounds; 0: stored runs were added
	Whole     int      `json:"whole,omitempty"` // complete rounds
	Runs      []Run    `json:"runs"`
	Summary   Totals   `json:"summary"`
	Scenarios []Row    `json:"scenarios"`         // the worst first
	Explain   []Case   `json:"explain,omitempty"` // all that was neither Held nor Caught, the worst first
	Remarks   []string `json:"remarks,omitempty"` // on what could not be read
	// Interrupted and NotBegun are runs of scenarios that a signal ended or prevented. They do not count.
	Interrupted int `json:"interrupted,omitempty"`
	NotBegun    int `json:"notBegun,omitempty"`
	// Instrument is what was measured without a cluster; nil: nothing.
	Instrument *Instrument `json:"instrument,omitempty"`
}

// Run is a run that was added.
type Run struct {
	ID         string    `json:"id"`
	Folder     string    `json:"folder"`
	Holdfast   string    `json:"holdfast"`
	Kubernetes string    `json:"kubernetes,omitempty"` // of the first scenario's cluster
	Seed       uint64    `json:"seed"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	Scenarios  int       `json:"scenarios"`
}

// Totals are the rates of all runs.
type Totals struct {
	// Detection is the share of mutant runs that were caught, of those that were judged and whose twin held in the same run. Unknown
	// counts as neither caught nor missed.
	Detection Rate `json:"detection"`
	// DetectionApart is the same for mutants whose twin did not hold or was not run. There, the broken promise may be the scenario's own.
	DetectionApart Rate `json:"detectionApart"`
	// ByChance is the same for mutants that are caught by chance only. They may be missed.
	ByChance Rate `json:"byChance"`
	// Trapped is the number of caught mutants with a server that sets a trap.
	Trapped int `json:"trapped"`
	// FalseAlarm is the share of Violated among the judged runs of scenarios that should hold.
	FalseAlarm Rate `json:"falseAlarm"`
	// Unknown is the share of Unknown among all runs with a verdict.
	Unknown Rate `json:"unknown"`
	// NotJudged are runs in which the harness or its environment failed.
	NotJudged int `json:"notJudged"`
	// Unsupported are runs that the environment does not support. They do not count.
	Unsupported int `json:"unsupported,omitempty"`
}

// Row counts the runs of one scenario by their results.
type Row struct {
	Scenario string `json:"scenario"`
	Mutant   bool   `json:"mutant,omitempty"`
	Runs     int    `json:"runs"`
	Held     int    `json:"held"`
	Violated int    `json:"violated"`
	Caught   int    `json:"caught"`
	Missed   int    `json:"missed"`
	// CaughtApart and MissedApart are those without a twin that held in the same run.
	CaughtApart int `json:"caughtApart,omitempty"`
	MissedApart int `json:"missedApart,omitempty"`
	// Escaped are the runs in which a mutant that is caught by chance only was not caught.
	Escaped   int  `json:"escaped,omitempty"`
	ByChance  bool `json:"byChance,omitempty"`
	Trap      bool `json:"trap,omitempty"` // its server waits for a request that it can break
	Unknown   int  `json:"unknown"`
	NotJudged int  `json:"notJudged"`
	// Unsupported are runs that the environment does not support.
	Unsupported int `json:"unsupported,omitempty"`
	// TookSeconds is the mean.
	TookSeconds float64 `json:"tookSeconds"`
}

// Case is one run of one scenario that needs an explanation.
type Case struct {
	Scenario  string         `json:"scenario"`
	Result    reports.Result `json:"result"` // empty: not judged
	Why       string         `json:"why"`
	Seed      uint64         `json:"seed"`
	Record    string         `json:"record"`
	Reproduce string         `json:"reproduce,omitempty"`
}

// NewReport is a report without runs.
func NewReport(id string) *Report {
	return &Report{Version: Version, ID: id, Runs: []Run{}, Scenarios: []Row{}}
}
