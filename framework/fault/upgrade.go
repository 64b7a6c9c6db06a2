package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Prepared is a Fault that has to fetch something first. Prepare fetches it before the load flows, so that the work does not disturb what
// is judged. It changes nothing that runs, and may be called again.
type Prepared interface {
	Fault
	Prepare(ctx context.Context, t Target) error
}

// UpgradeControlPlane brings the control planes to a newer version of Kubernetes, one after the other, as kubeadm documents it:
// the first by "kubeadm upgrade apply", which also renews CoreDNS and kube-proxy in the whole cluster, the others by "kubeadm
// upgrade node"; then each one's kubelet. For that they are cordoned and not drained: nothing but their own pods and CoreDNS,
// which is bound to them, runs there. Workers stay at the older version, which Kubernetes supports.
//
// It is irreversible: the revert makes the nodes schedulable, and sees that the version is still the new one.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
type UpgradeControlPlane struct {
	To string // for example "v1.37.0"
	// After is done once kubeadm has upgraded all of them; nil: nothing.
	After Arrange
}

// UpgradeWorkers brings the other nodes to the version that their control plane has, one after the other: cordon, drain, which
// respects budgets, "kubeadm upgrade node", a new kubelet, which is waited for, and uncordon. The next one follows when the
// workload has settled. The node that carries the load is the last, and is not drained: its pods, of which no controller would
// start another, go on while the kubelet is replaced.
//
// It is irreversible: the revert makes the nodes schedulable, and sees that the version is still the new one.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/upgrading-linux-nodes/
type UpgradeWorkers struct {
	To string
	// Before is done before the first is drained; nil: nothing.
	Before Arrange
}

// Arrange changes a cluster at a moment of an upgrade, for example to cause a regression that must be found. What it changed is reverted
// with the fault.
type Arrange func(ctx context.Context, t Target) (Undo, error)

// Undo undoes what an Arrange has done.
type Undo = func(context.Context) error

func (u UpgradeControlPlane) String() string { return "upgrade the control plane to " + u.To }

func (u UpgradeWorkers) String() string { return "upgrade the workers to " + u.To }

// Prepare implements Prepared.
func (u UpgradeControlPlane) Prepare(ctx context.Context, t Target) error {
	return prepareUpgrade(ctx, t, u.To)
}

// Prepare implements Prepared.
func (u UpgradeWorkers) Prepare(ctx context.Context, t Target) error {
	return prepareUpgrade(ctx, t, u.To)
}

func prepareUpgrade(ctx context.Context, t Target, to string) error {
	c, err := upgrader(t)
	if err == nil {
		_, err = c.Fetch(ctx, to)
	}
	return err
}

// Plan implements Fault. The upgrade was seen when the API server and every control plane's kubelet report the new version.
func (u UpgradeControlPlane) Plan(ctx context.Context, t Target) (Disruption, error) {
	up, err := planUpgrade(ctx, t, u.To, clusters.ControlPlane)
	if err != nil {
		return nil, err
	}
	return up.effect(func(ctx context.Context) error {
		for _, n := range up.nodes {
			if err := up.kubeadm(ctx, n); err != nil {
				return err
			}
		}
		if err := up.arrange(ctx, u.After); err != nil {
			return err
		}
		for _, n := range up.nodes {
			if err := up.cordon(ctx, n); err != nil {
				return err
			}
			if err := up.kubelet(ctx, n); err != nil {
				return err
			}
			if err := up.uncordon(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// Plan implements Fault. The upgrade was seen when every node's kubelet reports the new version, and the whole cluster was proven to
// be usable.
func (u UpgradeWorkers) Plan(ctx context.Context, t Target) (Disruption, error) {
	up, err := planUpgrade(ctx, t, u.To, clusters.Worker, clusters.LoadNode)
	if err != nil {
		return nil, err
	}
	return up.effect(func(ctx context.Context) error {
		if err := up.arrange(ctx, u.Before); err != nil {
			return err
		}
		for _, n := range up.nodes {
			if err := up.worker(ctx, n); err != nil {
				return err
			}
		}
		return up.cluster.Upgraded(ctx, up.release)
	}), nil
}

// upgrade is one of them at work.
type upgrade struct {
	Target
	cluster clusters.Upgrader
	from    string
	release clusters.Release
	nodes   []clusters.Node
	evicted []string
	closed  map[string]bool // nodes that we cordoned
	undo    []func(context.Context) error
}

func upgrader(t Target) (clusters.Upgrader, error) {
	c, can := t.Cluster.(clusters.Upgrader)
	if !can {
		return nil, fmt.Errorf("upgrade cluster %s: its provider cannot upgrade it in place", t.Cluster.Name())
	}
	return c, nil
}

func planUpgrade(ctx context.Context, t Target, to string, roles ...clusters.Role) (*upgrade, error) {
	c, err := upgrader(t)
	if err != nil {
		return nil, err
	}
	up := &upgrade{Target: t, cluster: c, from: c.Spec().Kubernetes, closed: map[string]bool{}}
	if up.release, err = c.Fetch(ctx, to); err != nil {
		return nil, err
	}
	for _, role := range roles {
		for _, n := range c.Nodes() {
			if n.Role() == role {
				up.nodes = append(up.nodes, n)
			}
		}
	}
	if len(up.nodes) == 0 {
		return nil, fmt.Errorf("upgrade cluster %s: it has no node of role %v", c.Name(), roles)
	}
	return up, nil
}

// worker is one node's way.
func (up *upgrade) worker(ctx context.Context, n clusters.Node) error {
	pods, err := up.on(ctx, n)
	if err != nil {
		return err
	}
	if err := up.cordon(ctx, n); err != nil {
		return err
	}
	if n.Role() == clusters.Worker {
		up.evicted = append(up.evicted, pods...)
		if err := up.step(n, "drain", func() error { return up.drain(ctx, n.Name()) }); err != nil {
			return err
		}
	}
	if err := up.kubeadm(ctx, n); err != nil {
		return err
	}
	if err := up.kubelet(ctx, n); err != nil {
		return err
	}
	if err := up.uncordon(ctx, n); err != nil {
		return err
	}
	return up.step(n, "workload settled", func() error {
		_, err := up.Settle(ctx)
		return err
	})
}

func (up *upgrade) cordon(ctx context.Context, n clusters.Node) error {
	return up.step(n, "cordon", func() error {
		err := up.setOpen(ctx, n, false)
		if !errors.Is(err, errCordoned) { // also where it is not known whether it was done
			up.closed[n.Name()] = true
		}
		return err
	})
}

func (up *upgrade) uncordon(ctx context.Context, n clusters.Node) error {
	return up.step(n, "uncordon", func() error {
		err := up.setOpen(ctx, n, true)
		if err == nil {
			delete(up.closed, n.Name())
		}
		return err
	})
}

// openLimit bounds the wait for an API server that is between two versions of itself. Of three it can be another one each time.
const openLimit = 2 * time.Minute

// setOpen opens or closes a node, and waits out an API server that does not answer, or that has just been started and refuses
// everybody, for it has not read yet who may do what.
func (up *upgrade) setOpen(ctx context.Context, n clusters.Node, open bool) error {
	var asked bool
	var others error
	err := poll.Until(ctx, fmt.Sprintf("%s to be set unschedulable=%t", n.Name(), !open), openLimit,
		func(ctx context.Context) (bool, string, error) {
			node, err := up.Client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			if done := node.Spec.Unschedulable != open; done {
				if !open && !asked {
					others = fmt.Errorf("cordon %s: %w", n.Name(), errCordoned)
				}
				return true, "", nil
			}
			asked = true
			return false, "it is not so yet", up.Target.cordon(ctx, n.Name(), !open)
		})
	return errors.Join(err, others)
}

func (up *upgrade) kubeadm(ctx context.Context, n clusters.Node) error {
	return up.step(n, "kubeadm upgrade", func() error { return up.cluster.UpgradeNode(ctx, n, up.release) })
}

func (up *upgrade) kubelet(ctx context.Context, n clusters.Node) error {
	return up.step(n, "new kubelet, Ready", func() error { return up.cluster.SwapKubelet(ctx, n, up.release) })
}

// step does something to a node that takes its time, and writes down when it began, ended and how.
func (up *upgrade) step(n clusters.Node, what string, do func() error) error {
	return up.Record.Step(history.Step{Node: n.Name(), What: what, From: up.from, To: up.release.Kubernetes}, do)
}

func (up *upgrade) arrange(ctx context.Context, a Arrange) error {
	if a == nil {
		return nil
	}
	undo, err := a(ctx, up.Target)
	up.undo = append(up.undo, undo)
	return err
}

// on names the workload's pods on a node.
func (up *upgrade) on(ctx context.Context, n clusters.Node) (pods []string, err error) {
	all, err := up.staying(ctx)
	for name, pod := range all {
		if pod.Spec.NodeName == n.Name() {
			pods = append(pods, name)
		}
	}
	return pods, err
}

// effect is the upgrade as a Disruption. Its witnesses are the API server and the kubelets, which report their own versions.
func (up *upgrade) effect(do func(context.Context) error) *Effect {
	return &Effect{
		Do: func(ctx context.Context) error {
			if err := do(ctx); err != nil {
				return err
			}
			holds, saw, err := up.upgraded(ctx)
			if err == nil && !holds {
				err = fmt.Errorf("see the upgrade to %s: %s", up.release.Kubernetes, saw)
			}
			return err
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			holds, saw, err := up.upgraded(ctx)
			return holds, Observation{Pods: up.evicted, Witness: saw}, err // no nodes: they were away one by one, and are back
		},
		Undo: up.reopen, Restore: up.restored, Stays: true,
	}
}

func (up *upgrade) upgraded(ctx context.Context) (bool, string, error) {
	to := up.release.Kubernetes
	server, err := up.Client.Discovery().ServerVersion()
	if err != nil {
		return false, "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	for _, n := range up.nodes {
		node, err := up.Client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err != nil {
			return false, "", fmt.Errorf("read node %s: %w", n.Name(), err)
		}
		if got := node.Status.NodeInfo.KubeletVersion; got != to {
			return false, fmt.Sprintf("the kubelet of %s says %s", n.Name(), got), nil
		}
	}
	said := fmt.Sprintf("the API server says %s, and so do the kubelets of %s", server.GitVersion, strings.Join(node.Names(up.nodes), ", "))
	return server.GitVersion == to, said, nil
}

// reopen uncordons what the upgrade cordoned, once what was arranged is undone.
func (up *upgrade) reopen(ctx context.Context) error {
	for _, undo := range slices.Backward(up.undo) {
		if err := undo(ctx); err != nil {
			return err
		}
	}
	for _, n := range up.nodes {
		if !up.closed[n.Name()] {
			continue
		}
		if err := up.setOpen(ctx, n, true); err != nil {
			return err
		}
	}
	return nil
}

// restored returns what there is after an upgrade. That the version stays is no error.
func (up *upgrade) restored(ctx context.Context) (string, error) {
	holds, saw, err := up.upgraded(ctx)
	if err != nil {
		return "", err
	}
	if !holds {
		return "every node is schedulable; the upgrade had not come to its end: " + saw, nil
	}
	return up.settledAfter("there is no way back, and every node is schedulable: " + saw)(ctx)
}
