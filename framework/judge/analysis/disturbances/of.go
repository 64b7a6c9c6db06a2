package disturbances

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

// Of lists what disturbed the cluster of a record, ordered by when it began. It works for every record; holdfast's own faults show up as
// what they did.
func Of(run history.Run) []Disturbance { return OfParts(run, parts.Of(run)) }

// OfParts is Of for a record that was split already.
func OfParts(run history.Run, split *parts.Parts) []Disturbance {
	x := factsOf(run, split)
	// Each takes the pods that it explains, so the order matters: a drained node explains an eviction, and what is left explains itself.
	list := x.ofNodes()
	list = append(list, x.ofWorkloads()...)
	list = append(list, x.underPressure()...)
	list = append(list, x.ofPods()...)
	list = append(list, x.ofContainers()...)
	list = append(list, x.ofServers()...)
	return sorted(list)
}
