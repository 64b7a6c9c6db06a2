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

// Inject implements Fault. It returns when the last step has settled.
func (s Scale) Inject(ctx context.Context, t Target) (Heal, error) {
	if len(s.Through) == 0 {
		return nothing, fmt.Errorf("scale %s: no number of replicas is given", t.Workload)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return nothing, err
	}
	replicas := int(*d.Spec.Replicas)
	if !slices.ContainsFunc(s.Through, func(n int) bool { return n != replicas }) {
		return nothing, fmt.Errorf("scale %s to %d: it has that many", t.Workload, replicas)
	}
	heal := once(func(ctx context.Context) error {
		witness, err := t.scale(ctx, replicas)
		if err == nil {
			t.Record.Healed(witness)
		}
		return err
	})
	before, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	var witness string
	for _, n := range s.Through {
		if witness, err = t.scale(ctx, n); err != nil {
			return heal, err
		}
	}
	after, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	t.Record.Seen(nil, gone(before, after), witness)
	t.Record.Lasts(t.scaled(replicas, s.Through[len(s.Through)-1]))
	return heal, nil
}

// scaled asks whether the controller is still to have that many replicas, and whether there are more, or fewer, pods than
// there were.
func (t Target) scaled(from, to int) Lasting {
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

// setScale sets the number of replicas.
func (t Target) setScale(ctx context.Context, replicas int) error {
	scaler := t.scaler()
	scale, err := scaler.GetScale(ctx, t.Workload, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read scale of %s: %w", t.Workload, err)
	}
	scale.Spec.Replicas = int32(replicas)
	if _, err := scaler.UpdateScale(ctx, t.Workload, scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale %s to %d: %w", t.Workload, replicas, err)
	}
	return nil
}
