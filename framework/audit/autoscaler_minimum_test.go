package audit

import (
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

// scaler is an autoscaler of an object; least below 0: minReplicas is not set.
func scaler(kind, name string, least, most int32) []runtime.Object {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "scaler"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name}
	if h.Spec.MaxReplicas = most; least >= 0 {
		h.Spec.MinReplicas = &least
	}
	return []runtime.Object{h}
}

func TestAutoscalerMinimum(t *testing.T) {
	const evidence = "HorizontalPodAutoscaler scaler may scale its 6 replicas down to "
	caught(t, "autoscaler-minimum",
		mutant{name: "one", more: scaler(Deployment, "backend", 1, 9), evidence: evidence + "1"},
		mutant{name: "not set, which means one", more: scaler(Deployment, "backend", -1, 9), evidence: evidence + "1"},
		mutant{name: "of a StatefulSet", statefulSet: true, more: scaler(StatefulSet, "backend", 1, 2), evidence: evidence + "1"},
	)
	if got := found(t, mutant{more: scaler(Deployment, "backend", 0, 9)}); !slices.Equal(got, []string{"warning autoscaler-minimum"}) { // which API servers refuse by default
		t.Errorf("none: found %q", got)
	}
	clean(t,
		mutant{name: "two", more: scaler(Deployment, "backend", 2, 9)},
		mutant{name: "of another kind", more: scaler(StatefulSet, "backend", 1, 9)},
		mutant{name: "of another name", more: scaler(Deployment, "front", 1, 9)},
	)
}

// A single replica that an autoscaler leaves is mended at the autoscaler, which would undo another patch. One that it is about to scale up is none.
func TestASingleReplicaOfAnAutoscaler(t *testing.T) {
	one := workloads.Backend{Replicas: 1}
	caught(t, "single-replica",
		mutant{name: "which leaves it so", backend: one, more: scaler(Deployment, "backend", 1, 9), evidence: "spec.replicas is 1, and HorizontalPodAutoscaler scaler may leave it so"},
		mutant{name: "which never has more", backend: one, more: scaler(Deployment, "backend", -1, 1), evidence: "spec.replicas is 1, and HorizontalPodAutoscaler scaler may leave it so"},
	)
	clean(t, mutant{name: "which scales it up", backend: one, more: scaler(Deployment, "backend", 2, 9)})
}
