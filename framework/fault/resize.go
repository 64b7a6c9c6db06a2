package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// Resize has every pod of the workload ask for another amount of processor time while it runs: all at once, in place. The
// undo gives them back what their controller's template says.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
type Resize struct {
	CPU string // a quantity, for example "20m"
}

// resizeLimit bounds how long kubelets may take: seconds, and as long as a container takes to end where it is restarted.
const resizeLimit = 2 * time.Minute

func (r Resize) String() string { return "resize all pods to " + r.CPU + " of processor time" }

// Plan implements Fault. The resize was seen when the kubelets say that the pods have what was asked for, and the workload has
// settled.
func (r Resize) Plan(ctx context.Context, t Target) (Disruption, error) {
	cpu, err := resource.ParseQuantity(r.CPU)
	if err != nil {
		return nil, fmt.Errorf("resize %s to %q: %w", t.Workload, r.CPU, err)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	was := cpuOf(d.Spec.Template.Spec)
	if was.Cmp(cpu) == 0 {
		return nil, fmt.Errorf("resize %s to %s: it has that", t.Workload, r.CPU)
	}
	has := func(given resource.Quantity) bool { return given.Cmp(cpu) == 0 }
	if err := t.notGiven(ctx, fmt.Sprintf("resize %s to %s", t.Workload, r.CPU), has); err != nil {
		return nil, err
	}
	resized := map[string]corev1.Pod{}
	return Settling(&Effect{
		Ask:     func(ctx context.Context) (bool, string, error) { return t.given(ctx, resized, has) },
		Undo:    func(ctx context.Context) error { return t.resize(ctx, was) },
		Restore: func(ctx context.Context) (string, error) { return t.sizedTo(ctx, was) },
	}, func(ctx context.Context) (seen Observation, err error) {
		if err := t.resize(ctx, cpu); err != nil {
			return seen, err
		}
		if seen.Witness, err = t.sizedTo(ctx, cpu); err != nil {
			return seen, err
		}
		resized, err = t.pods(ctx)
		seen.Pods = slices.Sorted(maps.Keys(resized))
		return seen, err
	}), nil
}

// given asks whether those pods of some that are still there have what they were given, by their kubelets' word. At least one
// must be there and have it; one whose kubelet says nothing just now does not count.
func (t Target) given(
	ctx context.Context, pods map[string]corev1.Pod, right func(has resource.Quantity) bool,
) (holds bool, saw string, err error) {
	now, err := t.pods(ctx)
	if err != nil {
		return false, "", err
	}
	have, lost := 0, 0
	for name, pod := range now {
		cpu, known := cpuGiven(pod)
		switch {
		case pods[name].UID != pod.UID || !known:
		case right(cpu):
			have++
		default:
			lost++
		}
	}
	return have > 0 && lost == 0, fmt.Sprintf("%s with what they were given, %d without", plural(have, "pod"), lost), nil
}

// notGiven is an error if a pod has already what it is about to be given. The error begins with what.
func (t Target) notGiven(ctx context.Context, what string, right func(has resource.Quantity) bool) error {
	pods, err := t.pods(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if cpu, given := cpuGiven(pods[name]); given && right(cpu) {
			return fmt.Errorf("%s: pod %s has %s already", what, name, cpu.String())
		}
	}
	return nil
}

// resize asks for another amount for each pod that has not asked for it.
func (t Target) resize(ctx context.Context, cpu resource.Quantity) error {
	pods, err := t.pods(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[name]
		if asked := cpuOf(pod.Spec); asked.Cmp(cpu) == 0 {
			continue
		}
		patch := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":%q}}}]}}`, pod.Spec.Containers[0].Name, cpu.String())
		_, err := t.Client.CoreV1().Pods(t.Namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
		if err != nil && !apierrors.IsNotFound(err) { // its successor is made as the template says
			return fmt.Errorf("resize pod %s: %w", name, err)
		}
	}
	return nil
}

// sizedTo waits until all pods have an amount.
func (t Target) sizedTo(ctx context.Context, cpu resource.Quantity) (witness string, err error) {
	return t.sized(ctx, "pods of "+t.Workload+" to have "+cpu.String()+" of processor time", func(has resource.Quantity) bool { return has.Cmp(cpu) == 0 })
}

// sized waits until every pod has been given what is wanted by its kubelet, and the workload has settled. What a pod asks
// for is only what was written; what it has, its kubelet says.
//
// Source: https://www.kubernetes.dev/resources/keps/1287/
func (t Target) sized(ctx context.Context, what string, right func(has resource.Quantity) bool) (witness string, err error) {
	err = poll.Until(ctx, what, resizeLimit, func(ctx context.Context) (bool, string, error) {
		pods, err := t.pods(ctx)
		if err != nil {
			return false, "", err
		}
		done, has := 0, map[string]int{}
		for _, pod := range pods {
			if cpu, given := cpuGiven(pod); given {
				has[cpu.String()]++
				if right(cpu) {
					done++
				}
			}
		}
		witness = "the kubelets gave"
		for _, amount := range slices.Sorted(maps.Keys(has)) {
			witness += fmt.Sprintf(" %s to %s", amount, plural(has[amount], "pod"))
		}
		return len(pods) > 0 && done == len(pods), witness, nil
	})
	if err != nil {
		return "", err
	}
	settled, err := t.Settle(ctx)
	return witness + "; " + settled, err
}

// cpuGiven is the processor time that a pod's containers have been given, once nothing is left to be given.
func cpuGiven(pod corev1.Pod) (cpu resource.Quantity, given bool) {
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress) && c.Status == corev1.ConditionTrue {
			return cpu, false
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Resources == nil {
			return cpu, false
		}
		cpu.Add(*c.Resources.Requests.Cpu())
	}
	return cpu, len(pod.Status.ContainerStatuses) > 0
}
