package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/poll"
)

// PodDelete deletes Count pods at the same moment, each with its own grace period. No budget governs a delete.
// The undo is the ReplicaSet's own: it waits until the replacements are there.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
type PodDelete struct {
	Count int
}

func (p PodDelete) String() string { return "delete " + plural(p.Count, "pod") }

// Inject implements Fault. It returns when the pods are gone, and no longer offered to clients.
func (p PodDelete) Inject(ctx context.Context, t Target) (Heal, error) {
	if p.Count < 1 {
		return nothing, fmt.Errorf("delete %d pods of %s: want at least one", p.Count, t.Workload)
	}
	heal := t.waitSettled()
	before, err := t.staying(ctx)
	if err != nil {
		return heal, err
	}
	chosen := slices.Sorted(maps.Keys(before))
	if len(chosen) < p.Count {
		return heal, fmt.Errorf("delete %d pods of %s: it has only %d", p.Count, t.Workload, len(chosen))
	}
	t.Rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	each := make([][]string, len(chosen))
	for i := range chosen {
		each[i] = chosen[i : i+1]
	}
	first, err := t.aim(ctx, each)
	if err != nil {
		return heal, err
	}
	toFront(chosen, first)
	chosen = slices.Sorted(slices.Values(chosen[:p.Count]))
	for _, name := range chosen {
		if err := t.Client.CoreV1().Pods(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return heal, fmt.Errorf("delete pod %s: %w", name, err)
		}
	}
	if err := t.seeGone(ctx, before, chosen); err != nil {
		return heal, err
	}
	t.Record.Seen(nil, chosen, plural(len(chosen), "pod")+" no longer there, and no endpoint of the Service")
	return heal, nil
}

// seeGone waits until both witnesses, the list of pods and the endpoint controller, have lost the pods named.
func (t Target) seeGone(ctx context.Context, before map[string]corev1.Pod, chosen []string) error {
	return poll.Until(ctx, "pods "+strings.Join(chosen, ", ")+" to be gone", SettleLimit,
		func(ctx context.Context) (bool, string, error) {
			now, err := t.pods(ctx)
			if err != nil {
				return false, "", err
			}
			endpoints, err := t.offered(ctx)
			if err != nil {
				return false, "", err
			}
			away, offered := gone(before, now), 0
			for _, name := range chosen {
				if !slices.Contains(away, name) {
					return false, name + " is still there", nil
				}
				// A StatefulSet's next pod has the same name.
				if slices.ContainsFunc(endpoints, func(pod corev1.ObjectReference) bool {
					return pod.Name == name && (pod.UID == "" || pod.UID == before[name].UID)
				}) {
					offered++
				}
			}
			return offered == 0, plural(offered, "endpoint") + " left of them", nil
		})
}

// waitSettled is the undo of a fault that Kubernetes itself makes good: it waits for that.
func (t Target) waitSettled() Heal {
	return once(func(ctx context.Context) error {
		witness, err := t.Settle(ctx)
		if err == nil {
			t.Record.Healed(witness)
		}
		return err
	})
}
