package history

import "encoding/json"

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
