package placement

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// Would applies the rules to a binding that has not been made: of a pod to the node that it names, long after everything in the record.
// Known is false if the record does not have that node, and err is why the pod's rules cannot be weighed.
func (l *Ledger) Would(p history.Pod) (v Legality, known bool, err error) {
	made := &PlacedPod{
		Pod: p, labels: []map[string]string{p.Labels}, Bound: evidence.Mark{At: 1000 * time.Hour}, going: evidence.Unseen, over: evidence.Unseen,
	}
	if made.Rules, err = readRules(p.Rules, p.Namespace); err != nil {
		return v, false, err
	}
	v, known = l.Judge(made)
	return v, known, nil
}

// Counted counts at a moment, by domain, the pods that a hard spread constraint over a topology is about: as the scheduler does it, for another pod like
// the newest one of those that own selects. Nil: none of them has such a constraint, or the record lacks their rules.
func (l *Ledger) Counted(own func(history.Pod) bool, topology string, at history.Offset) map[string]int {
	now := evidence.Mark{At: at + 1}
	for _, p := range slices.Backward(l.Pods) {
		if p.Rules == nil || p.counted(now, 0) != evidence.Sure || !own(p.Pod) {
			continue
		}
		i := slices.IndexFunc(p.Rules.Spread, func(c spreadRule) bool { return c.TopologyKey == topology })
		if i < 0 {
			continue
		}
		another, counts := *p, make(map[string]int)
		another.Bound = now
		for domain, n := range l.view(&another, 0).countPods(p.Rules.Spread[i]) {
			counts[domain] = n.most
		}
		return counts
	}
	return nil
}
