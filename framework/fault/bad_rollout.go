package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// badRolloutLimit bounds how long the first pods of a bad version may take to run: an old one may have to end before,
// which takes its grace period, and a machine may be busy.
const badRolloutLimit = 90 * time.Second

// NoSuchImage is an image that no registry has: no name in this domain is ever resolved (RFC 2606).
const NoSuchImage = "holdfast.invalid/no-such-image:v1"

// notPulled are a kubelet's reasons for a container that waits because its image cannot be had.
var notPulled = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"}

// BadRollout rolls out a version that should not have been released: its server's command line is Args longer, or its main container has
// another Image, which cannot be pulled. The strategy of its controller and the readiness probe say how far it gets. The undo puts back what
// was there, as `kubectl rollout undo` would, and waits until the workload has settled with it. A StatefulSet's pods of the bad Image are
// deleted then: its controller waits for each of them to become ready before it replaces it.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#failed-deployment
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback
type BadRollout struct {
	Args  []string
	Image string
}

func (b BadRollout) String() string {
	if b.Image != "" {
		return "roll out the image " + b.Image
	}
	return "roll out a bad version, " + strings.Join(b.Args, " ")
}

// Plan implements Fault. The bad version is active when all of its pods run or have crashed, by the kubelet's word, and the
// controller counts the same pods as updated. With an Image, the kubelets must say of all of them that it cannot be pulled.
func (b BadRollout) Plan(ctx context.Context, t Target) (Disruption, error) {
	if len(b.Args) == 0 && b.Image == "" {
		return nil, fmt.Errorf("roll out a bad version of %s: nothing is to be different", t.Workload)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(d.Spec.Template.Spec.Containers); n != 1 && b.Image == "" {
		return nil, fmt.Errorf("roll out a bad version of %s: its pods have %d containers, want one", t.Workload, n)
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	template := corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	server := containerOf(template.Spec, mainContainer(template))
	bad := server
	bad.Args, bad.Image = slices.Concat(server.Args, b.Args), cmp.Or(b.Image, server.Image)
	until := "to run"
	if b.Image != "" {
		until = "to wait for its image"
	}
	var became string // what the bad version was like when its revert began
	return &Effect{
		Do: func(ctx context.Context) error { return t.change(ctx, server, bad) },
		See: func(ctx context.Context) (bool, Observation, error) {
			run, now, saw, err := b.seen(ctx, t, before)
			return run, Observation{Pods: gone(before, now), Witness: saw}, err
		},
		Ask: t.has(bad),
		Undo: func(ctx context.Context) error {
			if _, _, became, err = b.seen(ctx, t, before); err != nil { // the revert does not depend on it
				became = err.Error()
			}
			if err := t.change(ctx, bad, server); err != nil || t.Kind != statefulSet || b.Image == "" {
				return err
			}
			return t.unstick(ctx, bad)
		},
		Restore: func(ctx context.Context) (string, error) {
			saw, err := t.rolledBack(ctx)
			return "until then, " + became + "; " + saw, err
		},
		Until: "the bad version of " + t.Workload + " " + until, Limit: badRolloutLimit,
	}, nil
}

// has asks whether the template still has a container as it is, and whether there is a pod with it.
func (t Target) has(c corev1.Container) func(context.Context) (bool, string, error) {
	return t.asLongAs(func(d *appsv1.Deployment, pods map[string]corev1.Pod) (bool, string) {
		bad := 0
		for _, p := range pods {
			if p.DeletionTimestamp == nil && runs(p.Spec, c) {
				bad++
			}
		}
		says := runs(d.Spec.Template.Spec, c)
		return says && bad > 0, fmt.Sprintf("the template is the bad one: %t; %d of %s made of it", says, bad, plural(len(pods), "pod"))
	})
}

// runs reports whether a pod's container is started from the same image with the same arguments.
func runs(pod corev1.PodSpec, c corev1.Container) bool {
	now := containerOf(pod, c.Name)
	return now.Image == c.Image && slices.Equal(now.Args, c.Args)
}

// containerOf is the container of a pod with a name; none: zero.
func containerOf(pod corev1.PodSpec, name string) (c corev1.Container) {
	for _, one := range pod.Containers {
		if one.Name == name {
			return one
		}
	}
	return c
}

// change patches what a container is started from, where the two differ. Containers are merged by name.
func (t Target) change(ctx context.Context, from, to corev1.Container) error {
	what, fields := "image", map[string]any{"name": to.Name, "image": to.Image}
	if !slices.Equal(from.Args, to.Args) {
		what, fields = "command line", map[string]any{"name": to.Name, "args": to.Args}
	}
	container, err := json.Marshal(fields)
	if err == nil {
		err = t.patch(ctx, types.StrategicMergePatchType, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[%s]}}}}`, container))
	}
	if err != nil {
		return fmt.Errorf("change the %s of %s: %w", what, t.Workload, err)
	}
	return nil
}

// unstick deletes the pods that have a container that cannot start, until the controller makes no more of them.
func (t Target) unstick(ctx context.Context, c corev1.Container) error {
	return poll.Until(ctx, "the pods of "+t.Workload+" without their image to go", badRolloutLimit, func(ctx context.Context) (bool, string, error) {
		pods, err := t.pods(ctx)
		maps.DeleteFunc(pods, func(_ string, p corev1.Pod) bool { return !runs(p.Spec, c) })
		for name, p := range pods {
			if p.DeletionTimestamp == nil && err == nil {
				err = t.Client.CoreV1().Pods(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
			}
		}
		return len(pods) == 0, plural(len(pods), "pod") + " left", err
	})
}

// seen looks at the pods that have come since, beside those that have stayed.
func (b BadRollout) seen(ctx context.Context, t Target, before map[string]corev1.Pod) (active bool, now map[string]corev1.Pod, saw string, err error) {
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
	as, shows := "have run", hasRun
	if b.Image != "" {
		as, shows = "wait for their image", waitsForImage
	}
	showing := 0
	for _, p := range bad {
		if shows(p) {
			showing++
		}
	}
	saw = fmt.Sprintf("%s of the bad version, %d %s, %d ready; %d of the old, %d ready; by the %s %s",
		plural(len(bad), "pod"), showing, as, ready(bad), len(old), ready(old), t.kind(), progress(d))
	caughtUp := d.Status.ObservedGeneration >= d.Generation && int(d.Status.UpdatedReplicas) == len(bad)
	return caughtUp && len(bad) > 0 && showing == len(bad), now, saw, nil
}

// waitsForImage reports whether a kubelet says that it cannot get the image of the pod's main container.
func waitsForImage(p corev1.Pod) bool {
	waits := statusOf(p, mainContainer(p)).State.Waiting
	return waits != nil && slices.Contains(notPulled, waits.Reason)
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
