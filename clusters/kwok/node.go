package kwok

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// Limits of the loss and the return of a node, beyond the time in which its lease has to be renewed: for its loss that is silentAfter, and for its
// return leaseDuration, because kwok takes a lease over only once it has expired.
const (
	silenceLimit = 30 * time.Second
	returnLimit  = 3 * time.Minute
)

// Node is a simulated node.
type Node struct {
	cluster    *Cluster
	name, zone string
	renewals   renewals
}

var _ clusters.Node = (*Node)(nil)

// Name is the name of the node.
func (n *Node) Name() string { return n.name }

// Role is clusters.Simulated.
func (n *Node) Role() clusters.Role { return clusters.Simulated }

// Zone is the value of the zone label.
func (n *Node) Zone() string { return n.zone }

// Kill makes kwok stop keeping the node: kwok no longer renews the lease, and no longer changes the pods. Kill returns when the lease is overdue.
func (n *Node) Kill(ctx context.Context) error {
	if err := n.mark(ctx, nil); err != nil {
		return fmt.Errorf("kill %s: %w", n.name, err)
	}
	limit := silentAfter(n.cluster.times) + silenceLimit
	err := poll.Until(ctx, "its lease to be no longer renewed", limit, func(ctx context.Context) (bool, string, error) {
		silent, err := n.Silent(ctx)
		return silent, "its lease was renewed a moment ago", err
	})
	if err != nil {
		return fmt.Errorf("kill %s: %w", n.name, err)
	}
	return nil
}

// Start makes kwok keep the node again, and returns when the node is Ready and its lease has been renewed.
func (n *Node) Start(ctx context.Context) error {
	before, err := n.cluster.pulses.of(ctx, n.name)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	if !before.kept {
		if err := n.mark(ctx, kubeletOn); err != nil {
			return fmt.Errorf("start %s: %w", n.name, err)
		}
	}
	err = poll.Until(ctx, "the node to be back", leaseDuration(n.cluster.times)+returnLimit, func(ctx context.Context) (bool, string, error) {
		now, err := n.cluster.pulses.of(ctx, n.name)
		switch {
		case err != nil:
			return false, "", err
		case !before.kept && !now.lease.After(before.lease):
			return false, "its lease was not renewed since the start", nil
		}
		return now.kept && now.ready, fmt.Sprintf("takes pods: %t", now.ready), nil
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	return nil
}

// State is Running if kwok is asked to keep the node's lease, and Exited if it is not.
func (n *Node) State(ctx context.Context) (clusters.NodeState, error) {
	now, err := n.cluster.pulses.of(ctx, n.name)
	if err != nil {
		return "", err
	}
	if now.kept {
		return clusters.Running, nil
	}
	return clusters.Exited, nil
}

// Silent reports whether the renewal of the node's lease is overdue. The lease is an independent witness: kwok renews it, and the harness does not.
func (n *Node) Silent(ctx context.Context) (bool, error) {
	now, err := n.cluster.pulses.of(ctx, n.name)
	if err != nil {
		return false, err
	}
	return n.renewals.unchanged(now.lease) > silentAfter(n.cluster.times), nil
}

// renewals keeps since when a lease has been seen to stay as it is.
type renewals struct {
	mu    sync.Mutex
	lease time.Time
	since time.Time
}

// unchanged is for how long the renewal has been the last one, by this process's monotonic clock. That is less than since the renewal, which
// happened before it was first seen. kwok's own clock tells nothing: in the virtual machine of Docker Desktop, Colima or podman it may be minutes off
// after the machine has slept.
func (r *renewals) unchanged(lease time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() || !lease.Equal(r.lease) {
		r.lease, r.since = lease, time.Now()
	}
	return time.Since(r.since)
}

// mark sets the label that makes kwok keep the node, or with nil removes it.
func (n *Node) mark(ctx context.Context, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{LabelKubelet: value}}})
	if err != nil {
		return err
	}
	defer n.cluster.pulses.forget()
	_, err = n.cluster.client.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// unsupported is the error of what a simulated node cannot do.
func (n *Node) unsupported(verb string) error {
	return fmt.Errorf("%s %s: %w", verb, n.name, clusters.ErrSimulated)
}

// Stop returns clusters.ErrSimulated: there is no kubelet that would shut down gracefully.
func (n *Node) Stop(context.Context) error { return n.unsupported("stop") }

// Pause returns clusters.ErrSimulated: there is no kernel that would keep connections open.
func (n *Node) Pause(context.Context) error { return n.unsupported("pause") }

// Resume returns clusters.ErrSimulated.
func (n *Node) Resume(context.Context) error { return n.unsupported("resume") }

// Exec returns clusters.ErrSimulated.
func (n *Node) Exec(context.Context, ...string) ([]byte, error) {
	return nil, n.unsupported("run a command on")
}

// Feed returns clusters.ErrSimulated.
func (n *Node) Feed(context.Context, io.Reader, ...string) error {
	return n.unsupported("run a command on")
}
