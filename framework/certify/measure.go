package certify

import (
	"math"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// zones are what spread is measured over.
const zones = "topology.kubernetes.io/zone"

// noLimit is a limit that no scenario comes near: what is measured here is promised by nobody.
const noLimit = 24 * time.Hour

// measure adds what is compared and not everywhere promised: how long it took to recover, and how even the spread was. The
// promises that know how to measure it are asked, with limits that they cannot break.
func measure(s *certificate.Side, run history.Run) {
	who, ok := measured(run)
	if !ok {
		return
	}
	run.Requests = nil // neither reads them
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

// measured is the workload that is compared: the only one, or the one that is called as backends are. Of trials there are many.
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
