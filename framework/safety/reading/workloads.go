package reading

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/safety/capacity"
)

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// workloads reads the controllers of pods, and the budgets.
func (v *reading) workloads() {
	for _, n := range v.owners() {
		list(v, "deployments", n, v.Client.AppsV1().Deployments(n), func(d *appsv1.Deployment) { v.Deployments = append(v.Deployments, *d) })
		list(v, "statefulsets", n, v.Client.AppsV1().StatefulSets(n), func(s *appsv1.StatefulSet) { v.StatefulSets = append(v.StatefulSets, *s) })
		list(v, "replicasets", n, v.Client.AppsV1().ReplicaSets(n), func(r *appsv1.ReplicaSet) { v.ReplicaSets = append(v.ReplicaSets, *r) })
		list(v, "poddisruptionbudgets", n, v.Client.PolicyV1().PodDisruptionBudgets(n), func(b *policyv1.PodDisruptionBudget) { v.Budgets = append(v.Budgets, *b) })
	}
}

// claims reads the volumes of the pods that may end.
func (v *reading) claims() {
	v.Claims = map[capacity.Claim]corev1.PersistentVolume{}
	for _, n := range v.owners() {
		for _, p := range v.Pods {
			if p.Namespace != n {
				continue
			}
			for _, volume := range p.Spec.Volumes {
				if volume.PersistentVolumeClaim != nil {
					v.claim(capacity.Claim{Namespace: n, Name: volume.PersistentVolumeClaim.ClaimName})
				}
			}
		}
	}
}

// claim reads the volume of a claim. One that is not bound, or may not be read, stays unknown.
func (v *reading) claim(c capacity.Claim) {
	if _, known := v.Claims[c]; known || v.err != nil {
		return
	}
	claim, err := v.Client.CoreV1().PersistentVolumeClaims(c.Namespace).Get(v.ctx, c.Name, metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return
	}
	if volume, err := v.Client.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{}); err == nil {
		v.Claims[c] = *volume
	}
}
