package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

func checkOneNode(s *subject) {
	placed, on := s.placed(), s.hosts()
	if s.Replicas < 2 || len(placed) < 2 || len(on) > 1 {
		return
	}
	fix, caution := s.spreadOut()
	s.find(Finding{Evidence: fmt.Sprintf("all %d placed pods are on node %s", len(placed), on[0]), Fix: fix, Caution: caution})
}

// hosts returns the names of the nodes that the subject's pods are on.
func (s *subject) hosts() []string {
	found := map[string]bool{}
	for _, p := range s.placed() {
		found[p.Node] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func checkOneZone(s *subject) {
	if s.Replicas < 2 || len(s.hosts()) < 2 {
		return
	}
	in, unlabelled := s.zones()
	switch {
	case len(in) > 1:
		return
	case len(unlabelled) > 0:
		s.unknown("nodes %s carry no label %s, so zones cannot be told apart; label them, or leave the rule out", listNames(unlabelled), zoneKey)
		return
	}
	f := Finding{Evidence: fmt.Sprintf("all %d placed pods are in zone %s, on %s", len(s.placed()), in[0], prose.Count(len(s.hosts()), "node"))}
	reachable := s.homes().domains(zoneKey)
	switch all := s.all.domains(zoneKey); {
	case len(reachable) > 1:
		f.Fix, f.Caution = s.spreadOut()
	case s.selectsAway(in[0]):
		f.Caution = fmt.Sprintf("its node selector or affinity admits no node of the other zones (%s), so no other patch helps: widen it", listNames(other(all, in[0])))
	default:
		f.Severity = Note
		f.Caution = "the cluster has no node in another zone that takes its pods, so no patch helps: add some"
	}
	s.find(f)
}

// zones returns the zones that the subject's pods are in, and those of their nodes that have no zone label.
func (s *subject) zones() (in, unlabelled []string) {
	found := map[string]bool{}
	for _, host := range s.hosts() {
		if n := s.nodes[host]; n != nil && n.Labels[zoneKey] != "" {
			found[n.Labels[zoneKey]] = true
		} else {
			unlabelled = append(unlabelled, host)
		}
	}
	return slices.Sorted(maps.Keys(found)), unlabelled
}

// selectsAway reports whether nodes in other zones would take the subject's pods if its own selector or affinity did not
// exclude them.
func (s *subject) selectsAway(zone string) bool {
	for _, n := range s.all.nodes {
		elsewhere := n.Labels[zoneKey] != "" && n.Labels[zoneKey] != zone
		if fit := s.fit(n); elsewhere && fit.Untolerated == nil && !fit.Admitted {
			return true
		}
	}
	return false
}

func other(all []string, than string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == than })
}

func checkNoSpread(s *subject) {
	zones := s.homes().domains(zoneKey)
	in, unlabelled := s.zones()
	oneOfSeveral := len(zones) > 1 && len(in) < 2 && len(unlabelled) == 0
	spread := slices.ContainsFunc(s.Template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool { return s.own(c.LabelSelector) }) ||
		slices.ContainsFunc(s.antiAffinity(), s.ownTerm) || len(s.wishedApart()) > 0
	if spread || s.Replicas < 2 || len(s.hosts()) < 2 || oneOfSeveral {
		return
	}
	e := &edit{subject: s}
	if len(zones) > 1 {
		e.prefer(zoneKey)
	}
	e.prefer(hostKey)
	s.find(Finding{
		Evidence: fmt.Sprintf("no spread constraint and no anti-affinity is about its %d replicas, which happen to be on %s", s.Replicas, prose.Count(len(s.hosts()), "node")),
		Fix:      s.patchOps(e.done()), Caution: s.rollout(),
	})
}

func checkUnusableDomain(s *subject) {
	severity, e := Warning, edit{subject: s}
	var evidence []string
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) {
			continue
		}
		dead, nodes := s.dead(c)
		if len(dead) == 0 {
			continue
		}
		room := int(c.MaxSkew) * len(s.homes().domains(c.TopologyKey))
		evidence = append(evidence, fmt.Sprintf("of %s, %s can take none of its pods (%s): the others may have %s together, and it wants %d",
			c.TopologyKey, listNames(dead), listNames(nodes), prose.Count(room, "pod"), s.Replicas))
		if s.Replicas > room {
			severity = Error
		}
		s.honor(&e, i, c)
	}
	if len(evidence) > 0 {
		s.find(Finding{Severity: severity, Evidence: listNames(evidence), Fix: s.patchOps(e.done()), Caution: s.rollout()})
	}
}

// honor makes constraint i count only the domains that the subject's pods can go to.
func (s *subject) honor(e *edit, i int, c corev1.TopologySpreadConstraint) {
	if !honors(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) {
		e.change(i, "nodeAffinityPolicy", corev1.NodeInclusionPolicyHonor)
	}
	if !honors(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) {
		e.change(i, "nodeTaintsPolicy", corev1.NodeInclusionPolicyHonor)
	}
}

// dead returns the domains that a constraint counts although none of their nodes can take the subject's pods, and those nodes
// with the reason.
func (s *subject) dead(c corev1.TopologySpreadConstraint) (dead, nodes []string) {
	alive := s.homes().domains(c.TopologyKey)
	counted := s.counted(c)
	for _, d := range domains(counted, c.TopologyKey) {
		if _, is := slices.BinarySearch(alive, d); is {
			continue
		}
		dead = append(dead, d)
		for _, n := range counted {
			if n.Labels[c.TopologyKey] == d {
				nodes = append(nodes, n.Name+" "+s.excludes(n))
			}
		}
	}
	return dead, nodes
}

// counted returns the nodes whose domains the scheduler counts for a hard constraint: those with the topology labels of all
// hard constraints, except those that the constraint's node inclusion policies exclude. Taints that come and go with a node's
// health are ignored.
func (s *subject) counted(c corev1.TopologySpreadConstraint) (nodes []*corev1.Node) {
	for _, n := range s.all.nodes {
		labelled := !slices.ContainsFunc(s.Template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			_, there := n.Labels[c.TopologyKey]
			return hard(c) && !there
		})
		fit := s.fit(n)
		out := honors(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) && !fit.Admitted ||
			honors(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) && fit.Untolerated != nil
		if labelled && !out {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// excludes returns why a node cannot take the subject's pods.
func (s *subject) excludes(n *corev1.Node) string {
	if taint := s.fit(n).Untolerated; taint != nil {
		return "is tainted " + taint.Key
	}
	return "is not selected"
}

func checkSoftConstraintViolated(s *subject) {
	e := &edit{subject: s}
	var evidence []string
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if hard(c) || !s.own(c.LabelSelector) {
			continue
		}
		if k := s.skew(c); k.exceeded() {
			evidence = append(evidence, fmt.Sprintf("the skew over %s is %d, and %d is preferred: %s",
				c.TopologyKey, k.Skew, k.Allowed, amounts(s.tally(c.TopologyKey, s.largest(c.MatchLabelKeys)))))
			e.require(c.TopologyKey, int32(k.Allowed))
		}
	}
	for _, key := range s.wishedApart() {
		if counts := s.tally(key, s.placed()); crowded(counts) {
			evidence = append(evidence, fmt.Sprintf("pods that prefer to be apart share %s while others are empty: %s", key, amounts(counts)))
			e.require(key, int32(max(1, s.forced(key))))
		}
	}
	if len(evidence) == 0 {
		return
	}
	f := Finding{Evidence: strings.Join(evidence, "; "), Fix: s.patchOps(e.done())}
	if f.Fix == nil {
		f.Fix, f.Caution = []Step{s.restart()}, "a hard constraint requires it already, but applies only when pods are scheduled"
	} else {
		f.Caution = sentences("this makes the preference a hard constraint: where a domain has no room, pods stay Pending; "+
			"`"+s.restart().Command+"` tries the preference once more, without a guarantee", s.rollout(), s.volumes())
	}
	s.find(f)
}

// largest returns the pods of the largest group with equal values of matchLabelKeys: in a rollout, the revision with the most
// pods.
func (s *subject) largest(keys []string) (pods []*Pod) {
	if len(keys) == 0 {
		return s.placed()
	}
	groups := map[string][]*Pod{}
	for _, p := range s.placed() {
		var values []string
		for _, key := range keys {
			values = append(values, p.Labels[key])
		}
		group := strings.Join(values, "\n")
		groups[group] = append(groups[group], p)
		if g := groups[group]; len(g) > len(pods) {
			pods = g
		}
	}
	return pods
}

// forced returns the skew over key that hard constraints over other topologies may force; at least 1. If zones have equally
// many pods but different numbers of nodes, their nodes have different numbers of pods.
func (s *subject) forced(key string) int {
	skew := 1
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) || c.TopologyKey == key || !s.own(c.LabelSelector) {
			continue
		}
		nest := s.open().inside(c.TopologyKey, key)
		if nest.least != nest.most {
			each := ceilDiv(len(s.placed()), nest.outer)
			skew = max(skew, ceilDiv(each, nest.least))
		}
	}
	return skew
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// wishedApart returns the topology keys of the subject's preferred anti-affinity to its own pods.
func (s *subject) wishedApart() (keys []string) {
	for _, t := range s.apart().PreferredDuringSchedulingIgnoredDuringExecution {
		if key := t.PodAffinityTerm.TopologyKey; s.ownTerm(t.PodAffinityTerm) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// crowded reports whether a domain has two pods or more while another has none.
func crowded(counts map[string]int) bool {
	most, least := 0, 1
	for _, n := range counts {
		most, least = max(most, n), min(least, n)
	}
	return most > 1 && least == 0
}

func checkNoMatchLabelKeys(s *subject) {
	if s.Kind != Deployment || !s.Update.Rolling {
		return
	}
	severity, e := Note, edit{subject: s}
	var over []string
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !s.own(c.LabelSelector) || slices.Contains(c.MatchLabelKeys, revisionKey) || mentions(c.LabelSelector, revisionKey) {
			continue
		}
		if hard(c) {
			severity = Warning
		}
		over = append(over, describe(c))
		e.change(i, "matchLabelKeys", append(slices.Clone(c.MatchLabelKeys), revisionKey))
	}
	if len(over) > 0 {
		s.find(Finding{
			Severity: severity, Fix: s.patchOps(e.done()), Caution: s.rollout(),
			Evidence: fmt.Sprintf("no %s in matchLabelKeys of the spread over %s", revisionKey, listNames(over)),
		})
	}
}

func mentions(selector *metav1.LabelSelector, key string) bool {
	_, in := selector.MatchLabels[key]
	return in || slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}

// describe describes a constraint: its key, and whether it is hard.
func describe(c corev1.TopologySpreadConstraint) string {
	return fmt.Sprintf("%s (%s)", c.TopologyKey, c.WhenUnsatisfiable)
}

// Skew is how unevenly a workload's pods are spread at present.
type Skew struct {
	Namespace, Kind, Name string
	TopologyKey           string
	Constraint            Strictness
	// Skew is the difference between the domains with the most and the fewest pods. Domains that take pods now count, and so do
	// those that have some.
	Skew int
	// Allowed is the skew that the constraint allows; 0 if Unconstrained. A soft constraint allows what hard ones over other
	// topologies force.
	Allowed int
}

// Strictness says what the scheduler does with a pod that would break a constraint.
type Strictness string

// The kinds of strictness.
const (
	Hard          Strictness = "hard" // it leaves the pod Pending
	Soft          Strictness = "soft" // it places the pod nevertheless
	Unconstrained Strictness = "none" // there is no constraint over this topology
)

func (k Skew) exceeded() bool { return k.Constraint != Unconstrained && k.Skew > k.Allowed }

// Skews returns the present skew of each workload over the topologies of its own spread constraints, and over zones and nodes. A workload
// whose pods or nodes could not be read has none. Like Audit it is a pure function.
func Skews(c Cluster) (all []Skew) {
	v := newView(&c, "")
	for i := range c.Workloads {
		s := subject{view: v, Workload: &c.Workloads[i]}
		if !s.lacks(Pods, Nodes) {
			all = append(all, s.skews()...)
		}
	}
	return all
}

func (s *subject) skews() (all []Skew) {
	keys := map[string]bool{}
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if s.own(c.LabelSelector) { // the API accepts one of each strictness over a key
			all, keys[c.TopologyKey] = append(all, s.skew(c)), true
		}
	}
	for _, key := range []string{zoneKey, hostKey} {
		if !keys[key] && len(s.open().domains(key)) > 0 {
			all = append(all, s.spread(Skew{TopologyKey: key, Constraint: Unconstrained}, nil))
		}
	}
	return all
}

// skew returns the skew that a constraint limits.
func (s *subject) skew(c corev1.TopologySpreadConstraint) Skew {
	k := Skew{TopologyKey: c.TopologyKey, Constraint: Soft, Allowed: max(int(c.MaxSkew), s.forced(c.TopologyKey))}
	if hard(c) {
		k.Constraint, k.Allowed = Hard, int(c.MaxSkew)
	}
	return s.spread(k, c.MatchLabelKeys)
}

// spread measures the skew of the largest group of pods with equal values of matchLabelKeys.
func (s *subject) spread(k Skew, matchLabelKeys []string) Skew {
	k.Namespace, k.Kind, k.Name = s.Namespace, s.Kind, s.Name
	k.Skew = extent(s.tally(k.TopologyKey, s.largest(matchLabelKeys)))
	return k
}

// mostNames is how many names a sentence may list.
const mostNames = 8

// listNames joins names for a sentence, and only counts those beyond mostNames.
func listNames(all []string) string { return prose.Few(all, mostNames) }

// amounts lists how many pods each domain has.
func amounts(counts map[string]int) string {
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s has %d", d, counts[d]))
	}
	return listNames(parts)
}

// extent returns the difference between the largest and the smallest count.
func extent(counts map[string]int) int {
	if len(counts) == 0 {
		return 0
	}
	all := slices.Collect(maps.Values(counts))
	return slices.Max(all) - slices.Min(all)
}
