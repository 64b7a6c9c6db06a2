package certify

import (
	"math"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// zones are what spread is measured over.
const zones = "topology.kubernetes.io/zone"

// noLimit is a limit that no scenario reaches, because no promise is judged here.
const noLimit = 24 * time.Hour

// measure adds the numbers that are compared although not every scenario promises them: the time to recover, and the skew. The invariants
// that measure them are judged with limits that they cannot break.
func measure(s *certificate.Side, run history.Run) {
	who, ok := measured(run)
	if !ok {
		return
	}
	run.Requests = nil // neither needs them
	verdicts := judge.CheckAll(run, []invariant.Invariant{
		invariant.RecoversWithin{Workload: who, Limit: noLimit},
		invariant.Spread{Workload: who, TopologyKey: zones, Max: math.MaxInt32},
	})
	if took, ok := verdicts[0].Numbers["recoveredSeconds"]; ok {
		s.RecoverySeconds = new(took)
	}
	if skew, ok := verdicts[1].Numbers["largestSkew"]; ok {
		s.SettledSkew = new(int(skew))
	}
}

// measured is the workload to compare: the only one, or the one named backend. A scenario with trials has many.
func measured(run history.Run) (name string, ok bool) {
	const backend = "backend"
	names := make(map[string]bool)
	for i := range run.Events {
		if w := run.Events[i].Workload; w != nil {
			names[w.Name] = true
		}
	}
	if names[backend] {
		return backend, true
	}
	for only := range names {
		return only, len(names) == 1
	}
	return "", false
}
