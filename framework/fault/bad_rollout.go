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

	"github.com/holdfast-ha/holdfast/framework/poll"
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

// Inject implements Fault. It returns when all pods of the bad version that there are run or have crashed, by the kubelet's
// word, and its controller counts the same ones as updated.
func (b BadRollout) Inject(ctx context.Context, t Target) (Heal, error) {
	if len(b.Args) == 0 {
		return nothing, fmt.Errorf("roll out a bad version of %s: nothing is to be different", t.Workload)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nothing, err
	}
	if n := len(d.Spec.Template.Spec.Containers); n != 1 {
		return nothing, fmt.Errorf("roll out a bad version of %s: its pods have %d containers, want one", t.Workload, n)
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nothing, err
	}
	server := d.Spec.Template.Spec.Containers[0]
	heal := once(func(ctx context.Context) error { return t.rollBack(ctx, before, server) })
	bad := server
	bad.Args = slices.Concat(server.Args, b.Args)
	if err := t.command(ctx, bad); err != nil {
		return heal, err
	}
	var witness string
	err = poll.Until(ctx, "the bad version of "+t.Workload+" to run", badRolloutLimit, func(ctx context.Context) (bool, string, error) {
		done, saw, err := t.badVersion(ctx, before)
		witness = saw
		return done, saw, err
	})
	if err != nil {
		return heal, err
	}
	now, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	t.Record.Seen(nil, gone(before, now), witness)
	t.Record.Lasts(t.commanded(bad.Args))
	return heal, nil
}

// commanded asks whether the template still has a command line, and whether there is a pod with it.
func (t Target) commanded(args []string) Lasting {
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
func (t Target) badVersion(ctx context.Context, before map[string]corev1.Pod) (run bool, saw string, err error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return false, "", err
	}
	now, err := t.pods(ctx)
	if err != nil {
		return false, "", err
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
	return caughtUp && len(bad) > 0 && running == len(bad), saw, nil
}

// hasRun tells whether a pod's containers were started, be it that they have ended since.
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

// rollBack says what has become of the bad version, and takes it back.
func (t Target) rollBack(ctx context.Context, before map[string]corev1.Pod, server corev1.Container) error {
	_, became, err := t.badVersion(ctx, before)
	if err != nil { // the undo does not depend on it
		became = err.Error()
	}
	if err := t.command(ctx, server); err != nil {
		return err
	}
	witness, err := t.Settle(ctx)
	if err == nil {
		t.Record.Healed("until then, " + became + "; rolled back: " + witness)
	}
	return err
}
