package fault

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// FillNode takes the room on a worker: a pod that does nothing asks for all the processor time that no other pod there has
// asked for. What runs there goes on running; nothing more fits. The undo removes that pod.
//
// Source: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#how-pods-with-resource-requests-are-scheduled
type FillNode struct {
	// Worker picks the n-th worker by name, from 1. 0 picks one that carries pods, at random.
	Worker int
}

const (
	// fillerName names the pod. It is in the workload's namespace, and not among its pods.
	fillerName = "filler"
	// fillLimit bounds how long the filler may take to run or to be gone: as any small pod, seconds.
	fillLimit = time.Minute
)

func (f FillNode) String() string {
	if f.Worker > 0 {
		return fmt.Sprintf("fill worker %d", f.Worker)
	}
	return "fill one worker"
}

// Plan implements Fault. The node is full when its kubelet says that the filler runs, and less of the node's processor time is left
// than a replica asks for.
func (f FillNode) Plan(ctx context.Context, t Target) (Disruption, error) {
	worker, _, err := t.oneWorker(ctx, f.Worker)
	if err != nil {
		return nil, err
	}
	node := worker.Name()
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	need := cpuOf(d.Spec.Template.Spec)
	left, err := t.cpuLeft(ctx, node)
	switch {
	case err != nil:
		return nil, err
	case need.IsZero():
		return nil, fmt.Errorf("fill %s: replicas of %s ask for no cpu, and fit on every node", node, t.Workload)
	case left.Cmp(need) < 0:
		return nil, fmt.Errorf("fill %s: node is full already, %s of cpu are left", node, &left)
	}
	pods := t.Client.CoreV1().Pods(t.Namespace)
	return &Effect{
		Do: func(ctx context.Context) error {
			_, err := pods.Create(ctx, filler(d.Spec.Template.Spec, node, left), metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("fill %s: %w", node, err)
			}
			return nil
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			runs, saw, err := t.fillerRuns(ctx, node)
			if err != nil || !runs {
				return false, Observation{Witness: saw}, err
			}
			left, err := t.cpuLeft(ctx, node)
			return left.Cmp(need) < 0, Observation{Nodes: []string{node}, Witness: fmt.Sprintf(
				"the filler runs on %s: %s of cpu are left, and a replica asks for %s", node, &left, &need)}, err
		},
		// How much is left is not asked again: a replica may have gone since, and released what it had asked for.
		Ask:     func(ctx context.Context) (bool, string, error) { return t.fillerRuns(ctx, node) },
		Undo:    func(ctx context.Context) error { return t.removeFiller(ctx, node) },
		Restore: t.settledAfter("the filler of " + node + " is gone"),
		Until:   "node " + node + " to be full", Limit: fillLimit,
	}, nil
}

// fillerRuns asks for the filler.
func (t Target) fillerRuns(ctx context.Context, node string) (runs bool, saw string, err error) {
	pod, err := t.Client.CoreV1().Pods(t.Namespace).Get(ctx, fillerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, "the filler is gone", nil
	}
	if err != nil {
		return false, "", err
	}
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && pod.Spec.NodeName == node,
		fmt.Sprintf("filler %s on %s, going: %t", pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp != nil), nil
}

// removeFiller deletes the filler, and returns when it is gone.
func (t Target) removeFiller(ctx context.Context, node string) error {
	pods := t.Client.CoreV1().Pods(t.Namespace)
	if err := pods.Delete(ctx, fillerName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("empty %s: %w", node, err)
	}
	return poll.Until(ctx, "the filler of "+node+" to be gone", fillLimit, func(ctx context.Context) (bool, string, error) {
		_, err := pods.Get(ctx, fillerName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "gone", nil
		}
		return false, "still there", err
	})
}

// filler is a replica as far as the image and the security of its namespace go, and otherwise nothing but a request.
func filler(like corev1.PodSpec, node string, cpu resource.Quantity) *corev1.Pod {
	spec, soon := *like.DeepCopy(), int64(1)
	spec.Affinity, spec.TopologySpreadConstraints, spec.TerminationGracePeriodSeconds = nil, nil, &soon
	spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	spec.Containers = spec.Containers[:1]
	c := &spec.Containers[0]
	c.Lifecycle, c.ReadinessProbe = nil, nil
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	c.Resources.Requests[corev1.ResourceCPU] = cpu
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fillerName, Labels: map[string]string{"holdfast.dev/component": fillerName}},
		Spec:       spec,
	}
}

// cpuLeft is the processor time of a node that no pod has asked for: what the scheduler may give.
func (t Target) cpuLeft(ctx context.Context, node string) (left resource.Quantity, err error) {
	n, err := t.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return left, fmt.Errorf("read node %s: %w", node, err)
	}
	list, err := t.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return left, fmt.Errorf("list pods on %s: %w", node, err)
	}
	left = n.Status.Allocatable.Cpu().DeepCopy()
	for _, p := range list.Items {
		if !ended(p) { // what has ended holds nothing
			left.Sub(cpuOf(p.Spec))
		}
	}
	return left, nil
}

// cpuOf is the processor time that a pod asks for: its containers together, or the greediest of those that prepare it.
func cpuOf(spec corev1.PodSpec) (cpu resource.Quantity) {
	for _, c := range spec.Containers {
		cpu.Add(*c.Resources.Requests.Cpu())
	}
	for _, c := range spec.InitContainers {
		if need := *c.Resources.Requests.Cpu(); need.Cmp(cpu) > 0 {
			cpu = need
		}
	}
	cpu.Add(*spec.Overhead.Cpu())
	return cpu
}
