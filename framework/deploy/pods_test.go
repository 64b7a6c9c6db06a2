package deploy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/deploy"
)

// What keeps a pod from becoming ready is said as Kubernetes says it. What passes by itself is not.
func TestWhatHindersAPod(t *testing.T) {
	waiting := func(reason, message string, restarts int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: "nginx", RestartCount: restarts,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}
	}
	pod := func(init bool, c corev1.ContainerStatus, change func(*corev1.Pod)) (p corev1.Pod) {
		if p.Name = "web-1"; init {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{c}
			c = waiting("PodInitializing", "", 0)
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
		change(&p)
		return p
	}
	as := func(*corev1.Pod) {}
	killed := waiting("CrashLoopBackOff", "back-off", 3)
	killed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	ready := corev1.ContainerStatus{Name: "nginx", RestartCount: 7, Ready: true}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"an image":             {pod(false, waiting("ErrImagePull", "no such host", 0), as), "pod web-1: container nginx: ErrImagePull: no such host"},
		"a secret":             {pod(false, waiting("CreateContainerConfigError", `secret "db" not found`, 0), as), `pod web-1: container nginx: CreateContainerConfigError: secret "db" not found`},
		"an init container":    {pod(true, waiting("ImagePullBackOff", "no such host", 0), as), "pod web-1: init container nginx: ImagePullBackOff: no such host"},
		"it ends too often":    {pod(false, killed, as), "pod web-1: container nginx was restarted 3 times, the last time after exit code 137 (OOMKilled)"},
		"it ends before it is": {pod(true, killed, as), "pod web-1: init container nginx was restarted 3 times, the last time after exit code 137 (OOMKilled)"},
		"no node": {pod(false, waiting("", "", 0), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/5 nodes are available: 3 Insufficient memory."}}
		}), "pod web-1: 0/5 nodes are available: 3 Insufficient memory."},
		"it is made":                   {pod(false, waiting("ContainerCreating", "", 0), as), ""},
		"it is pulled":                 {pod(true, corev1.ContainerStatus{Name: "migrate"}, as), ""},
		"it has ended twice":           {pod(false, waiting("CrashLoopBackOff", "back-off", 2), as), ""},
		"it is ready after all":        {pod(false, ready, as), ""},
		"the init container has ended": {pod(true, ready, as), ""},
		"it is going":                  {pod(false, killed, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), ""},
		"a Job's pod that succeeded":   {pod(false, killed, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), ""},
	} {
		if got := deploy.HindranceOf(test.pod).String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
