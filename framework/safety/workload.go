package disturb

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Workload is a Deployment or a StatefulSet with its pods.
type Workload struct {
	Object
	meta     metav1.ObjectMeta
	replicas int
	template corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim // templates of a StatefulSet
	// first is the ordinal of a StatefulSet's first pod, and volumesGo says that the claim of a replica is deleted with it.
	first     int
	volumesGo bool
	pods      []corev1.Pod // that have not ended
	// unsettled is why it is not as its controller wants it; empty: it is.
	unsettled string
	// away is how many pods a rolling update may take at a time, and stuck why a change of the template replaces no pod.
	away  int
	stuck string
}

// ready are the workload's pods that are Ready and not being deleted.
func (w *Workload) ready() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p corev1.Pod) bool { return !Ready(p) })
}

// Ready reports whether a pod is Ready and not being deleted.
func Ready(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Ended reports whether all containers of a pod have ended for good.
func Ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func ofDeployment(d appsv1.Deployment) *Workload {
	w := &Workload{
		Object: Object{Kind: KindDeployment, Namespace: d.Namespace, Name: d.Name, UID: d.UID},
		meta:   d.ObjectMeta, replicas: int(ptr.Deref(d.Spec.Replicas, 1)), template: d.Spec.Template,
	}
	s := d.Status
	w.unsettled = unsettled(s.ObservedGeneration, d.Generation, w.replicas, int(s.Replicas), int(s.UpdatedReplicas), int(s.AvailableReplicas))
	w.stuck = workloads.StuckDeployment(d.Spec)
	w.away = w.replicas // Recreate
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		w.away = unavailable(d.Spec.Strategy.RollingUpdate, w.replicas)
	}
	return w
}

// unavailable is how many pods a rolling update may take at a time, as the controller computes it.
//
// Source: ResolveFenceposts in kubernetes pkg/controller/deployment/util/deployment_util.go
func unavailable(rolling *appsv1.RollingUpdateDeployment, replicas int) int {
	quarter := intstr.FromString("25%")
	surge, away := &quarter, &quarter // the API's defaults
	if rolling != nil {
		surge, away = rolling.MaxSurge, rolling.MaxUnavailable
	}
	up, errUp := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(surge, intstr.FromInt32(0)), replicas, true)
	down, errDown := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(away, intstr.FromInt32(0)), replicas, false)
	switch {
	case errUp != nil || errDown != nil: // the API server accepts no such value
		return replicas
	case up == 0 && down == 0:
		return 1
	}
	return min(down, replicas)
}

func ofStatefulSet(s appsv1.StatefulSet) *Workload {
	w := &Workload{
		Object: Object{Kind: KindStatefulSet, Namespace: s.Namespace, Name: s.Name, UID: s.UID},
		meta:   s.ObjectMeta, replicas: int(ptr.Deref(s.Spec.Replicas, 1)), template: s.Spec.Template, claims: s.Spec.VolumeClaimTemplates, away: 1,
	}
	if o := s.Spec.Ordinals; o != nil {
		w.first = int(o.Start)
	}
	if p := s.Spec.PersistentVolumeClaimRetentionPolicy; p != nil {
		w.volumesGo = p.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	t := s.Status
	w.unsettled = unsettled(t.ObservedGeneration, s.Generation, w.replicas, int(t.Replicas), int(t.UpdatedReplicas), int(t.AvailableReplicas))
	w.stuck = workloads.StuckStatefulSet(s.Spec)
	if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType && t.ReadyReplicas == t.Replicas { // its pods need not be of the newest revision
		w.unsettled = unsettled(t.ObservedGeneration, s.Generation, w.replicas, int(t.Replicas), int(t.Replicas), int(t.AvailableReplicas))
	}
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil {
		if n, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, w.replicas, true); r.MaxUnavailable != nil && err == nil {
			w.away = max(n, 1)
		}
	}
	return w
}

// unsettled says why a workload is not as its controller wants it; empty: it is.
func unsettled(observed, generation int64, replicas, there, updated, available int) string {
	switch {
	case observed < generation:
		return "its controller has not seen its newest version"
	case there != replicas || updated != replicas || available != replicas:
		return fmt.Sprintf("of %d replicas, %d exist, %d are of the newest revision, and %d are available", replicas, there, updated, available)
	}
	return ""
}

// selects reports whether a selector selects labels, as the API server defines it: a nil selector selects nothing, an empty one everything.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(of))
}

// budgetsOf are the budgets that cover a pod.
func (v *view) budgetsOf(p corev1.Pod) []policyv1.PodDisruptionBudget {
	return slices.DeleteFunc(slices.Clone(v.Budgets), func(b policyv1.PodDisruptionBudget) bool {
		return b.Namespace != p.Namespace || !selects(b.Spec.Selector, p.Labels)
	})
}
