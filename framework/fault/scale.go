package fault

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// Scale changes the number of replicas, step by step, each step settled before the next. The undo scales back.
//
// Scaling down is a voluntary disruption that no budget governs.
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
type Scale struct {
	Through []int // numbers of replicas, in order
}

func (s Scale) String() string {
	steps := make([]string, len(s.Through))
	for i, n := range s.Through {
		steps[i] = strconv.Itoa(n)
	}
	return "scale to " + strings.Join(steps, ", ")
}

// Plan implements Fault. The scaling was seen when the last step has settled.
func (s Scale) Plan(ctx context.Context, t Target) (Disruption, error) {
	if len(s.Through) == 0 {
		return nil, fmt.Errorf("scale %s: no number of replicas is given", t.Workload)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	replicas, last := int(*d.Spec.Replicas), s.Through[len(s.Through)-1]
	if !slices.ContainsFunc(s.Through, func(n int) bool { return n != replicas }) {
		return nil, fmt.Errorf("scale %s to %d: it has that many", t.Workload, replicas)
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	return Settling(&Effect{
		Ask:     t.scaled(replicas, last),
		Undo:    func(ctx context.Context) error { return t.setScale(ctx, replicas) },
		Restore: func(ctx context.Context) (string, error) { return t.scaledTo(ctx, replicas) },
		Stays:   last == replicas, // there is nothing to scale back
	}, func(ctx context.Context) (seen Observation, err error) {
		for _, n := range s.Through {
			if seen.Witness, err = t.scale(ctx, n); err != nil {
				return seen, err
			}
		}
		after, err := t.pods(ctx)
		seen.Pods = gone(before, after)
		return seen, err
	}), nil
}

// scaled asks whether the controller is still to have that many replicas, and whether there are more, or fewer, pods than
// there were.
func (t Target) scaled(from, to int) func(context.Context) (bool, string, error) {
	return t.asLongAs(func(d *appsv1.Deployment, pods map[string]corev1.Pod) (bool, string) {
		wanted, there, leaving := int(*d.Spec.Replicas), len(pods), going(pods)
		moved := to > from && there > from || to < from && there-leaving < from || to == from
		return wanted == to && moved, fmt.Sprintf("%d wanted, %s there, %d of them going", wanted, plural(there, "pod"), leaving)
	})
}

// scale sets the number of replicas and waits until the workload has settled with it.
func (t Target) scale(ctx context.Context, replicas int) (witness string, err error) {
	if err := t.setScale(ctx, replicas); err != nil {
		return "", err
	}
	return t.scaledTo(ctx, replicas)
}

// scaledTo waits until the workload has settled with a number of replicas.
func (t Target) scaledTo(ctx context.Context, replicas int) (witness string, err error) {
	if witness, err = t.Settle(ctx); err != nil {
		return "", err
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return "", err
	}
	if got := int(*d.Spec.Replicas); got != replicas {
		return "", fmt.Errorf("scale %s to %d: it has settled with %d", t.Workload, replicas, got)
	}
	return witness, nil
}

// setScale sets the number of replicas. Its controller may write the workload's status between the two requests, and the API server then
// refuses the second one, because it is about an older version. As in kubectl, it is read again then.
func (t Target) setScale(ctx context.Context, replicas int) error {
	scaler := t.scaler()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		scale, err := scaler.GetScale(ctx, t.Workload, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read scale: %w", err)
		}
		scale.Spec.Replicas = int32(replicas)
		_, err = scaler.UpdateScale(ctx, t.Workload, scale, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", t.Workload, replicas, err)
	}
	return nil
}
