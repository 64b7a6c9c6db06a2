package environment

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

func TestPodsOfAWorkload(t *testing.T) {
	w := app.Workload{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}}
	pod := func(labels map[string]string, owned bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		if owned {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet"}}
		}
		return p
	}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"its own":         {pod(map[string]string{"app": "web", "pod-template-hash": "x"}, true), true},
		"of another":      {pod(map[string]string{"app": "db"}, true), false},
		"of no workload":  {pod(map[string]string{"app": "web"}, false), false},
		"the load worker": {pod(nil, false), false},
	} {
		if got := owned(w, test.pod); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

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
	env := &Environment{}
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
		if got := env.whyStuck(t.Context(), test.pod); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
