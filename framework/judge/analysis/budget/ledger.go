package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Ledger recomputes how many healthy pods each accepted eviction left.
type Ledger struct {
	Facts   *evidence.Run
	Demands []*Demand
	Pods    []*timeline.Pod
	evicted []*timeline.Pod // so far; they are no longer healthy

	evictions map[*timeline.Pod]bool // pods with an accepted eviction

	Accepted, Refused, Blocked int
	UnderSeveral               int // of the refused ones
	Broken                     []entry
	Tightest                   *entry
	Open                       []string // evictions that may have broken a budget
	Refusals                   []string
	Tests                      []string // that budgets passed
	Unknown                    verdict.Missing
	Unheard                    verdict.Missing // accepted evictions that no watch reported
}

// entry is an accepted eviction, and how many healthy pods it left.
type entry struct {
	At               history.Offset
	pod, by          string
	Healthy, Desired int // healthy: the most that any order of events allows
	words            string
	unready          bool // the pod was not ready: its eviction left as many healthy pods, and yet should have been refused
}

func (e entry) String() string {
	if e.unready {
		return fmt.Sprintf("the eviction of %s, which was not ready, was accepted at %s with %s, and %s lets such go only when there are the %d that it demands (%s)",
			e.pod, prose.Moment(e.At), prose.Count(e.Healthy, "healthy pod"), e.by, e.Desired, e.words)
	}
	return fmt.Sprintf("the eviction of %s, accepted at %s, left %s, and %s demands %d (%s)",
		e.pod, prose.Moment(e.At), prose.Count(e.Healthy, "healthy pod"), e.by, e.Desired, e.words)
}

// DemandOf adds the demand of the promise itself.
func (l *Ledger) DemandOf(run history.Run, workload string, atLeast int) verdict.Missing {
	key, d := evidence.WorkloadOf(run, workload)
	if len(d) > 0 {
		return d
	}
	own := &Demand{Key: key, Words: "the promise", own: true}
	for _, e := range run.Events {
		if w := e.Workload; w != nil && w.Namespace == key.Namespace && w.Name == key.Name && own.Selector == nil {
			own.Selector, own.workload = w.Selector, *w
			own.points = []demandPoint{{at: e.T, desired: atLeast, allowed: 1, words: fmt.Sprintf("at least %d of %s", atLeast, key.Name)}}
		}
	}
	l.Demands = append(l.Demands, own)
	return nil
}

// several is in the API server's answer, of status 500, if more than one budget selects a pod. It evicts no such pod.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go
const several = "more than one PodDisruptionBudget"

// refuse counts a refusal by a budget, or because several budgets select the pod.
func (l *Ledger) refuse(a Asked) {
	if a.Answer.Budget == "" && strings.Contains(a.Answer.Message, several) {
		l.refuseSeveral(a)
		return
	}
	for _, d := range l.Demands {
		if d.Key.Namespace != a.Answer.Namespace || d.Key.Name != a.Answer.Budget || a.Answer.Budget == "" {
			continue
		}
		l.Refused++
		d.asked = true
		line := fmt.Sprintf("%s refused the eviction of %s at %s", d.Words, a.Answer.Pod, prose.Moment(a.At))
		if d.Blocked(a.At-evidence.WatchSkew, a.At+evidence.WatchSkew) {
			l.Blocked++
			line += ", when it allowed none"
			d.tested = true
		}
		l.Refusals = append(l.Refusals, line)
		return
	}
}

// refuseSeveral counts a refusal because several budgets select the pod.
func (l *Ledger) refuseSeveral(a Asked) {
	pod := a.pod
	if pod == nil {
		return
	}
	var names []string
	for _, d := range l.Demands {
		if d.Chosen().Has(pod.Last()) {
			names = append(names, d.Words)
		}
	}
	if len(names) > 0 {
		l.Refused++
		l.UnderSeveral++
		l.Refusals = append(l.Refusals, fmt.Sprintf("the eviction of %s was refused at %s because more than one budget chooses it: %s",
			a.Answer.Pod, prose.Moment(a.At), prose.List(names)))
	}
}

// accept recomputes what an accepted eviction left under each budget that selects the pod.
func (l *Ledger) accept(a Asked) {
	if !slices.ContainsFunc(l.Demands, func(d *Demand) bool { return d.Key.Namespace == a.Answer.Namespace }) {
		return // such as a system pod on a drained node
	}
	pod := a.pod
	if pod == nil {
		l.Unknown.Add("the eviction of %s was accepted at %s, and the record knows no such pod", a.Answer.Pod, prose.Moment(a.At))
		return
	}
	if slices.Contains(l.evicted, pod) {
		return // the pod was already terminating, and budgets do not apply to it
	}
	l.evicted = append(l.evicted, pod)
	if _, told := leaves(pod); !told && a.At+evidence.WatchSkew < l.Facts.End() {
		l.Unheard.Add("the eviction of %s was accepted at %s, and the watch of pods never told that the pod was deleted",
			a.Answer.Pod, prose.Moment(a.At))
	}
	counted := false
	for _, d := range l.Demands {
		if len(d.Selector) == 0 || !d.Chosen().Has(pod.Last()) {
			continue
		}
		if !counted {
			l.Accepted++
			counted = true
		}
		l.weigh(a, d)
	}
}

// weigh compares what an eviction left with a demand. The eviction of an unhealthy pod leaves as many healthy pods as before. The API
// allows it, unless the budget guards such pods as well and has fewer healthy pods than it demands.
//
// Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
func (l *Ledger) weigh(a Asked, d *Demand) {
	from, to := a.since-evidence.WatchSkew, a.At+evidence.WatchSkew
	demanded := d.at(from, to)
	if demanded.desired < 0 {
		return
	}
	d.asked = d.asked || d.at(a.At, a.At).desired > 0
	left := l.left(a, d)
	l.test(a, d, left, demanded.desired)
	guards := d.guards(from, to) // so the pod's readiness does not matter
	guarded := guards && surelyUnready(a.pod, from, a.At)
	if !guarded && !MayBeHealthy(a.pod, from, to) {
		return
	}
	if l.Facts.ReportedLate(a.At) {
		l.Unknown.Add("how many pods were healthy when %s was evicted at %s is not known: a watch was late", a.pod.Name, prose.Moment(a.At))
	}
	e := entry{
		At: a.At, pod: a.pod.Name, by: d.Words, Healthy: left.most, Desired: demanded.desired, words: demanded.words, unready: guarded,
	}
	told := d.at(a.At, a.At)
	switch {
	case left.recorded >= e.Desired && left.recorded < told.desired:
		e.Desired, e.words = told.desired, told.words
		l.ambiguous(e, left, fmt.Sprintf("it may have demanded %d, as what lies within %s may have come the other way round", demanded.desired, evidence.WatchSkew))
	case left.recorded >= e.Desired:
		e.Healthy = left.recorded
	case l.Facts.Blind(a.At):
		l.ambiguous(e, left, "a watch was blind")
	case left.most >= e.Desired:
		l.ambiguous(e, left, fmt.Sprintf("it may have been %d, as what lies within %s may have come the other way round", left.most, evidence.WatchSkew))
	case !wentReady(a.pod, from, to) && !surelyReady(a.pod, from, a.At) && (!guards || !surelyRunning(a.pod, from, a.At)):
		l.ambiguous(e, left, e.pod+" itself may not have been ready")
	default:
		l.Broken = append(l.Broken, e)
	}
	if !guarded && (l.Tightest == nil || e.Healthy-e.Desired < l.Tightest.Healthy-l.Tightest.Desired) {
		l.Tightest = &e
	}
}

// ambiguous notes an eviction that broke a demand in the order of the record, and perhaps not in another possible order.
func (l *Ledger) ambiguous(e entry, left remaining, why string) {
	l.Open = append(l.Open, e.pod)
	l.Unknown.Add("the eviction of %s, accepted at %s, left %s by the order of the record, and %s demands %d (%s); %s",
		e.pod, prose.Moment(e.At), prose.Count(left.recorded, "healthy pod"), e.by, e.Desired, e.words, why)
}

// remaining is how many healthy pods an eviction left: the most that any order of events allows, and those by the order of
// the record.
type remaining struct{ most, recorded int }

// left counts the healthy pods that an eviction left. One watch reports all pods in the order of their changes, so what it reported
// after the evicted pod began to terminate came too late. What it reported within the skew before that, the disruption controller may
// not have told the API server yet.
func (l *Ledger) left(a Asked, d *Demand) (r remaining) {
	from, to := a.since-evidence.WatchSkew, a.At+evidence.WatchSkew
	gone, ok := leaves(a.pod)
	ok = ok && gone.At >= from && gone.At <= to
	for _, p := range l.Pods {
		if p == a.pod || !d.Chosen().Has(p.Last()) {
			continue
		}
		var healthy evidence.Presence
		switch went, told := leaves(p); {
		case l.evictions[p] && ok && told && (evidence.Mark{At: went.At, Name: p.UID}).Compare(evidence.Mark{At: gone.At, Name: a.pod.UID}) < 0, slices.Contains(l.evicted, p) && (!ok || !told):
			continue // evicted before, as the eviction API itself knew
		case ok:
			healthy = healthyBefore(p, gone.At-evidence.WatchSkew, gone.At)
		case MayBeHealthy(p, a.since, a.since) && MayBeHealthy(p, a.At, a.At):
			healthy = evidence.Sure
		case MayBeHealthy(p, from, to):
			healthy = evidence.Maybe
		}
		if healthy >= evidence.Maybe {
			r.most++
		}
		if healthy == evidence.Sure {
			r.recorded++
		}
	}
	return r
}
