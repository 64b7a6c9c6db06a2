package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/drain"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// DrainLimit bounds a drain: 7 pods on a node, evicted one at a time, each with a grace period of 30 s.
const DrainLimit = 4 * time.Minute

// evictRetry is the pause before a refused eviction is asked for again. kubectl pauses 5 s; budgets free up sooner here.
const evictRetry = time.Second

// Drain cordons workers that carry pods of the workload and evicts all their pods, through kubectl's own library, so it
// respects budgets. Several nodes are drained at the same time. The undo uncordons them.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
type Drain struct {
	Nodes int // how many; 0 means 1
}

func (d Drain) String() string { return "drain " + plural(d.count(), "worker") }

func (d Drain) count() int { return max(d.Nodes, 1) }

// Plan implements Fault. The drain is active when the nodes are cordoned and no pod of the workload is left on them.
func (d Drain) Plan(ctx context.Context, t Target) (Disruption, error) {
	nodes, pods, err := t.victims(ctx, d.count())
	if err != nil {
		return nil, err
	}
	if err := t.checkSchedulable(ctx, nodes); err != nil {
		return nil, err
	}
	return Settling(&Effect{
		Ask:     t.closed(node.Names(nodes)),
		Undo:    func(ctx context.Context) error { return t.uncordonAll(ctx, nodes) },
		Restore: t.settledAfter("uncordoned " + strings.Join(node.Names(nodes), ", ")),
	}, func(ctx context.Context) (seen Observation, err error) {
		if err := t.drainAll(ctx, nodes); err != nil {
			return seen, err
		}
		settled, err := t.Settle(ctx)
		if err != nil {
			return seen, err
		}
		witness := "no pod left on " + strings.Join(node.Names(nodes), ", ") + "; " + settled
		return Observation{Nodes: node.Names(nodes), Pods: pods, Witness: witness}, t.checkEmpty(ctx, nodes)
	}), nil
}

// errCordoned keeps us from uncordoning later what was cordoned by something else.
var errCordoned = errors.New("node is already cordoned, and not by holdfast")

// checkSchedulable is an error if a node is cordoned already.
func (t Target) checkSchedulable(ctx context.Context, nodes []clusters.Node) error {
	for _, n := range nodes {
		node, err := t.Client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err == nil && node.Spec.Unschedulable {
			err = errCordoned
		}
		if err != nil {
			return fmt.Errorf("cordon %s: %w", n.Name(), err)
		}
	}
	return nil
}

// drainAll cordons nodes and drains them at the same time. It cordons all of them first: otherwise the pods of one node would move to
// the next.
func (t Target) drainAll(ctx context.Context, nodes []clusters.Node) error {
	for _, n := range nodes {
		if err := t.cordon(ctx, n.Name(), true); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		group.Go(func() error { return t.drain(groupCtx, n.Name()) })
	}
	return group.Wait()
}

// uncordonAll uncordons all nodes that it can: a node that cannot be uncordoned must not keep the others cordoned.
func (t Target) uncordonAll(ctx context.Context, nodes []clusters.Node) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, t.cordon(ctx, n.Name(), false))
	}
	return errors.Join(errs...)
}

// checkEmpty is an error if nodes carry pods of the workload.
func (t Target) checkEmpty(ctx context.Context, nodes []clusters.Node) error {
	now, err := t.pods(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for name, pod := range now {
			if pod.Spec.NodeName == n.Name() {
				return fmt.Errorf("drain %s: pod %s is still on it", n.Name(), name)
			}
		}
	}
	return nil
}

// closed asks whether nodes still take no new pods.
func (t Target) closed(nodes []string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		for _, name := range nodes {
			node, err := t.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, "", fmt.Errorf("read node %s: %w", name, err)
			}
			if !node.Spec.Unschedulable {
				return false, name + " is not cordoned", nil
			}
		}
		return true, "cordoned: " + strings.Join(nodes, ", "), nil
	}
}

func (t Target) drain(ctx context.Context, node string) error {
	if err := drain.RunNodeDrain(t.drainer(ctx), node); err != nil {
		return fmt.Errorf("drain %s: %w", node, err)
	}
	return nil
}

// cordon sets or clears a node's unschedulable, and reads it back. To cordon a cordoned node is an error, to uncordon a schedulable
// one is not.
func (t Target) cordon(ctx context.Context, name string, unschedulable bool) error {
	nodes := t.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err == nil && unschedulable && node.Spec.Unschedulable {
		err = errCordoned
	}
	if err == nil && (node.Spec.Unschedulable != unschedulable || CordonedByUs(node)) {
		_, err = nodes.Patch(ctx, name, types.MergePatchType, cordonPatch(unschedulable), metav1.PatchOptions{})
	}
	if err == nil {
		node, err = nodes.Get(ctx, name, metav1.GetOptions{})
	}
	if err == nil && node.Spec.Unschedulable != unschedulable {
		err = fmt.Errorf("the API server accepted the patch but still returns unschedulable=%t", !unschedulable)
	}
	if err != nil {
		return fmt.Errorf("set %s unschedulable=%t: %w", name, unschedulable, err)
	}
	return nil
}

func (t Target) drainer(ctx context.Context) *drain.Helper {
	return &drain.Helper{
		Ctx: ctx, Client: t.Client, Timeout: DrainLimit, EvictErrorRetryDelay: evictRetry,
		GracePeriodSeconds:  -1, // each pod's own
		IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
		Force: true, // a bare pod would otherwise stop the drain; there are none of ours
		Out:   io.Discard, ErrOut: io.Discard,
		OnPodDeletionOrEvictionStarted: func(pod *corev1.Pod, _ bool) {
			slog.Debug("evicting", "pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName)
		},
	}
}
