package invariant

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// asked is an eviction that was asked for.
type asked struct {
	at     history.Offset
	answer history.Eviction
	since  history.Offset // it was decided at this time or later: before at only where an answer was lost
	pod    *podLife       // that was meant; nil: it is not known
}

// weighAll goes through all evictions: those that the harness asked for, and those of others, which show in the pods.
func (l *budgetLedger) weighAll(run history.Run) {
	l.evictions = make(map[*podLife]bool)
	all := l.answered(run)
	l.lost(run, &all)
	slices.SortStableFunc(all, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.answer.Pod, b.answer.Pod))
	})
	for _, a := range all {
		if a.answer.Accepted {
			l.accept(a)
		} else {
			l.refuse(a)
		}
	}
}

// answered are the evictions of which the record has an answer, and those that only the pods tell of.
func (l *budgetLedger) answered(run history.Run) (all []asked) {
	for _, e := range run.Events {
		if e.Eviction == nil || e.Eviction.Lost != "" {
			continue
		}
		a := asked{at: e.T, since: e.T, answer: *e.Eviction, pod: l.find(e.T, *e.Eviction)}
		if a.answer.Accepted && a.pod != nil {
			l.evictions[a.pod] = true
		}
		all = append(all, a)
	}
	for _, p := range l.pods {
		i := slices.IndexFunc(p.points, func(p podPoint) bool { return p.deleting && p.disruption == evictionReason })
		if i >= 0 && !l.evictions[p] {
			l.evictions[p] = true
			at := p.points[i].at
			all = append(all, asked{at: at, since: at, pod: p, answer: history.Eviction{
				Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Accepted: true,
			}})
		}
	}
	return all
}

// lost goes through the evictions whose answers did not come. One that was accepted shows in its pod, and was decided at some
// time from when it was asked for. If the pod went without a reason, it is not known.
func (l *budgetLedger) lost(run history.Run, all *[]asked) {
	for _, e := range run.Events {
		if e.Eviction == nil || e.Eviction.Lost == "" {
			continue
		}
		pod := l.find(e.Eviction.Sent, *e.Eviction)
		if pod == nil {
			continue // nobody went
		}
		i := slices.IndexFunc(*all, func(a asked) bool { return a.pod == pod && a.answer.Accepted })
		gone, goes := pod.goes()
		switch {
		case i >= 0:
			(*all)[i].since = min((*all)[i].since, e.Eviction.Sent)
		case goes && gone.at >= e.Eviction.Sent-watchSkew && gone.disruption == "":
			l.unknown.add("whether the eviction of %s, asked for at %s, was accepted is not known: %s", pod.Name, moment(e.Eviction.Sent), e.Eviction.Lost)
		}
	}
}

// find is the pod that was meant: the one with the UID, or else the newest of that name which had been seen by then. Only
// where none had been, the first that was seen within the skew.
func (l *budgetLedger) find(at history.Offset, e history.Eviction) (pod *podLife) {
	for _, p := range l.pods {
		switch named := p.Namespace == e.Namespace && p.Name == e.Pod; {
		case !named, e.UID != "" && p.UID != e.UID:
		case e.UID != "":
			return p
		case p.points[0].at <= at, pod == nil && p.points[0].at <= at+watchSkew:
			pod = p
		}
	}
	return pod
}
