package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Step is one change of a fix, both as a command to type and as data to apply.
type Step struct {
	// Command is for a POSIX shell.
	Command string `json:"command"`
	Do      Verb   `json:"do"`
	Target  Target `json:"target"`
	// PatchType is the type of Body if Do is Patch: kubectl's --type.
	PatchType PatchType `json:"patchType,omitempty"`
	// Body is the patch, or the object to create.
	Body json.RawMessage `json:"body,omitempty"`
}

// Verb is what a step does.
type Verb string

// The verbs.
const (
	Patch   Verb = "patch"
	Create  Verb = "create"
	Delete  Verb = "delete"
	Restart Verb = "restart" // replace a workload's pods, as its update strategy says
)

// PatchType is a kind of patch, in kubectl's words.
type PatchType string

// The types of patches that are used. A JSON patch tests what it is about to change, so that it cannot change an entry of a
// list that was modified since it was read.
const (
	JSONPatch      PatchType = "json"
	StrategicPatch PatchType = "strategic"
	MergePatch     PatchType = "merge"
)

// Target is the object that a step changes.
type Target struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// object is short for a JSON object.
type object = map[string]any

// op is one operation of a JSON patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func (v *view) patch(at Target, how PatchType, change any) Step {
	body := encode(change)
	return Step{
		Do: Patch, Target: at, PatchType: how, Body: body,
		Command: fmt.Sprintf("%s patch %s %s --namespace %s --type %s --patch %s",
			v.kubectl, Word(strings.ToLower(at.Kind)), Word(at.Name), Word(at.Namespace), how, Quote(string(body))),
	}
}

func (v *view) create(at Target, manifest any) Step {
	body := encode(manifest)
	return Step{
		Do: Create, Target: at, Body: body,
		Command: fmt.Sprintf("printf %%s %s | %s create --filename -", Quote(string(body)), v.kubectl),
	}
}

func (v *view) remove(at Target) Step {
	return Step{
		Do: Delete, Target: at,
		Command: fmt.Sprintf("%s delete %s %s --namespace %s", v.kubectl, Word(strings.ToLower(at.Kind)), Word(at.Name), Word(at.Namespace)),
	}
}

// target is the subject itself.
func (s *subject) target() Target {
	return Target{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
}

// patchOps patches the subject. Without operations it returns no step.
func (s *subject) patchOps(ops []op) []Step {
	if len(ops) == 0 {
		return nil
	}
	return []Step{s.patch(s.target(), JSONPatch, ops)}
}

// patchPod merges a change into the subject's pod template.
func (s *subject) patchPod(podSpec object) []Step {
	return []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"template": object{"spec": podSpec}}})}
}

// restart replaces the subject's pods.
func (s *subject) restart() Step {
	return Step{
		Do: Restart, Target: s.target(),
		Command: fmt.Sprintf("%s rollout restart %s/%s --namespace %s", s.kubectl, Word(strings.ToLower(s.Kind)), Word(s.Name), Word(s.Namespace)),
	}
}

// encode encodes as the API server does, escapes included, because a JSON patch's test compares the encoded text. The values
// are maps and API types, whose encoding cannot fail.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// Quote quotes a word for a POSIX shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var unquoted = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word is a word of a command for a POSIX shell, in quotes where it needs them.
func Word(s string) string {
	if unquoted.MatchString(s) {
		return s
	}
	return Quote(s)
}

// sentences joins the cautions that are not empty.
func sentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

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
	terms := s.together().RequiredDuringSchedulingIgnoredDuringExecution
	const at = pathPod + "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution"
	for i, t := range slices.Backward(terms) { // backward, so that a removal does not shift the indexes still to come
		if s.ownTerm(t) && slices.Contains(keys, t.TopologyKey) {
			ops = append(ops, removeTerm(at, i, t)...)
		}
	}
	return ops
}

// removeTerm removes term i of a list, unless another has taken its index meanwhile.
func removeTerm(list string, i int, t corev1.PodAffinityTerm) []op {
	term := fmt.Sprintf("%s/%d", list, i)
	return []op{{"test", term + "/topologyKey", t.TopologyKey}, {Op: "remove", Path: term}}
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

// resources maps the kinds that steps change, and the kinds that make up a policy, to their API resources.
var resources = map[string]schema.GroupVersionResource{
	Deployment:      {Group: "apps", Version: "v1", Resource: "deployments"},
	StatefulSet:     {Group: "apps", Version: "v1", Resource: "statefulsets"},
	kindBudget:      {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	kindAutoscaler:  {Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	"Service":       {Version: "v1", Resource: "services"},
	"ConfigMap":     {Version: "v1", Resource: "configmaps"},
	"EndpointSlice": {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	kindPolicy:      {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	kindBinding:     {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
}

// The kinds that make up a Policy.
const (
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
)

// ResourceOf returns the API resource of a kind that a Step changes or that Policy writes. A Pod, which a step may delete, has
// none here: its controller creates it.
func ResourceOf(kind string) (at schema.GroupVersionResource, known bool) {
	at, known = resources[kind]
	return at, known
}

// API returns the patch type in the API's own terms. Any other value, also the empty one of a step that is no Patch, is a
// strategic merge patch, which is what kubectl sends for `rollout restart`.
func (p PatchType) API() types.PatchType {
	switch p {
	case JSONPatch:
		return types.JSONPatchType
	case MergePatch:
		return types.MergePatchType
	case StrategicPatch:
	}
	return types.StrategicMergePatchType
}
