package runfolder

import (
	"slices"
	"time"
)

// SetAsidePrefix begins the names of folders in a run's folder that hold the records of scenarios that were run again. They
// are not part of the run: Records leaves them out.
const SetAsidePrefix = "set-aside-"

// Chosen is a scenario that was chosen for a run.
type Chosen struct {
	Name string `json:"name"`
}

// Resumption is the continuation of an interrupted run.
type Resumption struct {
	At       time.Time `json:"at"`
	Holdfast string    `json:"holdfast"` // version of the harness that continued the run
	// Again are the scenarios that were run again, or for the first time. All others kept their results.
	Again []Again `json:"again"`
}

// Again is a scenario that a resumed run did not keep.
type Again struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// SetAside is the folder of the old record, relative to the run's folder, with slashes; empty if there was none.
	SetAside string `json:"setAside,omitempty"`
}

// SortScenarios puts the results in the order of Chosen.
func (f File) SortScenarios() {
	rank := func(s ScenarioResult) int {
		return slices.IndexFunc(f.Chosen, func(c Chosen) bool { return c.Name == s.Name })
	}
	slices.SortStableFunc(f.Scenarios, func(a, b ScenarioResult) int { return rank(a) - rank(b) })
}
