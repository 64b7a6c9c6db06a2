package scenario

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// aboutTime are the promises that a busy machine may break. A mutant that they catch must be caught for what was planted.
var aboutTime = []string{
	"AnswersWithin", "APIAnswersWithin", "FailuresEndWithin", "QuietWithin", "RecoversWithin", "ReplacedWithin", "Resumes", "SpreadWithin",
}

// Alone is why the scenario must not run on a cluster at the same time as others; empty: it may. Its random choices and its promises are the same
// then. Noise of the others takes evidence away, or breaks a promise about time; it makes no broken promise hold.
func (s Spec) Alone() string {
	for _, f := range s.Faults {
		if !fault.ChangesOnlyItsWorkload(f) {
			return fmt.Sprintf("%s changes more than the workload", f)
		}
	}
	switch {
	case s.App != nil:
		return "an application may have objects outside of its namespace"
	case len(s.Addons) > 0:
		return "an add-on may act on every namespace"
	case s.Simulated != nil:
		return "its simulated pods keep the control plane busy"
	case s.Trials > 0:
		return "its trials fill the nodes"
	case s.Backend.NodePort != 0:
		return "a node port belongs to the whole cluster"
	case s.Mutant != nil && slices.Contains(aboutTime, s.Mutant.CaughtBy):
		return "noise of others may break " + s.Mutant.CaughtBy + " as well as what was planted"
	case s.LoadWorkers != (LoadWorkers{}):
		return "its load workers are themselves part of the test, or need the processors for themselves"
	}
	return ""
}
