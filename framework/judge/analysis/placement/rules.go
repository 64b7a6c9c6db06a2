package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// podRules are the hard rules by which the scheduler must place a pod.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
type podRules struct {
	Spread                 []spreadRule
	affinity, antiAffinity []podTerm
	nodes                  NodeRules
	fits                   map[*corev1.Node]Fit
}

// spreadRule is a topology spread constraint with DoNotSchedule.
type spreadRule struct {
	corev1.TopologySpreadConstraint
	selector labels.Selector
}

// podTerm is a required term of pod affinity or anti-affinity. The API server has merged its matchLabelKeys and
// mismatchLabelKeys into its selector.
type podTerm struct {
	corev1.PodAffinityTerm
	selector labels.Selector
}

// readRules reads a pod's rules from a record; see history.Pod. A rule that this version does not know is an error, because the
// scheduler may have followed it.
func readRules(raw json.RawMessage, namespace string) (*podRules, error) {
	var spec struct {
		NodeSelector map[string]string                 `json:"nodeSelector"`
		Affinity     corev1.Affinity                   `json:"affinity"`
		Tolerations  []corev1.Toleration               `json:"tolerations"`
		Spread       []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&spec); err != nil {
		return nil, err
	}
	r := &podRules{
		nodes: NodeRulesOf(corev1.PodSpec{NodeSelector: spec.NodeSelector, Affinity: &spec.Affinity, Tolerations: spec.Tolerations}),
		fits:  make(map[*corev1.Node]Fit),
	}
	if err := checkOperators(spec.Tolerations, spec.Affinity.NodeAffinity); err != nil {
		return nil, err
	}
	for _, c := range spec.Spread {
		rule, err := readSpread(c)
		if err != nil {
			return nil, err
		}
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			r.Spread = append(r.Spread, rule)
		}
	}
	var err error
	if a := spec.Affinity.PodAffinity; a != nil {
		if r.affinity, err = readTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, namespace); err != nil {
			return nil, err
		}
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		r.antiAffinity, err = readTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, namespace)
	}
	return r, err
}

// checkOperators returns an error for an operator that this version does not know: the libraries match nothing with it.
func checkOperators(tolerations []corev1.Toleration, nodes *corev1.NodeAffinity) error {
	for _, t := range tolerations {
		if err := checkOneOf("operator of a toleration", t.Operator, "", corev1.TolerationOpEqual, corev1.TolerationOpExists); err != nil {
			return err
		}
	}
	if nodes == nil || nodes.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	for _, t := range nodes.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, r := range slices.Concat(t.MatchExpressions, t.MatchFields) {
			if err := checkOneOf("operator", r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
				corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt); err != nil {
				return err
			}
		}
	}
	return nil
}

func readSpread(c corev1.TopologySpreadConstraint) (r spreadRule, err error) {
	if err := checkOneOf("whenUnsatisfiable", c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway); err != nil {
		return r, err
	}
	for what, policy := range map[string]*corev1.NodeInclusionPolicy{
		"nodeAffinityPolicy": c.NodeAffinityPolicy, "nodeTaintsPolicy": c.NodeTaintsPolicy,
	} {
		if err := checkOneOf(what, ptr.Deref(policy, ""), "", corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore); err != nil {
			return r, err
		}
	}
	r.TopologySpreadConstraint = c
	r.selector, err = metav1.LabelSelectorAsSelector(c.LabelSelector)
	return r, err
}

// readTerms refuses a term about pods of other namespaces: the record does not hold those pods.
func readTerms(all []corev1.PodAffinityTerm, namespace string) (terms []podTerm, err error) {
	for _, t := range all {
		if t.NamespaceSelector != nil || slices.ContainsFunc(t.Namespaces, func(n string) bool { return n != namespace }) {
			return nil, fmt.Errorf("affinity over %s is about pods of other namespaces", t.TopologyKey)
		}
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			return nil, err
		}
		terms = append(terms, podTerm{t, selector})
	}
	return terms, nil
}

func checkOneOf[T ~string](what string, value T, allowed ...T) error {
	if !slices.Contains(allowed, value) {
		return fmt.Errorf("unknown %s %q", what, string(value))
	}
	return nil
}

// AboutOthers reports whether the rules say where a pod may be relative to other pods.
func (r *podRules) AboutOthers() bool {
	return len(r.Spread)+len(r.affinity)+len(r.antiAffinity) > 0
}

func (t podTerm) matches(of map[string]string) bool { return t.selector.Matches(labels.Set(of)) }

// topologyKeys returns the topology keys of the rules about other pods.
func (r *podRules) topologyKeys() (keys []string) {
	for _, c := range r.Spread {
		keys = append(keys, c.TopologyKey)
	}
	for _, t := range slices.Concat(r.affinity, r.antiAffinity) {
		keys = append(keys, t.TopologyKey)
	}
	return keys
}
