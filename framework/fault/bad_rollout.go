package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// badRolloutLimit bounds how long the first pods of a bad version may take to run: an old one may have to end before,
// which takes its grace period, and a machine may be busy.
const badRolloutLimit = 90 * time.Second

// BadRollout rolls out a version that should not have been released: its server's command line is Args longer. The
// strategy of its controller and the readiness probe say how far it gets. The undo puts the old command line back, as
// `kubectl rollout undo` would, and waits until the workload has settled with it.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#failed-deployment
type BadRollout struct {
	Args []string
}

func (b BadRollout) String() string { return "roll out a bad version, " + strings.Join(b.Args, " ") }

// Plan implements Fault. The bad version is active when all of its pods run or have crashed, by the kubelet's word, and the
// controller counts the same pods as updated.
func (b BadRollout) Plan(ctx context.Context, t Target) (Disruption, error) {
	if len(b.Args) == 0 {
		return nil, fmt.Errorf("roll out a bad version of %s: nothing is to be different", t.Workload)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(d.Spec.Template.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("roll out a bad version of %s: its pods have %d containers, want one", t.Workload, n)
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	server := d.Spec.Template.Spec.Containers[0]
	bad := server
	bad.Args = slices.Concat(server.Args, b.Args)
	var became string // what the bad version was like when its revert began
	return &Effect{
		Do: func(ctx context.Context) error { return t.command(ctx, bad) },
		See: func(ctx context.Context) (bool, Observation, error) {
			run, now, saw, err := t.badVersion(ctx, before)
			return run, Observation{Pods: gone(before, now), Witness: saw}, err
		},
		Ask: t.commanded(bad.Args),
		Undo: func(ctx context.Context) error {
			if _, _, became, err = t.badVersion(ctx, before); err != nil { // the revert does not depend on it
				became = err.Error()
			}
			return t.command(ctx, server)
		},
		Restore: func(ctx context.Context) (string, error) {
			saw, err := t.rolledBack(ctx)
			return "until then, " + became + "; " + saw, err
		},
		Until: "the bad version of " + t.Workload + " to run", Limit: badRolloutLimit,
	}, nil
}

// commanded asks whether the template still has a command line, and whether there is a pod with it.
func (t Target) commanded(args []string) func(context.Context) (bool, string, error) {
	return t.asLongAs(func(d *appsv1.Deployment, pods map[string]corev1.Pod) (bool, string) {
		has := func(spec corev1.PodSpec) bool {
			return len(spec.Containers) > 0 && slices.Equal(spec.Containers[0].Args, args)
		}
		bad := 0
		for _, p := range pods {
			if p.DeletionTimestamp == nil && has(p.Spec) {
				bad++
			}
		}
		says := has(d.Spec.Template.Spec)
		return says && bad > 0, fmt.Sprintf("the template is the bad one: %t; %d of %s made of it", says, bad, plural(len(pods), "pod"))
	})
}

// command patches what the server's container is started with. Containers are merged by name.
func (t Target) command(ctx context.Context, server corev1.Container) error {
	args, err := json.Marshal(server.Args)
	if err == nil {
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"args":%s}]}}}}`, server.Name, args)
		err = t.patch(ctx, types.StrategicMergePatchType, patch)
	}
	if err != nil {
		return fmt.Errorf("change the command line of %s: %w", t.Workload, err)
	}
	return nil
}

// badVersion looks at the pods that have come since, beside those that have stayed.
func (t Target) badVersion(ctx context.Context, before map[string]corev1.Pod) (run bool, now map[string]corev1.Pod, saw string, err error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return false, nil, "", err
	}
	now, err = t.pods(ctx)
	if err != nil {
		return false, nil, "", err
	}
	came := gone(now, before) // looked at backwards
	bad, old := maps.Clone(now), maps.Clone(now)
	maps.DeleteFunc(bad, func(name string, p corev1.Pod) bool {
		return !slices.Contains(came, name) || p.DeletionTimestamp != nil
	})
	maps.DeleteFunc(old, func(name string, p corev1.Pod) bool { return slices.Contains(came, name) || p.DeletionTimestamp != nil })
	running := 0
	for _, p := range bad {
		if hasRun(p) {
			running++
		}
	}
	saw = fmt.Sprintf("%s of the bad version, %d have run, %d ready; %d of the old, %d ready; by the %s %s",
		plural(len(bad), "pod"), running, ready(bad), len(old), ready(old), t.kind(), progress(d))
	caughtUp := d.Status.ObservedGeneration >= d.Generation && int(d.Status.UpdatedReplicas) == len(bad)
	return caughtUp && len(bad) > 0 && running == len(bad), now, saw, nil
}

// hasRun reports whether a pod's containers were started. They may have ended since.
func hasRun(p corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running == nil && c.State.Terminated == nil && c.LastTerminationState.Terminated == nil
	})
}

func ready(pods map[string]corev1.Pod) (n int) {
	for _, p := range pods {
		if isReady(p) {
			n++
		}
	}
	return n
}

// progress is how far the controller says that a rollout has come.
func progress(d *appsv1.Deployment) string {
	saw := fmt.Sprintf("%d updated, %d available", d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	for _, c := range d.Status.Conditions {
		saw += fmt.Sprintf(", %s=%s", c.Type, c.Status)
	}
	return saw
}
