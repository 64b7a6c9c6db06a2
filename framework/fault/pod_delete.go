package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodDelete deletes Count pods at the same moment, each with its own grace period. No budget governs a delete.
// The revert waits until the ReplicaSet has replaced them.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
type PodDelete struct {
	Count int
}

func (p PodDelete) String() string { return "delete " + plural(p.Count, "pod") }

// podsStayGone is why no witness is asked again about pods that were seen to be gone.
const podsStayGone = "a pod that is gone stays gone: its replacement has another UID"

// Plan implements Fault. The pods were deleted when they are gone and no longer offered to clients.
func (p PodDelete) Plan(ctx context.Context, t Target) (Disruption, error) {
	if p.Count < 1 {
		return nil, fmt.Errorf("delete %d pods of %s: want at least one", p.Count, t.Workload)
	}
	before, err := t.staying(ctx)
	if err != nil {
		return nil, err
	}
	chosen := slices.Sorted(maps.Keys(before))
	if len(chosen) < p.Count {
		return nil, fmt.Errorf("delete %d pods of %s: it has only %d", p.Count, t.Workload, len(chosen))
	}
	t.Rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	each := make([][]string, len(chosen))
	for i := range chosen {
		each[i] = chosen[i : i+1]
	}
	first, err := t.aim(ctx, each)
	if err != nil {
		return nil, err
	}
	toFront(chosen, first)
	chosen = slices.Sorted(slices.Values(chosen[:p.Count]))
	return &Effect{
		Do: func(ctx context.Context) error {
			for _, name := range chosen {
				if err := t.Client.CoreV1().Pods(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
					return fmt.Errorf("delete pod %s: %w", name, err)
				}
			}
			return nil
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			done, saw, err := t.podsGone(ctx, before, chosen)
			return done, Observation{Pods: chosen, Witness: saw}, err
		},
		Restore: t.Settle,
		Until:   "pods " + strings.Join(chosen, ", ") + " to be gone", Limit: SettleLimit,
		Over: podsStayGone,
	}, nil
}

// podsGone asks both witnesses, the list of pods and the endpoint controller, whether they have lost some pods.
func (t Target) podsGone(ctx context.Context, before map[string]corev1.Pod, chosen []string) (bool, string, error) {
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
	if offered > 0 {
		return false, plural(offered, "endpoint") + " left of them", nil
	}
	return true, plural(len(chosen), "pod") + " no longer there, and no endpoint of the Service", nil
}
