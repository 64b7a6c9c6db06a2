package evidence

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Needs is what a promise needs of a record to be Held. The zero value asks for the most: a whole record of a harness without
// trouble, watches that missed nothing since the cluster was deployed to, and faults that were seen to take effect and to be gone.
//
// It is not all that a promise asks for: how much of each part there must be stands in the promise's own documentation.
type Needs struct {
	Watches Watches
	Since   Since
	// Standing lets a fault stay in force: the promise is about what happens in spite of it. Otherwise each fault must have been seen
	// to be gone.
	Standing bool
	// MovedByNodeLoss says that the promise is about where pods are, or how soon they are somewhere again, which a lost node changes. A
	// violation is Unknown if a node with a pod of the workload was lost without a fault, on a machine that was saturated. Soon says that it is
	// about how soon something is over: then any such loss keeps it from being broken.
	MovedByNodeLoss, Soon bool
	// Requests are all that were planned, in every second, by workers whose clocks were compared with the run's.
	Requests bool
	// Parts are kinds of events without which there is nothing to judge.
	Parts []Part
}

// Watches is what the watches of the cluster may have missed.
type Watches int

const (
	// Complete watches missed nothing, and told of each change when it happened.
	Complete Watches = iota
	// Ordered watches missed nothing, but may have told of a change late. It is for promises that late news does not make easier to
	// keep: those about the order of changes, or about how soon something was over.
	Ordered
	// Unwatched is for promises that read nothing that the watches told.
	Unwatched
)

// Since is from when on the watches count.
type Since int

const (
	// Deployed is the beginning of the phase Deploy.
	Deployed Since = iota
	// Undisturbed is the beginning of the phase Steady. What a watch missed before, and had made up for by then, is nothing to promises about
	// faults: the objects are known again, and no fault has begun.
	Undisturbed
)

// Part is a part of a record without which a promise is not Held. A test takes each away from real records at random: no promise
// that needs it may be Held then.
type Part string

// The parts that every promise needs, or that follow from the other fields of Needs.
const (
	// PartWhole is a record of which nothing was cut off, by a harness that met no trouble.
	PartWhole Part = "a whole record"
	// PartPhases are the phases Steady, Disturbed, Recovered and Drained, in their order.
	PartPhases Part = "the phases under load"
	// PartFault is a fault, and of each fault that a witness saw it in force until the harness undid it.
	PartFault Part = "faults that were seen to take effect"
	// PartRevert is that a witness saw each fault gone.
	PartRevert Part = "faults that were seen to be gone"
	// PartWatches are watches that missed nothing.
	PartWatches Part = "watches without a gap"
	// PartRows are all requests that were planned, as many as their workers counted.
	PartRows Part = "every request"
	// PartDelivery is load in every second.
	PartDelivery Part = "load in every second"
	// PartClocks are clocks of load workers that were compared with the run's.
	PartClocks Part = "the clocks of the load workers"
)

// The parts that a promise names: all events of a kind.
const (
	PartPods       Part = "pods"
	PartNodes      Part = "nodes"
	PartWorkloads  Part = "workloads"
	PartSlices     Part = "EndpointSlices"
	PartBudgets    Part = "disruption budgets"
	PartEvictions  Part = "evictions"
	PartRules      Part = "the scheduling rules of pods"
	PartAudits     Part = "audits"
	PartAdmissions Part = "answers of the API server to manifests"
	PartProbes     Part = "probes of the API server"
)

// All lists every part of a record that is needed.
func (n Needs) All() []Part {
	all := []Part{PartWhole, PartPhases, PartFault}
	if !n.Standing {
		all = append(all, PartRevert)
	}
	if n.Watches != Unwatched {
		all = append(all, PartWatches)
	}
	if n.Requests {
		all = append(all, PartRows, PartDelivery, PartClocks)
	}
	return append(all, n.Parts...)
}

// Lacks lists what the record lacks of the needs that do not depend on the promise: a whole record, watches, and faults that took
// effect. None: nothing.
func (f *Run) Lacks(n Needs) verdict.Missing {
	from := f.Begin()
	if n.Since == Undisturbed {
		from = f.Steady()
	}
	if n.Watches == Unwatched {
		from = Never
	}
	base := f.BaseOrdered(from)
	if n.Watches == Complete {
		base = append(base, f.Late(from)...)
	}
	return slices.Concat(base, f.FaultsActive(!n.Standing))
}
