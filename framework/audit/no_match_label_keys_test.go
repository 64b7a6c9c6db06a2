package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestNoMatchLabelKeys(t *testing.T) {
	without := func(action corev1.UnsatisfiableConstraintAction, key string, keys ...string) workloads.Spread {
		return workloads.Spread{Key: key, Unsatisfiable: action, MatchLabelKeys: append([]string{}, keys...)}
	}
	hard, soft := without(corev1.DoNotSchedule, workloads.Zone), without(corev1.ScheduleAnyway, workloads.Host)
	spread := func(s ...workloads.Spread) workloads.Backend { return workloads.Backend{Spread: s} }
	caught(t, "no-match-label-keys",
		mutant{
			name: "both", backend: spread(hard, soft),
			evidence: "no pod-template-hash in matchLabelKeys of the spread over topology.kubernetes.io/zone (DoNotSchedule) and kubernetes.io/hostname (ScheduleAnyway)",
		},
		mutant{
			name: "a preference", backend: spread(workloads.Spread{Key: workloads.Zone}, soft), severity: Note,
			evidence: "no pod-template-hash in matchLabelKeys of the spread over kubernetes.io/hostname (ScheduleAnyway)",
		},
		mutant{
			name:     "other keys", // which the patch must keep
			backend:  spread(without(corev1.DoNotSchedule, workloads.Zone, "tier"), workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}),
			evidence: "no pod-template-hash in matchLabelKeys of the spread over topology.kubernetes.io/zone (DoNotSchedule)",
		},
	)
	clean(t,
		mutant{name: "a StatefulSet", backend: spread(hard, soft), statefulSet: true},
		mutant{
			name: "old and new never meet", backend: spread(hard, soft),
			harm: func(d *appsv1.Deployment) {
				d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			},
			service: func(s *corev1.Service) { s.Spec.Selector = nil }, // or else it is an outage
		},
		mutant{
			name: "told apart in the selector", backend: spread(hard, workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}),
			harm: func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
					{Key: revisionKey, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"0"}},
				}
			},
		},
		mutant{
			name: "about other pods", backend: spread(workloads.Spread{Key: workloads.Zone}, workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway},
				workloads.Spread{Key: "rack", Unsatisfiable: corev1.ScheduleAnyway, MatchLabelKeys: []string{}, Selector: map[string]string{"app": "x"}}),
		},
	)
}

// Existing matchLabelKeys stay.
func TestMatchLabelKeysAreAdded(t *testing.T) {
	w := newWorld(t, mutant{backend: workloads.Backend{Spread: []workloads.Spread{{Key: workloads.Zone, MatchLabelKeys: []string{"tier"}}}}})
	for _, f := range w.audit().Findings {
		for _, step := range f.Fix {
			w.typed(step)
		}
	}
	d, err := w.client.AppsV1().Deployments(shop).Get(w.ctx, "backend", metav1.GetOptions{})
	w.must(err)
	keys := d.Spec.Template.Spec.TopologySpreadConstraints[0].MatchLabelKeys
	if len(keys) != 2 || keys[0] != "tier" || keys[1] != revisionKey {
		t.Errorf("matchLabelKeys are %v", keys)
	}
}
