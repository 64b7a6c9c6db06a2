package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// Asked is an eviction that was requested.
type Asked struct {
	At     history.Offset
	Answer history.Eviction
	since  history.Offset // the API server decided at this time or later; earlier than at only if the answer was lost
	pod    *timeline.Pod  // nil: unknown
}

// WeighAll weighs all evictions: those that the harness requested, and those of others, which the pods' conditions show.
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

// answered returns the evictions with an answer in the record, and those that only the pods' conditions show.
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

// lost weighs the evictions whose answers were lost. If one was accepted, its pod's condition shows it, and it was decided at some
// time after the request. If the pod was deleted without a reason, it is unknown whether the eviction was accepted.
func (l *Ledger) lost(run history.Run, all *[]Asked) {
	for _, e := range run.Events {
		if e.Eviction == nil || e.Eviction.Lost == "" {
			continue
		}
		pod := l.find(e.Eviction.Sent, *e.Eviction)
		if pod == nil {
			continue // no pod was deleted
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

// find returns the evicted pod: the one with the UID, or else the newest of that name that had been seen by then, or else the first
// that was seen within the skew.
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
