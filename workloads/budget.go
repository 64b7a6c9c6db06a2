package workloads

import (
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is a PodDisruptionBudget: how many pods evictions may disrupt at a time. It limits evictions only.
type Budget struct {
	// None: no budget.
	None bool `json:"none,omitempty"`
	// MinAvailable or MaxUnavailable, a number or a percentage; default MaxUnavailable 1.
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// UnhealthyPodEvictionPolicy decides whether pods that are not ready can always be evicted; default AlwaysAllow, so
	// that a broken pod does not block a drain. Kubernetes' default is IfHealthyBudget.
	UnhealthyPodEvictionPolicy policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
}

// NoBudget lets evictions disrupt all pods at once.
var NoBudget = Budget{None: true}

func (b Budget) withDefaults() Budget {
	if b.MinAvailable == "" {
		defaultTo(&b.MaxUnavailable, "1")
	}
	defaultTo(&b.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow)
	return b
}

func (b Budget) validate() error {
	if b.MinAvailable != "" && b.MaxUnavailable != "" {
		return errors.New("budget: set minAvailable or maxUnavailable, not both")
	}
	if err := validateShare(b.MinAvailable); err != nil {
		return fmt.Errorf("budget: minAvailable: %w", err)
	}
	if err := validateShare(b.MaxUnavailable); err != nil {
		return fmt.Errorf("budget: maxUnavailable: %w", err)
	}
	return nil
}

// object is nil if there is no budget.
func (b Budget) object(meta metav1.ObjectMeta) *policyv1.PodDisruptionBudget {
	if b.None {
		return nil
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: share(b.MinAvailable), MaxUnavailable: share(b.MaxUnavailable),
			Selector: selector(meta.Name), UnhealthyPodEvictionPolicy: &b.UnhealthyPodEvictionPolicy,
		},
	}
}

// share is a number of pods or a percentage; nil if empty.
func share(s string) *intstr.IntOrString {
	if s == "" {
		return nil
	}
	v := intstr.Parse(s)
	return &v
}

func validateShare(s string) error {
	if s == "" {
		return nil
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(share(s), 100, true)
	if err != nil || v < 0 {
		return fmt.Errorf("%q: want a number of pods such as 1, or a percentage such as 25%%", s)
	}
	return nil
}
