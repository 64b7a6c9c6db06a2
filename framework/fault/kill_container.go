package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// KillContainer kills the first process of a container of one pod, on the pod's node, as when it crashes or runs out of memory: without SIGTERM, preStop
// hook or grace period. The pod stays, and its kubelet starts the container again. The revert waits until the workload has settled.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
type KillContainer struct{}

func (KillContainer) String() string { return "kill a container of one pod" }

// defaultContainer is the annotation of a pod that says which of its containers is meant, where only one can be.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// killProcess kills the first process of a container of containerd's.
const killProcess = `ctr --namespace k8s.io tasks kill --signal SIGKILL "$1"`

// killedLimit bounds how long a kubelet may take to say that a container has ended: it looks every second, and a machine may be busy.
const killedLimit = 30 * time.Second

// containersStayKilled is why no witness is asked again.
const containersStayKilled = "a container that has ended stays so: its kubelet starts another one"

// Plan implements Fault. The container was killed when its kubelet says that it has ended, or that another one runs in its place.
func (k KillContainer) Plan(ctx context.Context, t Target) (Disruption, error) {
	pod, err := t.runningPod(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	machine, err := t.machineOf(pod)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	name := mainContainer(pod)
	id := statusOf(pod, name).ContainerID
	return &Effect{
		Do: func(ctx context.Context) error {
			_, local, _ := strings.Cut(id, "://")
			if _, err := machine.Exec(ctx, "sh", "-c", killProcess, "kill-container", local); err != nil {
				return fmt.Errorf("kill container %s of pod %s on %s: %w", name, pod.Name, machine.Name(), err)
			}
			return nil
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			now, err := t.Client.CoreV1().Pods(t.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil {
				return false, Observation{}, fmt.Errorf("read pod %s: %w", pod.Name, err)
			}
			over := endOf(statusOf(*now, name), id)
			if now.UID != pod.UID || over == nil {
				return false, Observation{Witness: fmt.Sprintf("the kubelet does not say that container %s of pod %s has ended", name, pod.Name)}, nil
			}
			return true, Observation{
				Pods: []string{pod.Name}, Witness: fmt.Sprintf("by its kubelet, container %s of pod %s has ended with exit code %d", name, pod.Name, over.ExitCode),
			}, nil
		},
		Restore: t.Settle,
		Until:   fmt.Sprintf("container %s of pod %s to have ended", name, pod.Name), Limit: killedLimit,
		Over: containersStayKilled,
	}, nil
}

// runningPod is a ready pod whose main container runs, one that clients of every kind talk to.
func (t Target) runningPod(ctx context.Context) (corev1.Pod, error) {
	pods, err := t.staying(ctx)
	if err != nil {
		return corev1.Pod{}, err
	}
	maps.DeleteFunc(pods, func(_ string, p corev1.Pod) bool {
		s := statusOf(p, mainContainer(p))
		return !isReady(p) || s.State.Running == nil || s.ContainerID == ""
	})
	names := slices.Sorted(maps.Keys(pods))
	if len(names) == 0 {
		return corev1.Pod{}, fmt.Errorf("%s has no ready pod with a running container", t.Workload)
	}
	t.Rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	each := make([][]string, len(names))
	for i := range names {
		each[i] = names[i : i+1]
	}
	first, err := t.aim(ctx, each)
	return pods[names[first]], err
}

// machineOf is the node of a pod, which must be a machine that a fault may touch.
func (t Target) machineOf(p corev1.Pod) (clusters.Node, error) {
	nodes := t.Cluster.Nodes()
	i := slices.IndexFunc(nodes, func(n clusters.Node) bool { return n.Name() == p.Spec.NodeName && underTest(n) })
	if i < 0 {
		return nil, fmt.Errorf("pod %s is on %s, which is no worker of cluster %s", p.Name, p.Spec.NodeName, t.Cluster.Name())
	}
	return nodes[i], needsMachine(nodes[i])
}

// mainContainer is the name of the container that is meant where only one can be, as for kubectl: the annotated one, or the first.
func mainContainer(p corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if c.Name == p.Annotations[defaultContainer] {
			return c.Name
		}
	}
	return p.Spec.Containers[0].Name
}

// statusOf is what the kubelet says of a container; nothing yet: zero.
func statusOf(p corev1.Pod, container string) (s corev1.ContainerStatus) {
	for _, one := range p.Status.ContainerStatuses {
		if one.Name == container {
			return one
		}
	}
	return s
}

// endOf is how the container with an ID has ended, by its kubelet; nil: it has not.
func endOf(s corev1.ContainerStatus, id string) *corev1.ContainerStateTerminated {
	for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
		if state.Terminated != nil && state.Terminated.ContainerID == id {
			return state.Terminated
		}
	}
	return nil
}
