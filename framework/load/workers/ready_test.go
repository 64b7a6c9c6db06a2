package workers

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/workloads"
)

const namespace = "hf-test"

// pod is a pod of the Job: ready, unless it is edited.
func pod(index int, edit ...func(*corev1.Pod)) *corev1.Pod {
	name := workloads.LoadName + "-" + strconv.Itoa(index) + "-abcde"
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{batchv1.JobNameLabel: workloads.LoadName},
			Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, e := range edit {
		e(p)
	}
	return p
}

func pending(conditions ...corev1.PodCondition) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: conditions} }
}

func killed(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "load", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
	}}}
}

func podsOf(client *fake.Clientset) Pods {
	return Pods{Client: client, Config: &rest.Config{Host: "https://127.0.0.1:6443/"}, Namespace: namespace}
}

// Workers come in the order of their numbers, which is not that of their names.
func TestReady(t *testing.T) {
	var many []*corev1.Pod
	client := fake.NewClientset()
	for i := range 12 {
		many = append(many, pod(i))
	}
	for _, p := range many {
		if err := client.Tracker().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	all, err := podsOf(client).Ready(t.Context(), 12, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range all {
		want := "https://127.0.0.1:6443/api/v1/namespaces/hf-test/pods/load-" + strconv.Itoa(i) + "-abcde:8080/proxy"
		if w.URL != want {
			t.Errorf("worker %d is at %s, want %s", i, w.URL, want)
		}
	}
}

// What keeps a worker from being ready is said, in Kubernetes' words.
func TestNotReady(t *testing.T) {
	unschedulable := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient cpu."}
	pulling := func(p *corev1.Pod) {
		pending()(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}}
	}
	refused := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e"}, Type: corev1.EventTypeWarning, Reason: "FailedCreate",
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: workloads.LoadName}, Message: `pods "load-1-" is forbidden: exceeded quota`,
	}
	for want, objects := range map[string][]any{
		"waited 1m0s for 2 load workers to be ready: last seen load-1-abcde Pending (0/3 nodes are available: 3 Insufficient cpu.) (": {pod(0), pod(1, pending(unschedulable))},
		"last seen load-0-abcde Pending (ImagePullBackOff not found) (":                                                               {pod(0, pulling), pod(1)},
		`last seen load-1 does not exist, pods "load-1-" is forbidden: exceeded quota (`:                                              {pod(0), refused},
		"load worker load-1-abcde has ended before the load: Failed, container load: OOMKilled, exit code 137":                        {pod(0), pod(1, killed)},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				for _, o := range objects {
					var err error
					switch o := o.(type) {
					case *corev1.Pod:
						err = client.Tracker().Add(o)
					case *corev1.Event:
						err = client.Tracker().Add(o)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				_, err := podsOf(client).Ready(t.Context(), 2, time.Minute)
				errtest.Check(t, err, want)
			})
		})
	}
}

// Of 200 workers that wait for the same, five are named.
func TestManyAreNotReady(t *testing.T) {
	_, notYet := byNumber(nil, 200)
	if got := strings.Join(notYet, ", "); !strings.HasSuffix(got, "load-4 does not exist, and 195 more") {
		t.Error(got)
	}
}

// A worker whose pod has ended, or is another one, never answers again. Where nothing is known, it may.
func TestGone(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod) *corev1.Pod{
		"":                             func(p *corev1.Pod) *corev1.Pod { return p },
		"pod load-0-abcde was deleted": func(*corev1.Pod) *corev1.Pod { return nil },
		"pod load-0-abcde was deleted, and there is another of its name":               func(p *corev1.Pod) *corev1.Pod { p.UID = "other"; return p },
		"pod load-0-abcde has ended: Failed, container load: OOMKilled, exit code 137": func(p *corev1.Pod) *corev1.Pod { killed(p); return p },
		"pod load-0-abcde has ended: Failed, Evicted, The node was low on resource: ephemeral-storage": func(p *corev1.Pod) *corev1.Pod {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage"}
			return p
		},
	} {
		now := change(pod(0))
		client := fake.NewClientset()
		if now != nil {
			if err := client.Tracker().Add(now); err != nil {
				t.Fatal(err)
			}
		}
		if got := podsOf(client).worker(*pod(0)).Gone(t.Context()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
