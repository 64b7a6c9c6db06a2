package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestPodLifecycle(t *testing.T) {
	container := func(probed bool, sleeps int64) corev1.Container {
		var c corev1.Container
		if probed {
			c.ReadinessProbe = &corev1.Probe{}
		}
		if sleeps > 0 {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleeps}}}
		}
		return c
	}
	grace, always := int64(12), corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want history.Lifecycle
	}{
		"empty spec": {corev1.PodSpec{Containers: []corev1.Container{container(false, 0)}}, history.Lifecycle{}},
		"full spec": {
			corev1.PodSpec{Containers: []corev1.Container{container(true, 3)}, TerminationGracePeriodSeconds: &grace},
			history.Lifecycle{Readiness: true, PreStop: 3 * time.Second, Grace: 12 * time.Second},
		},
		"one of two has no probe, and sleeps longer": {
			corev1.PodSpec{Containers: []corev1.Container{container(true, 3), container(false, 5)}},
			history.Lifecycle{PreStop: 5 * time.Second, Containers: []history.Container{{PreStop: 3 * time.Second}, {PreStop: 5 * time.Second}}},
		},
		"a sidecar in front, and a container that prepares": {
			corev1.PodSpec{
				Containers: []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}},
				InitContainers: []corev1.Container{
					{Name: "prepare"}, {Name: "proxy", RestartPolicy: &always, Ports: []corev1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}},
				},
			},
			history.Lifecycle{Containers: []history.Container{{Name: "app", Ports: []int32{80}}, {Name: "proxy", Sidecar: true, Ports: []int32{8080}}}},
		},
		"a command of unknown duration": {
			corev1.PodSpec{Containers: []corev1.Container{{Lifecycle: &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "3"}}},
			}}}},
			history.Lifecycle{},
		},
	} {
		pod := &corev1.Pod{ObjectMeta: named("p"), Spec: test.spec}
		same(t, name, podEvent(pod, history.Added).Pod.Lifecycle, &test.want)
		if told := podEvent(pod, history.Modified).Pod.Lifecycle; told != nil {
			t.Errorf("%s: repeated: %+v", name, told)
		}
	}
}

// A container is killed at the end of its grace period if it ended by SIGKILL while its pod was being deleted, and for no other reason.
func TestContainersThatAreKilled(t *testing.T) {
	ended := func(code int32, reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}}
	}
	now := metav1.Now()
	for name, test := range map[string]struct {
		deleted *metav1.Time
		status  corev1.PodStatus
		want    bool
	}{
		"killed":                  {&now, corev1.PodStatus{ContainerStatuses: ended(137, "Error")}, true},
		"a sidecar":               {&now, corev1.PodStatus{InitContainerStatuses: ended(137, "Error")}, true},
		"ended by itself":         {&now, corev1.PodStatus{ContainerStatuses: ended(0, "Completed")}, false},
		"ended by SIGTERM":        {&now, corev1.PodStatus{ContainerStatuses: ended(143, "Error")}, false},
		"out of memory":           {&now, corev1.PodStatus{ContainerStatuses: ended(137, "OOMKilled")}, false},
		"nobody knows":            {&now, corev1.PodStatus{ContainerStatuses: ended(137, "ContainerStatusUnknown")}, false},
		"while nobody deletes it": {nil, corev1.PodStatus{ContainerStatuses: ended(137, "Error")}, false},
	} {
		pod := &corev1.Pod{ObjectMeta: named("p"), Status: test.status}
		pod.DeletionTimestamp = test.deleted
		if got := podEvent(pod, history.Modified).Pod.Killed; got != test.want {
			t.Errorf("%s: killed: %t", name, got)
		}
	}
}

// TestRestartsOfSidecars: a sidecar runs as long as its pod, so that its restart disturbs clients as any other container's does. What prepares a pod is
// tried again before there is anything to disturb.
func TestRestartsOfSidecars(t *testing.T) {
	always, onFailure := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure
	loop := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod := &corev1.Pod{ObjectMeta: named("p"), Spec: corev1.PodSpec{
		Containers:     []corev1.Container{{Name: "app"}},
		InitContainers: []corev1.Container{{Name: "prepare"}, {Name: "fetch", RestartPolicy: &onFailure}, {Name: "proxy", RestartPolicy: &always}, {Name: "agent", RestartPolicy: &always}},
	}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "prepare", RestartCount: 7}, {Name: "fetch", RestartCount: 9}, {Name: "proxy", RestartCount: 2, State: loop}, {Name: "agent", RestartCount: 1}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 4}}
	if got := podEvent(pod, history.Modified).Pod; got.Restarts != 7 || got.Waiting != "CrashLoopBackOff" {
		t.Errorf("%d restarts, waiting: %q; want 7 restarts, of the application and of its two sidecars, and CrashLoopBackOff", got.Restarts, got.Waiting)
	}
	pod.Status.InitContainerStatuses = pod.Status.InitContainerStatuses[:2]
	if got := podEvent(pod, history.Modified).Pod; got.Restarts != 4 {
		t.Errorf("%d restarts; want the application's 4", got.Restarts)
	}
}
