package invariant

import "slices"

// Evidence is a part of a record without which a promise is not Held.
type Evidence string

// What promises need. Each is taken away at random from real records by a test, and no promise that needs it may be Held then.
const (
	// NeedsWhole is a record of which nothing was cut off, by a harness that met no trouble.
	NeedsWhole Evidence = "a whole record"
	// NeedsPhases are the phases Steady, Disturbed, Recovered and Drained, in their order.
	NeedsPhases Evidence = "the phases under load"
	// NeedsFault is a fault, and of each fault that a witness saw it in force until the harness undid it.
	NeedsFault Evidence = "faults that were seen to take effect"
	// NeedsRevert is that a witness saw each fault gone.
	NeedsRevert Evidence = "faults that were seen to be gone"
	// NeedsWatches are watches that missed nothing.
	NeedsWatches Evidence = "watches without a gap"

	// NeedsRows are all requests that were planned, as many as their workers counted.
	NeedsRows Evidence = "every request"
	// NeedsDelivery is load in every second.
	NeedsDelivery Evidence = "load in every second"
	// NeedsClocks are clocks of load workers that were compared with the run's.
	NeedsClocks Evidence = "the clocks of the load workers"

	// Of these all events of a kind are meant: without any of them there is nothing to judge.

	NeedsPods       Evidence = "pods"
	NeedsNodes      Evidence = "nodes"
	NeedsWorkloads  Evidence = "workloads"
	NeedsSlices     Evidence = "EndpointSlices"
	NeedsBudgets    Evidence = "disruption budgets"
	NeedsEvictions  Evidence = "evictions"
	NeedsRules      Evidence = "the scheduling rules of pods"
	NeedsAudits     Evidence = "audits"
	NeedsAdmissions Evidence = "answers of the API server to manifests"
	NeedsProbes     Evidence = "probes of the API server"
)

// ofEvery is what every promise needs.
var ofEvery = []Evidence{NeedsWhole, NeedsPhases, NeedsFault}

// ofLoad is what every promise about requests needs.
var ofLoad = []Evidence{NeedsRevert, NeedsWatches, NeedsRows, NeedsDelivery, NeedsClocks}

// ofSpread is what every promise about where pods are needs.
var ofSpread = []Evidence{NeedsRevert, NeedsWatches, NeedsPods, NeedsNodes, NeedsWorkloads}

// Needs lists what has to be in a record for a promise to be Held. It is not all that a promise asks for: how much of it
// there must be stands in the promise's own documentation.
func Needs(p Invariant) []Evidence {
	return slices.Concat(ofEvery, needsOf(p))
}

func needsOf(p Invariant) []Evidence {
	switch p := p.(type) {
	case NoFailedRequests, FailuresEndWithin, AnswersWithin:
		return ofLoad
	case QuietWithin, SharesLoad:
		return append(slices.Clone(ofLoad), NeedsPods)
	case BudgetHonoured:
		if p.AtLeast > 0 {
			return []Evidence{NeedsRevert, NeedsWatches, NeedsEvictions, NeedsPods}
		}
		return []Evidence{NeedsRevert, NeedsWatches, NeedsBudgets, NeedsEvictions, NeedsPods}
	case DrainBlocked:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsBudgets, NeedsEvictions}
	case DrainCompletes:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsEvictions, NeedsPods, NeedsWorkloads}
	case Spread, SpreadWithin, SpreadTrials, SpreadTogether, PerDomain:
		return ofSpread
	case Placement:
		return append(slices.Clone(ofSpread), NeedsRules)
	case Placed:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsPods, NeedsWorkloads}
	case RecoversWithin:
		return []Evidence{NeedsWatches, NeedsPods, NeedsWorkloads, NeedsSlices}
	case ReplacedWithin:
		return []Evidence{NeedsWatches, NeedsPods, NeedsNodes, NeedsWorkloads}
	case Resumes:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsPods, NeedsWorkloads}
	case ResizedInPlace:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsPods, NeedsWorkloads}
	case PressureLeaves:
		needs := []Evidence{NeedsRevert, NeedsWatches, NeedsPods, NeedsWorkloads}
		if p.DespiteBudget {
			needs = append(needs, NeedsBudgets)
		}
		return needs
	case AuditMends:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsAudits}
	case PolicyEnforced:
		return []Evidence{NeedsRevert, NeedsWatches, NeedsAdmissions}
	case APIAnswersWithin:
		return []Evidence{NeedsRevert, NeedsProbes}
	}
	return nil
}
