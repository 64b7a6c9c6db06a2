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

// Inject implements Fault. It returns when no pod of the workload is left on the nodes.
func (d Drain) Inject(ctx context.Context, t Target) (Heal, error) {
	nodes, pods, err := t.victims(ctx, d.count())
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		var errs []error
		for _, n := range nodes { // one that cannot be opened must not keep the others closed
			errs = append(errs, t.cordon(ctx, n.Name(), false))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		witness, err := t.Settle(ctx)
		if err == nil {
			t.Record.Healed("uncordoned " + strings.Join(names(nodes), ", ") + "; " + witness)
		}
		return err
	})
	for _, n := range nodes { // all first, or the pods of one would move to the next
		if err := t.cordon(ctx, n.Name(), true); err != nil {
			return heal, err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		group.Go(func() error { return t.drain(groupCtx, n.Name()) })
	}
	if err := group.Wait(); err != nil {
		return heal, err
	}
	return heal, t.seeEmpty(ctx, nodes, pods)
}

// seeEmpty is the witness of a drain: the nodes carry no pod of the workload any more, and the workload has settled
// elsewhere.
func (t Target) seeEmpty(ctx context.Context, nodes []clusters.Node, evicted []string) error {
	witness, err := t.Settle(ctx)
	if err != nil {
		return err
	}
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
	t.Record.Seen(names(nodes), evicted, "no pod left on "+strings.Join(names(nodes), ", ")+"; "+witness)
	t.Record.Lasts(t.closed(names(nodes)))
	return nil
}

// closed asks whether nodes still take no new pods.
func (t Target) closed(nodes []string) Lasting {
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

// cordon closes a node to new pods or opens it, and sees that it is so. To close one that is closed is an error, to open one
// that is open is not.
func (t Target) cordon(ctx context.Context, name string, unschedulable bool) error {
	nodes := t.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err == nil && unschedulable && node.Spec.Unschedulable {
		err = errors.New("it is so already, and not by us")
	}
	if err == nil && (node.Spec.Unschedulable != unschedulable || CordonedByUs(node)) {
		_, err = nodes.Patch(ctx, name, types.MergePatchType, cordonPatch(unschedulable), metav1.PatchOptions{})
	}
	if err == nil {
		node, err = nodes.Get(ctx, name, metav1.GetOptions{})
	}
	if err == nil && node.Spec.Unschedulable != unschedulable {
		err = errors.New("the API server took it and shows the opposite")
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
