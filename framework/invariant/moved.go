package invariant

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// moved turns round a violation that a node which was lost without a fault, on a starved machine, explains as well: it is where
// pods are, or how soon they are somewhere again, that such a node changes.
func (f *facts) moved(p Invariant, v Verdict) Verdict {
	switch p.(type) {
	case Spread, SpreadWithin, SpreadTogether, SpreadTrials, PerDomain, Placed, ReplacedWithin, RecoversWithin, DrainCompletes:
	default:
		return v
	}
	to := v.At
	if to == 0 {
		to = f.end()
	}
	loss := f.lostUnasked("", f.begin(), to)
	if v.Outcome != Violated || loss == nil {
		return v
	}
	return v.unknown(doubts{fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved (%s), and else it would be violated: %s",
		loss.Name, moment(loss.At), f.starved(loss), v.Seen)})
}

// starved says how it is known that the machine was starved when a node was lost.
func (f *facts) starved(loss *history.NodeLoss) string {
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	return inWords(f.loudest(loss.At-grace, loss.At))
}
