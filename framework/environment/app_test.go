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
