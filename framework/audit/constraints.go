package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Paths of JSON patches.
const (
	pathPod         = "/spec/template/spec"
	pathConstraints = pathPod + "/topologySpreadConstraints"
)

// revisionKey is the label that tells the pods of one revision of a Deployment from those of another.
const revisionKey = "pod-template-hash"

// edit gathers the changes to a workload's spread constraints as a JSON patch.
type edit struct {
	*subject
	ops   []op
	added []corev1.TopologySpreadConstraint
	keys  []string // that require has handled
}

// change sets a field of constraint i. The patch fails if another constraint has taken that index meanwhile.
func (e *edit) change(i int, field string, value any) {
	at := fmt.Sprintf("%s/%d", pathConstraints, i)
	guard := op{"test", at + "/topologyKey", e.Template.Spec.TopologySpreadConstraints[i].TopologyKey}
	if !slices.ContainsFunc(e.ops, func(o op) bool { return o.Path == guard.Path }) {
		e.ops = append(e.ops, guard)
	}
	e.ops = append(e.ops, op{"add", at + "/" + field, value}) // add replaces a field that exists
}

// done returns the patch; nil if nothing has to change.
func (e *edit) done() []op {
	if len(e.Template.Spec.TopologySpreadConstraints) == 0 && len(e.added) > 0 {
		return append(e.ops, op{"add", pathConstraints, e.added})
	}
	for _, c := range e.added {
		e.ops = append(e.ops, op{"add", pathConstraints + "/-", c})
	}
	return e.ops
}

// constraint returns a constraint over key that follows good practice: it counts the subject's own pods, each revision by
// itself, and only domains that its pods can go to.
func (s *subject) constraint(key string, action corev1.UnsatisfiableConstraintAction, maxSkew int32) corev1.TopologySpreadConstraint {
	honor := corev1.NodeInclusionPolicyHonor
	c := corev1.TopologySpreadConstraint{
		MaxSkew: maxSkew, TopologyKey: key, WhenUnsatisfiable: action, LabelSelector: s.Selector,
		NodeAffinityPolicy: &honor, NodeTaintsPolicy: &honor,
	}
	if s.Kind == Deployment {
		c.MatchLabelKeys = []string{revisionKey}
	}
	return c
}

// prefer adds a soft constraint over key unless there is any constraint over it.
func (e *edit) prefer(key string) {
	for _, c := range e.Template.Spec.TopologySpreadConstraints {
		if c.TopologyKey == key && e.own(c.LabelSelector) {
			return
		}
	}
	e.added = append(e.added, e.constraint(key, corev1.ScheduleAnyway, 1))
}

// require makes sure that there is a hard constraint over key with a skew of at most maxSkew. It hardens an existing
// constraint, so that there are never two over the same key.
func (e *edit) require(key string, maxSkew int32) {
	if slices.Contains(e.keys, key) {
		return
	}
	e.keys = append(e.keys, key)
	i := e.existing(key)
	if i < 0 {
		e.added = append(e.added, e.constraint(key, corev1.DoNotSchedule, maxSkew))
		return
	}
	c := e.Template.Spec.TopologySpreadConstraints[i]
	if !e.own(c.LabelSelector) {
		e.change(i, "labelSelector", e.Selector)
	}
	if hard(c) {
		if c.MaxSkew > maxSkew {
			e.change(i, "maxSkew", maxSkew)
		}
		return
	}
	e.change(i, "whenUnsatisfiable", corev1.DoNotSchedule)
	if c.MaxSkew != maxSkew {
		e.change(i, "maxSkew", maxSkew)
	}
	if !honors(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) {
		e.change(i, "nodeTaintsPolicy", corev1.NodeInclusionPolicyHonor)
	}
	if e.Kind == Deployment && !slices.Contains(c.MatchLabelKeys, revisionKey) {
		e.change(i, "matchLabelKeys", append(slices.Clone(c.MatchLabelKeys), revisionKey))
	}
}

// existing returns the index of the constraint over key to build on, a hard one if there is one; -1: there is no constraint
// over key.
func (e *edit) existing(key string) int {
	all := e.Template.Spec.TopologySpreadConstraints
	over := func(c corev1.TopologySpreadConstraint) bool { return c.TopologyKey == key }
	if i := slices.IndexFunc(all, func(c corev1.TopologySpreadConstraint) bool { return over(c) && hard(c) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, over)
}

func hard(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.DoNotSchedule }

// honors reports whether a policy of a constraint is Honor; otherwise is the API's default for a policy that is not set.
func honors(policy *corev1.NodeInclusionPolicy, otherwise corev1.NodeInclusionPolicy) bool {
	return ptr.Deref(policy, otherwise) == corev1.NodeInclusionPolicyHonor
}

// spreadOut returns the steps that move the subject's pods to different nodes, and to different zones if there are several. The
// constraint over zones is hard and the one over nodes soft, because two hard ones can deadlock if zones have different numbers
// of nodes.
func (s *subject) spreadOut() (fix []Step, caution string) {
	hosts, zones := len(s.homes().nodes), len(s.homes().domains(zoneKey))
	if s.cluster.unread(Nodes, s.Namespace) {
		hosts, zones = 2, 0
		caution = "nodes could not be listed, so the patch spreads over nodes and leaves zones alone"
	}
	if hosts < 2 {
		return nil, "no other node can take its pods, so no patch helps: widen its node selector and affinity, or add nodes"
	}
	e := &edit{subject: s}
	keys := []string{hostKey}
	if zones >= 2 {
		keys = append(keys, zoneKey)
	}
	e.ops = s.dropOwnAffinity(keys)
	if zones >= 2 {
		e.require(zoneKey, 1)
		e.prefer(hostKey)
	} else {
		e.require(hostKey, 1)
	}
	fix = s.patchOps(e.done())
	if fix == nil {
		caution = sentences(caution, "its constraints forbid this already, but apply only when pods are scheduled: a restart schedules all again")
		return []Step{s.restart()}, caution
	}
	return fix, sentences(caution, "where a zone or node has no room, pods stay Pending instead of crowding elsewhere", s.rollout(), s.volumes())
}

// dropOwnAffinity returns the operations that remove the required pod affinity that draws the subject's pods together over one
// of keys.
func (s *subject) dropOwnAffinity(keys []string) (ops []op) {
	if s.Template.Spec.Affinity == nil || s.Template.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	terms := s.Template.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	const at = pathPod + "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution"
	for i, t := range slices.Backward(terms) { // backward, so that a removal does not shift the indexes still to come
		if s.ownTerm(t) && slices.Contains(keys, t.TopologyKey) {
			term := fmt.Sprintf("%s/%d", at, i)
			ops = append(ops, op{"test", term + "/topologyKey", t.TopologyKey}, op{Op: "remove", Path: term})
		}
	}
	return ops
}

// rollout returns what a user must do for a changed template to reach the pods; empty: nothing.
func (s *subject) rollout() string { return s.Update.ByHand }

// volumes warns of volumes that tie pods to a node or zone.
func (s *subject) volumes() string {
	if !s.Claims {
		return ""
	}
	return "its volumes may be tied to a node or zone, and then their pods are too"
}
