package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// PendingRule is the ID of the rule about pods that a hard constraint keeps Pending.
const PendingRule = "pending-on-hard-constraint"

// Pending is a workload some of whose pods a hard constraint keeps Pending.
type Pending struct {
	Namespace, Kind, Name string
	// Pods is how many pods are kept Pending.
	Pods int
	// Since is when the first of them was found to be unschedulable, by the scheduler's clock.
	Since time.Time
}

// Object names the workload in one word.
func (p Pending) Object() string { return p.Namespace + "/" + p.Kind + "/" + p.Name }

// PendingOnConstraints returns the workloads some of whose pods a hard constraint keeps Pending at this moment, however briefly. The rule
// pending-on-hard-constraint reports those that have been Pending for longer than PendingLimit. Like Audit it is a pure function.
func PendingOnConstraints(c Cluster) (all []Pending) {
	v := newView(&c, "")
	for i := range c.Workloads {
		s := subject{view: v, Workload: &c.Workloads[i]}
		if s.lacks(Pods, Nodes) {
			continue
		}
		if pods := s.keptPending(neverTooShort); len(pods) > 0 {
			all = append(all, Pending{
				Namespace: s.Namespace, Kind: s.Kind, Name: s.Name, Pods: len(pods), Since: pods[0].Unschedulable,
			})
		}
	}
	return all
}

// neverTooShort also accepts a pod that became Pending after the reading began, or on a scheduler whose clock is fast.
const neverTooShort = -1 << 62

// PendingLimit is how long a pod may be unschedulable before it is a finding: it takes minutes to restart or add a node.
const PendingLimit = 5 * time.Minute

// The scheduler's reasons why a node does not fit.
// Source: the ErrReason constants of k8s.io/kubernetes/pkg/scheduler/framework/plugins
const (
	becauseOfSpread       = "didn't match pod topology spread constraints"
	becauseOfApart        = "didn't match pod anti-affinity rules"
	becauseOthersApart    = "didn't satisfy existing pods anti-affinity rules"
	becauseOfAffinity     = "didn't match pod affinity rules"
	becauseOfNodeSelector = "didn't match Pod's node affinity/selector"
)

func checkPending(s *subject) {
	pods := s.keptPending(PendingLimit)
	if len(pods) == 0 {
		return
	}
	first := pods[0]
	fix, caution := s.unblock(first.Said)
	if s.Kind == StatefulSet && len(fix) > 0 { // a StatefulSet's rollout waits for a broken pod
		for _, p := range pods {
			fix = append(fix, s.remove(Target{Kind: "Pod", Namespace: s.Namespace, Name: p.Name}))
		}
	}
	s.find(Finding{
		Evidence: fmt.Sprintf("%d of %s Pending, the first for %s; the scheduler says: %s",
			len(pods), prose.Count(s.Replicas, "pod"), s.cluster.Taken.Sub(first.Unschedulable).Round(time.Minute), first.Said),
		Fix: fix, Caution: sentences(caution, s.rollout()),
	})
}

// keptPending returns the pods that a hard constraint has kept Pending for longer than a time, the longest first.
func (s *subject) keptPending(longer time.Duration) (pods []Pod) {
	for _, p := range s.Pods {
		if p.Said != "" && !p.Going && s.cluster.Taken.Sub(p.Unschedulable) > longer && s.because(p.Said) {
			pods = append(pods, p)
		}
	}
	slices.SortStableFunc(pods, func(a, b Pod) int { return a.Unschedulable.Compare(b.Unschedulable) })
	return pods
}

// cause is a hard constraint that the scheduler's message names, and what gives way.
type cause struct {
	named   bool
	unblock func() (fix []Step, caution string)
}

// causes are the hard constraints that may keep pods pending, in the order in which they are relaxed. The scheduler checks affinity
// last, so a node that it rejects for affinity passes all other checks: relaxing the affinity is enough.
func (s *subject) causes(said string) []cause {
	return []cause{
		{strings.Contains(said, becauseOfApart) || strings.Contains(said, becauseOthersApart), s.unblockApart},
		{strings.Contains(said, becauseOfAffinity), s.unblockAffinity},
		{strings.Contains(said, becauseOfSpread), s.unblockSpread},
		{strings.Contains(said, becauseOfNodeSelector) && len(s.homes().nodes) == 0, s.unblockSelector},
	}
}

// because reports whether the scheduler's message names a hard constraint.
func (s *subject) because(said string) bool {
	return slices.ContainsFunc(s.causes(said), func(c cause) bool { return c.named })
}

// unblock returns what lets the pods be scheduled, given the scheduler's message.
func (s *subject) unblock(said string) (fix []Step, caution string) {
	for _, cause := range s.causes(said) {
		if cause.named && len(fix) == 0 {
			step, words := cause.unblock()
			fix, caution = step, sentences(caution, words)
		}
	}
	return fix, caution
}

// unblockSelector returns no patch: which label was meant is not known.
func (s *subject) unblockSelector() ([]Step, string) {
	return nil, "no node has the labels that its node selector or affinity requires, or each such node is tainted: label a node, or " +
		"correct the selector"
}

// unblockSpread fixes a constraint that counts domains its pods cannot go to. Otherwise it makes the constraint in the way
// soft.
func (s *subject) unblockSpread() ([]Step, string) {
	e := &edit{subject: s}
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) {
			continue
		}
		if there := len(s.homes().domains(c.TopologyKey)); c.MinDomains != nil && int(*c.MinDomains) > there && there > 0 {
			e.change(i, "minDomains", there)
		}
		if dead, _ := s.dead(c); len(dead) > 0 {
			s.honor(e, i, c)
		}
	}
	if len(e.ops) > 0 {
		return s.patchOps(e.done()), "the constraint counted domains that its pods cannot go to"
	}
	var cautions []string
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) {
			continue
		}
		if len(s.homes().domains(c.TopologyKey)) == 0 {
			return nil, "no node that takes its pods carries the label " + c.TopologyKey + ", which the constraint needs: label them"
		}
		if room := s.emptiest(c); len(room) > 0 {
			e.change(i, "whenUnsatisfiable", corev1.ScheduleAnyway)
			e.ops = append(e.ops, e.noMinDomains(i)...)
			cautions = append(cautions, fmt.Sprintf("this makes the constraint over %s soft; better make room in %s", c.TopologyKey, listNames(room)))
		}
	}
	if len(cautions) == 0 {
		return nil, "no constraint of its template keeps the pods pending, by what was read: another one did when the scheduler last tried"
	}
	return s.patchOps(e.done()), strings.Join(cautions, "; ")
}

// noMinDomains removes minDomains, which only a hard constraint may have.
func (e *edit) noMinDomains(i int) []op {
	if e.Template.Spec.TopologySpreadConstraints[i].MinDomains == nil {
		return nil
	}
	return []op{{Op: "remove", Path: fmt.Sprintf("%s/%d/minDomains", pathConstraints, i)}}
}

// emptiest returns the domains that a constraint reserves for the next pod while it keeps the pod out of the others: the ones
// that lack room. None: the constraint keeps no pod out.
func (s *subject) emptiest(c corev1.TopologySpreadConstraint) (room []string) {
	counts := map[string]int{}
	for _, d := range domains(s.counted(c), c.TopologyKey) {
		counts[d] = 0
	}
	for _, p := range s.largest(c.MatchLabelKeys) {
		if n := s.nodes[p.Node]; n != nil && n.Labels[c.TopologyKey] != "" {
			counts[n.Labels[c.TopologyKey]]++
		}
	}
	if extent(counts) < int(c.MaxSkew) {
		return nil
	}
	least := -1
	for _, n := range counts {
		if least < 0 || n < least {
			least = n
		}
	}
	for _, d := range domains(s.counted(c), c.TopologyKey) {
		if counts[d] == least {
			room = append(room, c.TopologyKey+" "+d)
		}
	}
	return room
}

// unblockApart turns the required anti-affinity that is in the way into preferences.
func (s *subject) unblockApart() ([]Step, string) {
	var own []int
	for i, t := range s.antiAffinity() {
		if s.ownTerm(t) {
			own = append(own, i)
		}
	}
	if len(own) == 0 {
		return nil, "anti-affinity keeps it apart from other workloads' pods, or them from it: decide which of them gives way"
	}
	ops, caution := s.preferApart(own, s.Replicas-len(s.placed()))
	return s.patchOps(ops), caution
}

// unblockAffinity turns required affinity to other pods into preferences.
func (s *subject) unblockAffinity() ([]Step, string) {
	together := s.together()
	if len(together.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil, "its pods have pod affinity that its template lacks: something adds it when they are created"
	}
	var preferences []corev1.WeightedPodAffinityTerm
	for _, t := range together.RequiredDuringSchedulingIgnoredDuringExecution {
		preferences = append(preferences, corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: t})
	}
	preferences = slices.Concat(together.PreferredDuringSchedulingIgnoredDuringExecution, preferences)
	const at = pathPod + "/affinity/podAffinity"
	return s.patchOps([]op{
		{"test", at + "/requiredDuringSchedulingIgnoredDuringExecution", together.RequiredDuringSchedulingIgnoredDuringExecution},
		{"add", at, corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferences}},
	}), "this makes it a preference; better make room on the nodes of the pods it wants to be near"
}
