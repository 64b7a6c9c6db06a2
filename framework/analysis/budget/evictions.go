package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// Asked is an eviction that was asked for.
type Asked struct {
	At     history.Offset
	Answer history.Eviction
	since  history.Offset // it was decided at this time or later: before at only where an answer was lost
	pod    *timeline.Pod  // that was meant; nil: it is not known
}

// WeighAll goes through all evictions: those that the harness asked for, and those of others, which show in the pods.
func (l *Ledger) WeighAll(run history.Run) {
	l.evictions = make(map[*timeline.Pod]bool)
	all := l.answered(run)
	l.lost(run, &all)
	slices.SortStableFunc(all, func(a, b Asked) int {
		return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Answer.Pod, b.Answer.Pod))
	})
	for _, a := range all {
		if a.Answer.Accepted {
			l.accept(a)
		} else {
			l.refuse(a)
		}
	}
}

// answered are the evictions of which the record has an answer, and those that only the pods tell of.
func (l *Ledger) answered(run history.Run) (all []Asked) {
	for _, e := range run.Events {
		if e.Eviction == nil || e.Eviction.Lost != "" {
			continue
		}
		a := Asked{At: e.T, since: e.T, Answer: *e.Eviction, pod: l.find(e.T, *e.Eviction)}
		if a.Answer.Accepted && a.pod != nil {
			l.evictions[a.pod] = true
		}
		all = append(all, a)
	}
	for _, p := range l.Pods {
		i := slices.IndexFunc(p.Reports, func(seen timeline.Point[*history.Pod]) bool {
			return timeline.Terminating(seen.Value) && seen.Value.Disruption == evidence.EvictionReason
		})
		if i >= 0 && !l.evictions[p] {
			l.evictions[p] = true
			at := p.Reports[i].At
			all = append(all, Asked{At: at, since: at, pod: p, Answer: history.Eviction{
				Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Accepted: true,
			}})
		}
	}
	return all
}

// lost goes through the evictions whose answers did not come. One that was accepted shows in its pod, and was decided at some
// time from when it was asked for. If the pod went without a reason, it is not known.
func (l *Ledger) lost(run history.Run, all *[]Asked) {
	for _, e := range run.Events {
		if e.Eviction == nil || e.Eviction.Lost == "" {
			continue
		}
		pod := l.find(e.Eviction.Sent, *e.Eviction)
		if pod == nil {
			continue // nobody went
		}
		i := slices.IndexFunc(*all, func(a Asked) bool { return a.pod == pod && a.Answer.Accepted })
		gone, goes := leaves(pod)
		switch {
		case i >= 0:
			(*all)[i].since = min((*all)[i].since, e.Eviction.Sent)
		case goes && gone.At >= e.Eviction.Sent-evidence.WatchSkew && gone.Value.Disruption == "":
			l.Unknown.Add("whether the eviction of %s, asked for at %s, was accepted is not known: %s", pod.Name, prose.Moment(e.Eviction.Sent), e.Eviction.Lost)
		}
	}
}

// find is the pod that was meant: the one with the UID, or else the newest of that name which had been seen by then. Only
// where none had been, the first that was seen within the skew.
func (l *Ledger) find(at history.Offset, e history.Eviction) (pod *timeline.Pod) {
	for _, p := range l.Pods {
		switch named := p.Namespace == e.Namespace && p.Name == e.Pod; {
		case !named, e.UID != "" && p.UID != e.UID:
		case e.UID != "":
			return p
		case p.Seen() <= at, pod == nil && p.Seen() <= at+evidence.WatchSkew:
			pod = p
		}
	}
	return pod
}
