package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// budgetLedger recomputes at each accepted eviction what it left.
type budgetLedger struct {
	facts   *facts
	demands []*demand
	pods    []*podLife
	evicted []*podLife // so far; they are no longer healthy

	evictions map[*podLife]bool // of which pods one was accepted

	accepted, refused, blocked int
	underSeveral               int // of those refused
	broken                     []entry
	tightest                   *entry
	open                       []string // evictions that may have broken a budget
	refusals                   []string
	tests                      []string // that budgets stood
	unknown                    doubts
	unheard                    doubts // of evictions that no watch told of
}

// entry is an accepted eviction and what it left.
type entry struct {
	at               history.Offset
	pod, by          string
	healthy, desired int // healthy: the most that any order of events allows
	words            string
	unready          bool // the pod was not: it took nobody away, and should have stayed all the same
}

func (e entry) String() string {
	if e.unready {
		return fmt.Sprintf("the eviction of %s, which was not ready, was accepted at %s with %s, and %s lets such go only when there are the %d that it demands (%s)",
			e.pod, moment(e.at), count(e.healthy, "healthy pod"), e.by, e.desired, e.words)
	}
	return fmt.Sprintf("the eviction of %s, accepted at %s, left %s, and %s demands %d (%s)",
		e.pod, moment(e.at), count(e.healthy, "healthy pod"), e.by, e.desired, e.words)
}

// demandOf adds the promise's own demand.
func (l *budgetLedger) demandOf(run history.Run, workload string, atLeast int) doubts {
	key, d := workloadOf(run, workload)
	if len(d) > 0 {
		return d
	}
	own := &demand{key: key, words: "the promise", own: true}
	for _, e := range run.Events {
		if w := e.Workload; w != nil && w.Namespace == key.Namespace && w.Name == key.Name && own.selector == nil {
			own.selector = w.Selector
			own.points = []demandPoint{{at: e.T, desired: atLeast, allowed: 1, words: fmt.Sprintf("at least %d of %s", atLeast, key.Name)}}
		}
	}
	l.demands = append(l.demands, own)
	return nil
}

// several is what the API answers, with a status of 500, when more than one budget chooses a pod: it evicts no such pod.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go
const several = "more than one PodDisruptionBudget"

// refuse counts a refusal by one of the budgets, or because there are several.
func (l *budgetLedger) refuse(a asked) {
	if a.answer.Budget == "" && strings.Contains(a.answer.Message, several) {
		l.refuseSeveral(a)
		return
	}
	for _, d := range l.demands {
		if d.key.Namespace != a.answer.Namespace || d.key.Name != a.answer.Budget || a.answer.Budget == "" {
			continue
		}
		l.refused++
		d.asked = true
		line := fmt.Sprintf("%s refused the eviction of %s at %s", d.words, a.answer.Pod, moment(a.at))
		if d.blocked(a.at-watchSkew, a.at+watchSkew) {
			l.blocked++
			line += ", when it allowed none"
			d.tested = true
		}
		l.refusals = append(l.refusals, line)
		return
	}
}

// refuseSeveral counts a refusal that no budget decided on.
func (l *budgetLedger) refuseSeveral(a asked) {
	pod := a.pod
	if pod == nil {
		return
	}
	var names []string
	for _, d := range l.demands {
		if d.key.Namespace == pod.Namespace && history.Selects(d.selector, pod.Labels) {
			names = append(names, d.words)
		}
	}
	if len(names) > 0 {
		l.refused++
		l.underSeveral++
		l.refusals = append(l.refusals, fmt.Sprintf("the eviction of %s was refused at %s because more than one budget chooses it: %s",
			a.answer.Pod, moment(a.at), list(names)))
	}
}

// accept recomputes what an accepted eviction left of each budget that the pod was under.
func (l *budgetLedger) accept(a asked) {
	if !slices.ContainsFunc(l.demands, func(d *demand) bool { return d.key.Namespace == a.answer.Namespace }) {
		return // such as pods of the system, on a node that was drained
	}
	pod := a.pod
	if pod == nil {
		l.unknown.add("the eviction of %s was accepted at %s, and the record knows no such pod", a.answer.Pod, moment(a.at))
		return
	}
	if slices.Contains(l.evicted, pod) {
		return // it was already going, and a budget has no say in that
	}
	l.evicted = append(l.evicted, pod)
	if _, told := pod.goes(); !told && a.at+watchSkew < l.facts.end() {
		l.unheard.add("the eviction of %s was accepted at %s, and the watch of pods never told that the pod was deleted",
			a.answer.Pod, moment(a.at))
	}
	counted := false
	for _, d := range l.demands {
		if d.key.Namespace != pod.Namespace || len(d.selector) == 0 || !history.Selects(d.selector, pod.Labels) {
			continue
		}
		if !counted {
			l.accepted++
			counted = true
		}
		l.weigh(a, d)
	}
}

// weigh compares what an eviction left with a demand. An eviction of a pod that was not healthy takes no healthy pod
// away: the API lets it pass, unless the budget guards such pods, too, and has fewer healthy ones than it demands.
//
// Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
func (l *budgetLedger) weigh(a asked, d *demand) {
	from, to := a.since-watchSkew, a.at+watchSkew
	demanded := d.at(from, to)
	if demanded.desired < 0 {
		return
	}
	d.asked = d.asked || d.at(a.at, a.at).desired > 0
	left := l.left(a, d)
	l.test(a, d, left, demanded.desired)
	guards := d.guards(from, to) // then it does not matter whether the pod was ready
	guarded := guards && a.pod.surelyUnready(from, a.at)
	if !guarded && !a.pod.mayBeHealthy(from, to) {
		return
	}
	if l.facts.toldLate(a.at) {
		l.unknown.add("how many pods were healthy when %s was evicted at %s is not known: a watch was late", a.pod.Name, moment(a.at))
	}
	e := entry{
		at: a.at, pod: a.pod.Name, by: d.words, healthy: left.most, desired: demanded.desired, words: demanded.words, unready: guarded,
	}
	told := d.at(a.at, a.at)
	switch {
	case left.recorded >= e.desired && left.recorded < told.desired:
		e.desired, e.words = told.desired, told.words
		l.ambiguous(e, left, fmt.Sprintf("it may have demanded %d, as what lies within %s may have come the other way round", demanded.desired, watchSkew))
	case left.recorded >= e.desired:
		e.healthy = left.recorded
	case l.facts.blind(a.at):
		l.ambiguous(e, left, "a watch was blind")
	case left.most >= e.desired:
		l.ambiguous(e, left, fmt.Sprintf("it may have been %d, as what lies within %s may have come the other way round", left.most, watchSkew))
	case !a.pod.wentReady(from, to) && !a.pod.surelyReady(from, a.at) && (!guards || !a.pod.surelyRunning(from, a.at)):
		l.ambiguous(e, left, e.pod+" itself may not have been ready")
	default:
		l.broken = append(l.broken, e)
	}
	if !guarded && (l.tightest == nil || e.healthy-e.desired < l.tightest.healthy-l.tightest.desired) {
		l.tightest = &e
	}
}

// ambiguous notes an eviction that broke a demand by the order of the record, and need not have.
func (l *budgetLedger) ambiguous(e entry, left remaining, why string) {
	l.open = append(l.open, e.pod)
	l.unknown.add("the eviction of %s, accepted at %s, left %s by the order of the record, and %s demands %d (%s); %s",
		e.pod, moment(e.at), count(left.recorded, "healthy pod"), e.by, e.desired, e.words, why)
}

// remaining is how many healthy pods an eviction left: the most that any order of events allows, and those by the order of
// the record.
type remaining struct{ most, recorded int }

// left counts the pods that an eviction left. The pods are told of by one watch, in the order in which things happened to
// them: what it told after the pod had begun to go came too late. What it told within the skew before, the API server need
// not have heard of from the disruption controller.
func (l *budgetLedger) left(a asked, d *demand) (r remaining) {
	from, to := a.since-watchSkew, a.at+watchSkew
	gone, ok := a.pod.goes()
	ok = ok && gone.at >= from && gone.at <= to
	for _, p := range l.pods {
		if p.Namespace != a.pod.Namespace || p == a.pod || !history.Selects(d.selector, p.Labels) {
			continue
		}
		var healthy presence
		switch went, told := p.goes(); {
		case l.evictions[p] && ok && told && (mark{at: went.at, name: p.UID}).compare(mark{at: gone.at, name: a.pod.UID}) < 0, slices.Contains(l.evicted, p) && (!ok || !told):
			continue // it was evicted before, and the eviction API knew of that itself
		case ok:
			healthy = p.healthyBefore(gone.at-watchSkew, gone.at)
		case p.mayBeHealthy(a.since, a.since) && p.mayBeHealthy(a.at, a.at):
			healthy = sure
		case p.mayBeHealthy(from, to):
			healthy = maybe
		}
		if healthy >= maybe {
			r.most++
		}
		if healthy == sure {
			r.recorded++
		}
	}
	return r
}
