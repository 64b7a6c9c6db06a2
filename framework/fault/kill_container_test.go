package fault

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// killed is what a kubelet says after the container with an ID was killed: it has ended, and another one runs in its place.
func (w *world) killed(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.frozen || w.deaf {
		return
	}
	if w.lag > 0 {
		time.AfterFunc(w.lag, func() { w.ended(id) })
		return
	}
	w.ended(id)
}

// ended has the kubelets say it.
func (w *world) ended(id string) {
	for _, name := range w.podNames() {
		w.status(name, func(p *corev1.Pod) {
			if s := &p.Status.ContainerStatuses[0]; s.ContainerID == "containerd://"+id {
				s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: s.ContainerID, ExitCode: 137}
				s.ContainerID, s.RestartCount = "containerd://"+p.Name+"-second", 1
			}
		})
	}
}

// status changes what is said of a pod.
func (w *world) status(name string, change func(*corev1.Pod)) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := w.client.Tracker().Get(pods, "ns", name)
	if err == nil {
		p := o.(*corev1.Pod).DeepCopy()
		change(p)
		_ = w.client.Tracker().Update(pods, p, "ns")
	}
}

// A container of exactly one pod is killed, on the pod's own node, and the witness is its kubelet: not the command, not another restart of the
// container before, and not another pod of the same name.
func TestKillContainer(t *testing.T) {
	const saw = "the kubelet does not say that container server of pod pod-"
	for name, s := range map[string]struct {
		after func(w *world, pod string) // the command; nil: what it does
		want  string                     // an error; empty: it was seen
	}{
		"it is killed": {nil, ""},
		"another container of the pod had ended before": {func(w *world, pod string) {
			w.status(pod, func(p *corev1.Pod) {
				p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: "containerd://older"}
			})
		}, saw},
		"another pod has its name": {func(w *world, pod string) {
			w.status(pod, func(p *corev1.Pod) {
				s := &p.Status.ContainerStatuses[0]
				s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: s.ContainerID}
				p.UID = "another"
			})
		}, saw},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				var commands []string
				for _, n := range w.nodes {
					n.(*machine).exec = func(m *machine, command []string) ([]byte, error) {
						commands = append(commands, m.name+" "+command[2]+" "+command[4])
						if pod := strings.TrimSuffix(command[4], "-first"); s.after != nil {
							s.after(w, pod)
						} else {
							w.killed(command[4])
						}
						return nil, nil
					}
				}
				_, err := inject(t.Context(), KillContainer{}, w.target())
				if s.want != "" {
					if err == nil || !strings.Contains(err.Error(), s.want) {
						t.Errorf("got %v, want %s", err, s.want)
					}
					return
				}
				if err != nil || len(commands) != 1 || len(w.seenPods) != 1 {
					t.Fatalf("%v: %q, pods %q", err, commands, w.seenPods)
				}
				p, err := w.client.CoreV1().Pods("ns").Get(t.Context(), w.seenPods[0], metav1.GetOptions{})
				must(t, err)
				if want := p.Spec.NodeName + " " + killProcess + " " + p.Name + "-first"; commands[0] != want {
					t.Errorf("got  %s\nwant %s", commands[0], want)
				}
				if want := "by its kubelet, container server of pod " + p.Name + " has ended with exit code 137"; !strings.Contains(strings.Join(w.seen, " "), want) {
					t.Errorf("seen %q, want %s", w.seen, want)
				}
			})
		})
	}
}

// What cannot be killed is said before anything is done: a pod that does not run, one whose node is none of the cluster's workers, and one on a simulated node.
func TestWhatCannotBeKilled(t *testing.T) {
	for name, s := range map[string]struct {
		change func(p *corev1.Pod)
		want   string
	}{
		"it is not ready": {func(p *corev1.Pod) { p.Status.Conditions = nil }, "kill a container of one pod: backend has no ready pod with a running container"},
		"its container waits": {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} },
			"kill a container of one pod: backend has no ready pod with a running container"},
		"its node is no worker": {func(p *corev1.Pod) { p.Spec.NodeName = "cp" }, "is on cp, which is no worker of cluster fleet"},
	} {
		w := newWorld(1, "w1")
		for _, pod := range w.podNames() {
			w.status(pod, s.change)
		}
		if _, err := inject(t.Context(), KillContainer{}, w.target()); err == nil || !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s: got %v, want %s", name, err, s.want)
		}
	}
	w := newWorld(1, "w1")
	w.nodes[0].(*machine).role = clusters.Simulated
	var no *NotSupported
	if _, err := inject(t.Context(), KillContainer{}, w.target()); !errors.As(err, &no) {
		t.Errorf("on a simulated node: %v", err)
	}
}

// The container that is meant is the annotated one, as for kubectl, or the first: not a sidecar that an injector has put behind it.
func TestMainContainer(t *testing.T) {
	p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}, {Name: "proxy"}}}}
	if got := mainContainer(p); got != "web" {
		t.Errorf("the first: %s", got)
	}
	for annotated, want := range map[string]string{"proxy": "proxy", "gone": "web"} {
		p.Annotations = map[string]string{defaultContainer: annotated}
		if got := mainContainer(p); got != want {
			t.Errorf("annotated with %s: %s", annotated, got)
		}
	}
}
