package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Invariant is a promise that a run keeps or breaks. It is an EventInvariant or a RequestInvariant as well.
type Invariant interface {
	// String is the promise in words.
	String() string
	// Needs is what must have been recorded for Held.
	Needs() evidence.Needs
}

// EventInvariant is a promise that reads the events only.
type EventInvariant interface {
	Invariant
	// Judge judges a record. What the record lacks of Needs is missing; a promise adds what else it lacks. Nothing that is missing
	// takes back what was seen to break a promise, and nothing is Held where something is missing: package judge sees to that.
	Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict
}

// RequestInvariant is a promise about requests. All of them see the requests in the same single pass.
type RequestInvariant interface {
	Invariant
	// Requests begins to judge. The figures count each request before the check sees it.
	Requests(*evidence.Run, *requests.Stats) RequestCheck
}

// RequestCheck is a promise about requests at work. It must not keep the request that it is given.
type RequestCheck interface {
	// Take is given each request that was due under load.
	Take(*history.Request)
	// End is called after the last request, with what the record lacks of Needs.
	End(missing verdict.Missing) verdict.Verdict
}

// LaneInvariant is a promise that judges each lane by itself.
type LaneInvariant interface {
	RequestInvariant
	// OnLanes are the lanes that the promise names; none means all but the control lane.
	OnLanes() []history.Lane
	// NamesCauses says that a violation counts its failed requests by cause. A mutant that the promise must catch names the cause that it
	// plants.
	NamesCauses() bool
}

// PlannedInvariant is a promise about what is done on purpose. Of a recording it may be judged beside what is involuntary.
type PlannedInvariant interface {
	LaneInvariant
	// Beside is Requests for a time in which something involuntary happened as well, of which the other promise says what may fail.
	Beside(other FailuresEndWithin, f *evidence.Run, t *requests.Stats) RequestCheck
}

// WorkloadInvariant is a promise about one workload. In a recording, one that names none is a promise about each.
type WorkloadInvariant interface {
	EventInvariant
	// Of are the promises about a workload that this one makes; none: it is about another workload, or promises nothing about this one.
	Of(w history.Workload) []Invariant
}

// Judges says whether a promise that names some lanes, or none, judges a lane; see LaneInvariant.
func Judges(named []history.Lane, lane history.Lane) bool {
	return slices.Contains(named, lane) || len(named) == 0 && lane != history.LaneControl
}

// whose is the workload that a promise names, in words.
func whose(workload string) string { return cmp.Or(workload, "the workload") }

// WatchingInvariant is a promise about what comes some time after a disturbance.
type WatchingInvariant interface {
	Invariant
	// Watched is how long after what disturbed it a recording has to be watched.
	Watched() time.Duration
}

// PlacementInvariant is a promise about where pods are. A workload that is deployed badly breaks it before any fault begins.
type PlacementInvariant interface {
	EventInvariant
	// AboutPlacement does nothing. It marks the promise.
	AboutPlacement()
}
