package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubectl/pkg/drain"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// TryDrain drains a worker that carries pods of the workload, as Drain does, but gives up after For, as `kubectl drain
// --timeout` does. It is seen in either of two ways: the node is empty of the workload's pods, or budgets have kept some
// of them there. Which of them was promised is not the fault's to judge; neither of them is an error. The undo uncordons
// the node, and sees that its taint is gone.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
type TryDrain struct {
	For time.Duration
	// Unready picks a node with a pod of the workload that runs and is not ready.
	Unready bool
}

func (d TryDrain) String() string {
	if d.Unready {
		return fmt.Sprintf("try for %s to drain the worker of a pod that is not ready", d.For)
	}
	return fmt.Sprintf("try for %s to drain 1 worker", d.For)
}

// Plan implements Fault. The drain was seen when it has ended or was given up.
func (d TryDrain) Plan(ctx context.Context, t Target) (Disruption, error) {
	if d.For <= 0 {
		return nil, fmt.Errorf("try for %s to drain a worker of %s: want a time", d.For, t.Workload)
	}
	node, before, err := d.victim(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := t.checkSchedulable(ctx, []clusters.Node{node}); err != nil {
		return nil, err
	}
	settled, _, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	return Settling(&Effect{
		Ask:     t.closed([]string{node.Name()}),
		Undo:    func(ctx context.Context) error { return t.reopen(ctx, node.Name()) },
		Restore: t.restored(settled, "uncordoned "+node.Name()+", and its taint is gone"),
	}, func(ctx context.Context) (Observation, error) { return d.try(ctx, t, node, before) }), nil
}

// try drains a node, and looks at what has become of it.
func (d TryDrain) try(ctx context.Context, t Target, node clusters.Node, before map[string]corev1.Pod) (Observation, error) {
	if err := t.cordon(ctx, node.Name(), true); err != nil {
		return Observation{}, err
	}
	drainer := t.drainer(ctx)
	drainer.Timeout = d.For
	began := time.Now()
	refused := drain.RunNodeDrain(drainer, node.Name())
	took := time.Since(began)
	switch {
	case refused == nil:
		return t.seeDrained(ctx, node, before, took)
	case ctx.Err() != nil: // kubectl says that it gave up, and not why
		return Observation{}, fmt.Errorf("drain %s: %w", node.Name(), ctx.Err())
	case took < d.For:
		return Observation{}, fmt.Errorf("drain %s: %w", node.Name(), refused)
	}
	return t.seeBlocked(ctx, node, before, d.For)
}

// victim is a worker at random to whose pods clients of every kind talk, or one that carries an unready pod, and the workload's
// pods on it.
func (d TryDrain) victim(ctx context.Context, t Target) (clusters.Node, map[string]corev1.Pod, error) {
	all, err := t.pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	var candidates []clusters.Node
	for _, n := range t.Cluster.Nodes() {
		if underTest(n) && slices.ContainsFunc(slices.Collect(maps.Values(on(all, n.Name()))), d.wants) {
			candidates = append(candidates, n)
		}
	}
	if len(candidates) == 0 {
		return nil, nil, fmt.Errorf("pick a worker for %q: no pod of %s is on one", d, t.Workload)
	}
	toFront(candidates, t.Rand.IntN(len(candidates)))
	if !d.Unready { // no client talks to a pod that is not ready
		carried := make([][]string, len(candidates))
		for i, n := range candidates {
			carried[i] = slices.Sorted(maps.Keys(on(all, n.Name())))
		}
		first, err := t.aim(ctx, carried)
		if err != nil {
			return nil, nil, err
		}
		toFront(candidates, first)
	}
	return candidates[0], on(all, candidates[0].Name()), nil
}

// wants reports whether a pod makes its node one to drain. A pod that was never started would not do for Unready: no budget
// protects a pod that is Pending.
//
// Source: canIgnorePDB in kubernetes pkg/registry/core/pod/storage/eviction.go
func (d TryDrain) wants(p corev1.Pod) bool {
	if !d.Unready {
		return true
	}
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && !isReady(p)
}

// on are the pods on a node.
func on(pods map[string]corev1.Pod, node string) map[string]corev1.Pod {
	some := maps.Clone(pods)
	maps.DeleteFunc(some, func(_ string, p corev1.Pod) bool { return p.Spec.NodeName != node })
	return some
}

func isReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// seeDrained is the witness of a drain that ended: no pod of the workload is on the node.
func (t Target) seeDrained(ctx context.Context, node clusters.Node, before map[string]corev1.Pod, took time.Duration) (Observation, error) {
	now, err := t.pods(ctx)
	if err != nil {
		return Observation{}, err
	}
	if left := on(now, node.Name()); len(left) > 0 {
		return Observation{}, fmt.Errorf("drain %s: pod %s is still on it", node.Name(), slices.Min(slices.Collect(maps.Keys(left))))
	}
	witness := fmt.Sprintf("no pod left on %s after %s", node.Name(), took.Round(time.Second))
	return Observation{Nodes: []string{node.Name()}, Pods: gone(before, now), Witness: witness}, nil
}

// seeBlocked is the witness of a drain that was given up: pods that were there are there and not going, and the status of
// a budget, which the disruption controller writes, says that it allows none of them to be disrupted.
func (t Target) seeBlocked(ctx context.Context, node clusters.Node, before map[string]corev1.Pod, span time.Duration) (Observation, error) {
	now, err := t.pods(ctx)
	if err != nil {
		return Observation{}, err
	}
	budgets, err := t.Client.PolicyV1().PodDisruptionBudgets(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Observation{}, fmt.Errorf("list budgets of %s: %w", t.Namespace, err)
	}
	went := gone(before, now)
	stay := on(now, node.Name())
	maps.DeleteFunc(stay, func(name string, p corev1.Pod) bool {
		_, was := before[name]
		return !was || slices.Contains(went, name) || p.DeletionTimestamp != nil
	})
	var blocking []string
	for _, b := range budgets.Items {
		if slices.ContainsFunc(slices.Collect(maps.Values(stay)), func(p corev1.Pod) bool { return blocks(b, p) }) {
			blocking = append(blocking, fmt.Sprintf("budget %s needs %d healthy pods and has %d",
				b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy))
		}
	}
	who := strings.Join(slices.Sorted(maps.Keys(stay)), ", ")
	switch {
	case len(stay) == 0:
		return Observation{}, fmt.Errorf("drain %s: given up after %s, and its pods were still going", node.Name(), span)
	case len(blocking) == 0:
		return Observation{}, fmt.Errorf("drain %s: given up after %s, and no budget holds on to %s", node.Name(), span, who)
	}
	witness := fmt.Sprintf("after %s, %s still on %s, %d ready: %s", span, who, node.Name(), ready(stay), strings.Join(blocking, "; "))
	return Observation{Nodes: []string{node.Name()}, Pods: went, Witness: witness}, nil
}

// blocks reports whether a budget is for a pod and allows no disruption.
func blocks(b policyv1.PodDisruptionBudget, pod corev1.Pod) bool {
	selects, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && selects.Matches(labels.Set(pod.Labels)) && b.Status.DisruptionsAllowed == 0
}

// reopenLimit bounds how long a node may take to lose the taint that goes with being unschedulable.
const reopenLimit = 30 * time.Second

// reopen uncordons a node and waits until the node controller has removed its taint, which is what the scheduler goes by.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition
func (t Target) reopen(ctx context.Context, node string) error {
	if err := t.cordon(ctx, node, false); err != nil {
		return err
	}
	return poll.Until(ctx, "node "+node+" to take pods", reopenLimit, func(ctx context.Context) (bool, string, error) {
		n, err := t.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		return !tainted && !n.Spec.Unschedulable, fmt.Sprintf("unschedulable %t, taint %t", n.Spec.Unschedulable, tainted), nil
	})
}
