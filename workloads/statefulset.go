package workloads

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// validateStateful rejects options that a StatefulSet does not have. Its pods keep their names, so each pod must be gone
// before its replacement is created, and there is no surge.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies
func (b Backend) validateStateful() error {
	if b.StatefulSet && b.Strategy != (Strategy{}) {
		return errors.New("strategy: a StatefulSet replaces its pods one by one")
	}
	return nil
}

// statefulSet runs the pod template of a Deployment in a StatefulSet. Its pods are created in parallel, as a Deployment's
// are; a rolling update still replaces them one by one.
func statefulSet(meta metav1.ObjectMeta, replicas int32, template corev1.PodTemplateSpec) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta,
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: selector(meta.Name), Template: template, ServiceName: meta.Name,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		},
	}
}
