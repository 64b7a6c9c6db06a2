package deploy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/deploy"
)

// What keeps a pod from becoming ready is said as Kubernetes says it. What passes by itself is not.
func TestWhyAPodIsStuck(t *testing.T) {
	waiting := func(reason, message string, restarts int32) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "nginx", RestartCount: restarts,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}}
	}
	unschedulable := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/5 nodes are available: 3 Insufficient memory.",
	}}}}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"an image":     {waiting("ErrImagePull", "no such host", 0), "container nginx: ErrImagePull: no such host"},
		"a secret":     {waiting("CreateContainerConfigError", `secret "db" not found`, 0), `container nginx: CreateContainerConfigError: secret "db" not found`},
		"no node":      {unschedulable, "0/5 nodes are available: 3 Insufficient memory."},
		"it is made":   {waiting("ContainerCreating", "", 0), ""},
		"it is pulled": {waiting("PodInitializing", "", 0), ""},
	} {
		if got := deploy.WhyStuck(t.Context(), nil, test.pod); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
