package workloads

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Spread is a topology spread constraint: when a pod is placed, the numbers of pods in the domains of Key differ by at most
// MaxSkew. Pods that terminate do not cause others to move.
//
// Its zero values are good practice; Kubernetes' own defaults are kept for compatibility with old manifests.
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
type Spread struct {
	Key     string `json:"key"`               // a node label: Zone or Host
	MaxSkew int32  `json:"maxSkew,omitempty"` // default 1
	// Unsatisfiable is whenUnsatisfiable; default DoNotSchedule.
	Unsatisfiable corev1.UnsatisfiableConstraintAction `json:"unsatisfiable,omitempty"`
	// MinDomains counts that many domains, even if some do not exist (yet); 0: only existing domains. For DoNotSchedule
	// only.
	MinDomains int32 `json:"minDomains,omitempty"`
	// NodeAffinityPolicy: whether nodes count that the pod's own node selector excludes; default Honor: they do not.
	NodeAffinityPolicy corev1.NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty"`
	// NodeTaintsPolicy: whether nodes count whose taints the pod does not tolerate; default Honor: they do not. Kubernetes'
	// default is Ignore. With Ignore, a node that is being drained counts as an empty domain, and its former pods cannot be
	// placed anywhere else.
	NodeTaintsPolicy corev1.NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty"`
	// MatchLabelKeys default to pod-template-hash: a rollout spreads the new pods independently of the old ones. Empty, not
	// nil: none.
	MatchLabelKeys []string `json:"matchLabelKeys"`
	// Selector selects the pods that count; default: the workload's own.
	Selector map[string]string `json:"selector,omitempty"`
}

// Alternatives to Spread's defaults, in Kubernetes' terms.
const (
	ScheduleAnyway = corev1.ScheduleAnyway
	Ignore         = corev1.NodeInclusionPolicyIgnore
)

// NoSpread sets no constraint, so the scheduler may put the pods anywhere.
var NoSpread = []Spread{}

// defaultSpread is required over zones and preferred over nodes: if both were required, zones with different numbers of
// nodes could deadlock.
var defaultSpread = []Spread{{Key: Zone}, {Key: Host, Unsatisfiable: corev1.ScheduleAnyway}}

func (s Spread) constraint(name string) corev1.TopologySpreadConstraint {
	defaultTo(&s.MaxSkew, 1)
	defaultTo(&s.Unsatisfiable, corev1.DoNotSchedule)
	defaultTo(&s.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor)
	defaultTo(&s.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor)
	if s.MatchLabelKeys == nil {
		s.MatchLabelKeys = []string{"pod-template-hash"}
	}
	c := corev1.TopologySpreadConstraint{
		MaxSkew: s.MaxSkew, TopologyKey: s.Key, WhenUnsatisfiable: s.Unsatisfiable,
		LabelSelector: selectorOr(s.Selector, name), MatchLabelKeys: s.MatchLabelKeys,
		NodeAffinityPolicy: &s.NodeAffinityPolicy, NodeTaintsPolicy: &s.NodeTaintsPolicy,
	}
	if s.MinDomains > 0 {
		c.MinDomains = &s.MinDomains
	}
	return c
}

func (s Spread) validate() error {
	switch {
	case s.Key == "":
		return fmt.Errorf("spread %+v: no key", s)
	case s.MaxSkew < 0 || s.MinDomains < 0:
		return fmt.Errorf("spread over %s: max skew %d, min domains %d: must not be negative", s.Key, s.MaxSkew, s.MinDomains)
	case s.MinDomains > 0 && s.Unsatisfiable == corev1.ScheduleAnyway:
		return fmt.Errorf("spread over %s: min domains need %s", s.Key, corev1.DoNotSchedule)
	}
	return nil
}

// Affinity attracts a workload's pods to domains of Key where the selected pods run, or keeps them away from such domains.
type Affinity struct {
	Key  string `json:"key"`            // a node label: Zone or Host
	Away bool   `json:"away,omitempty"` // anti-affinity
	// Weight from 1 to 100 makes it a preference; 0 makes it required.
	Weight int32 `json:"weight,omitempty"`
	// Selector selects the other pods; default: the workload's own.
	Selector map[string]string `json:"selector,omitempty"`
}

func (a Affinity) validate() error {
	if a.Key == "" || a.Weight < 0 || a.Weight > 100 {
		return fmt.Errorf("affinity %+v: want a key, and a weight from 0 to 100", a)
	}
	return nil
}

// affinity converts; nil if there is no affinity.
func affinity(all []Affinity, name string) *corev1.Affinity {
	var to corev1.PodAffinity
	var away corev1.PodAntiAffinity
	for _, a := range all {
		term := corev1.PodAffinityTerm{TopologyKey: a.Key, LabelSelector: selectorOr(a.Selector, name)}
		weighted := corev1.WeightedPodAffinityTerm{Weight: a.Weight, PodAffinityTerm: term}
		switch {
		case a.Away && a.Weight == 0:
			away.RequiredDuringSchedulingIgnoredDuringExecution = append(away.RequiredDuringSchedulingIgnoredDuringExecution, term)
		case a.Away:
			away.PreferredDuringSchedulingIgnoredDuringExecution = append(away.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		case a.Weight == 0:
			to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, term)
		default:
			to.PreferredDuringSchedulingIgnoredDuringExecution = append(to.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &corev1.Affinity{PodAffinity: some(to), PodAntiAffinity: someAnti(away)}
}

func some(a corev1.PodAffinity) *corev1.PodAffinity {
	if len(a.RequiredDuringSchedulingIgnoredDuringExecution)+len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	return &a
}

func someAnti(a corev1.PodAntiAffinity) *corev1.PodAntiAffinity {
	if len(a.RequiredDuringSchedulingIgnoredDuringExecution)+len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	return &a
}

func selectorOr(own map[string]string, name string) *metav1.LabelSelector {
	if own != nil {
		return &metav1.LabelSelector{MatchLabels: own}
	}
	return selector(name)
}

// onRole is the node selector of workers or of the load node.
func onRole(role string) map[string]string { return map[string]string{labelRole: role} }

// simulatedTolerations let a pod run on simulated nodes.
func simulatedTolerations() []corev1.Toleration {
	return []corev1.Toleration{{Key: labelRole, Operator: corev1.TolerationOpEqual, Value: roleSimulated, Effect: corev1.TaintEffectNoSchedule}}
}

// loadTolerations let a pod run on the load node and keep it there: an API server outage must not cause an eviction that
// loses evidence.
func loadTolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: labelRole, Operator: corev1.TolerationOpEqual, Value: roleLoad, Effect: corev1.TaintEffectNoSchedule},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
}
