package placement

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
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
