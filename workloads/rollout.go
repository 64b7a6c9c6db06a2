package workloads

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

const noReplicas = "it has no replicas"

// StuckDeployment is why a change of a Deployment's template does not replace its pods; empty: it replaces all of them.
func StuckDeployment(d appsv1.DeploymentSpec) string {
	switch {
	case d.Replicas != nil && *d.Replicas == 0:
		return noReplicas
	case d.Paused:
		return "its rollout is paused"
	}
	return ""
}

const onDelete = "its pods are replaced only when they are deleted (OnDelete)"

// StuckDaemonSet is StuckDeployment for a DaemonSet.
func StuckDaemonSet(d appsv1.DaemonSetSpec) string {
	if d.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return onDelete
	}
	return ""
}

// StuckStatefulSet is StuckDeployment for a StatefulSet.
func StuckStatefulSet(s appsv1.StatefulSetSpec) string {
	r := s.UpdateStrategy.RollingUpdate
	switch {
	case s.Replicas != nil && *s.Replicas == 0:
		return noReplicas
	case s.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		return onDelete
	case r != nil && r.Partition != nil && *r.Partition > 0:
		return fmt.Sprintf("its rolling update has the partition %d, so not all of its pods are replaced", *r.Partition)
	}
	return ""
}
