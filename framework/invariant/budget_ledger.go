package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// evictionReason is the DisruptionTarget reason of a pod that went by the eviction API.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const evictionReason = "EvictionByEvictionAPI"

// podLife is what the watch said of a pod, in order.
type podLife struct {
	history.Pod // as it was last
	points      []podPoint
}

type podPoint struct {
	at              history.Offset
	ready, deleting bool
	running         bool // its phase; of a pod in another the API asks no budget
}

// followPods follows every pod through a run, in the order in which they were first seen.
func followPods(run history.Run) (lives []*podLife) {
	byUID := make(map[string]*podLife)
	for _, e := range run.Events {
		if e.Pod == nil {
			continue
		}
		life := byUID[e.Pod.UID]
		if life == nil {
			life = &podLife{}
			byUID[e.Pod.UID] = life
			lives = append(lives, life)
		}
		life.Pod = *e.Pod
		gone := e.Pod.Change == history.Deleted
		life.points = append(life.points, podPoint{e.T, e.Pod.Ready && !gone, e.Pod.Deleting || gone, e.Pod.Phase == "Running" && !gone})
	}
	return lives
}

// mayBeHealthy tells whether the pod was ready and not going at some moment from from to to.
func (l *podLife) mayBeHealthy(from, to history.Offset) bool {
	return l.some(from, to, func(p podPoint) bool { return p.ready && !p.deleting })
}

// surelyReady tells whether the pod was there and not going before from, and ready all the time until to, when it was
// evicted and so began to go.
func (l *podLife) surelyReady(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.ready }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// surelyUnready tells whether the pod was there, running and not going before from, and not ready all the time until to.
func (l *podLife) surelyUnready(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.deleting && (p.ready || !p.running) }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// some tells whether one of the pod's states from from to to is like that.
func (l *podLife) some(from, to history.Offset, like func(podPoint) bool) bool {
	for i, p := range l.points {
		over := i+1 < len(l.points) && l.points[i+1].at <= from
		if p.at <= to && !over && like(p) {
			return true
		}
	}
	return false
}

// budgetLedger recomputes at each accepted eviction what it left.
type budgetLedger struct {
	facts   *facts
	demands []*demand
	pods    []*podLife
	evicted []*podLife // so far; they are no longer healthy

	accepted, refused, blocked int
	underSeveral               int // of those refused
	broken                     []entry
	tightest                   *entry
	ambiguous                  []string
	refusals                   []string
	unknown                    doubts
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
func (l *budgetLedger) demandOf(run history.Run, p BudgetHonoured) doubts {
	key, d := workloadOf(run, p.Workload)
	if len(d) > 0 {
		return d
	}
	own := &demand{key: key, words: "the promise"}
	for _, e := range run.Events {
		if w := e.Workload; w != nil && w.Namespace == key.Namespace && w.Name == key.Name && own.selector == nil {
			own.selector = w.Selector
			own.points = []demandPoint{{at: e.T, desired: p.AtLeast, allowed: 1, words: fmt.Sprintf("at least %d of %s", p.AtLeast, key.Name)}}
		}
	}
	l.demands = append(l.demands, own)
	return nil
}

// asked is an eviction that was asked for.
type asked struct {
	at     history.Offset
	answer history.Eviction
}

// evictions goes through all of them: those that the harness asked for, and those of others, which show in the pods.
func (l *budgetLedger) evictions(run history.Run) {
	var all []asked
	named := make(map[history.Key]bool)
	for _, e := range run.Events {
		if e.Eviction != nil {
			all = append(all, asked{e.T, *e.Eviction})
			if e.Eviction.Accepted {
				named[history.Key{Namespace: e.Eviction.Namespace, Name: e.Eviction.Pod}] = true
			}
		}
	}
	for _, e := range run.Events {
		p := e.Pod
		if p == nil || p.Disruption != evictionReason || !p.Deleting {
			continue
		}
		if key := (history.Key{Namespace: p.Namespace, Name: p.Name}); !named[key] {
			named[key] = true
			all = append(all, asked{e.T, history.Eviction{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Accepted: true}})
		}
	}
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
		line := fmt.Sprintf("%s refused the eviction of %s at %s", d.words, a.answer.Pod, moment(a.at))
		if d.blocked(a.at-watchSkew, a.at+watchSkew) {
			l.blocked++
			line += ", when it allowed none"
		}
		l.refusals = append(l.refusals, line)
		return
	}
}

// refuseSeveral counts a refusal that no budget decided on.
func (l *budgetLedger) refuseSeveral(a asked) {
	pod := l.find(a)
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
	pod := l.find(a)
	if pod == nil {
		l.unknown.add("the eviction of %s was accepted at %s, and the record knows no such pod", a.answer.Pod, moment(a.at))
		return
	}
	if slices.Contains(l.evicted, pod) {
		return // it was already going, and a budget has no say in that
	}
	l.evicted = append(l.evicted, pod)
	counted := false
	for _, d := range l.demands {
		if d.key.Namespace != pod.Namespace || len(d.selector) == 0 || !history.Selects(d.selector, pod.Labels) {
			continue
		}
		if !counted {
			l.accepted++
			counted = true
		}
		l.weigh(a, pod, d)
	}
}

// find is the pod that was meant: the newest of that name which was there at the time.
func (l *budgetLedger) find(a asked) (pod *podLife) {
	for _, p := range l.pods {
		named := p.Namespace == a.answer.Namespace && p.Name == a.answer.Pod
		if named && (a.answer.UID == "" || p.UID == a.answer.UID) && p.points[0].at <= a.at+watchSkew {
			pod = p
		}
	}
	return pod
}

// weigh compares what an eviction left with a demand. An eviction of a pod that was not healthy takes no healthy pod
// away: the API lets it pass, unless the budget guards such pods, too, and has fewer healthy ones than it demands.
//
// Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
func (l *budgetLedger) weigh(a asked, pod *podLife, d *demand) {
	from, to := a.at-watchSkew, a.at+watchSkew
	demanded := d.at(from, to)
	guarded := d.guards(from, to) && pod.surelyUnready(from, a.at)
	if demanded.desired < 0 || !guarded && !pod.mayBeHealthy(from, to) {
		return
	}
	if l.facts.toldLate(a.at) {
		l.unknown.add("how many pods were healthy when %s was evicted at %s is not known: a watch was late", pod.Name, moment(a.at))
	}
	most, recorded := l.healthy(a, pod, d)
	e := entry{
		at: a.at, pod: pod.Name, by: d.words, healthy: most, desired: demanded.desired, words: demanded.words, unready: guarded,
	}
	if guarded {
		if most < demanded.desired && !l.facts.blind(a.at) {
			l.broken = append(l.broken, e)
		}
		return
	}
	likely := e
	if recorded >= demanded.desired {
		likely.healthy = recorded
	}
	if l.tightest == nil || likely.healthy-likely.desired < l.tightest.healthy-l.tightest.desired {
		l.tightest = &likely
	}
	switch {
	case recorded < demanded.desired && l.facts.blind(a.at):
		l.ambiguous = append(l.ambiguous, fmt.Sprintf(
			"ambiguous: the eviction of %s, accepted at %s, left %d healthy as far as was seen, and a watch was blind; %s demands %d",
			pod.Name, moment(a.at), recorded, d.words, demanded.desired))
	case most < demanded.desired && pod.surelyReady(from, a.at):
		l.broken = append(l.broken, e)
	case recorded < demanded.desired:
		l.ambiguous = append(l.ambiguous, fmt.Sprintf(
			"ambiguous: the eviction of %s, accepted at %s, left %d healthy by the order of the record, or %d if what came within %s came the other way round; %s demands %d",
			pod.Name, moment(a.at), recorded, most, watchSkew, d.words, demanded.desired))
	}
}

// healthy counts the pods that were left: the most that any order of events allows, and those by the order of the record.
func (l *budgetLedger) healthy(a asked, pod *podLife, d *demand) (most, recorded int) {
	for _, p := range l.pods {
		if p.Namespace != pod.Namespace || !history.Selects(d.selector, p.Labels) || slices.Contains(l.evicted, p) {
			continue
		}
		if p.mayBeHealthy(a.at-watchSkew, a.at+watchSkew) {
			most++
		}
		if p.mayBeHealthy(a.at, a.at) {
			recorded++
		}
	}
	return most, recorded
}
