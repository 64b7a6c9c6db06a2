package clustertest

import (
	"context"
	"errors"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Node is a clusters.Node in memory. Change the exported fields before the node is used.
type Node struct {
	// OnExec is called by Exec; nil means no output and success.
	OnExec func(command []string) ([]byte, error)
	// OnFeed is called by Feed; nil means that the input is read, and success.
	OnFeed func(input io.Reader, command []string) error
	// NotBack is the error of Start and Resume after the node runs again: it runs, and does not become Ready.
	NotBack error
	// Idle makes Kill, Stop, Pause, Start and Resume return success and change nothing.
	Idle bool

	cluster *Cluster
	name    string
	role    clusters.Role
	zone    string

	mu    sync.Mutex
	state clusters.NodeState
	err   error // of State and Exec
	lost  bool  // by Kill, Stop or Pause: the API server has it NotReady
}

// Name implements clusters.Node.
func (n *Node) Name() string { return n.name }

// Role implements clusters.Node.
func (n *Node) Role() clusters.Role { return n.role }

// Zone implements clusters.Node.
func (n *Node) Zone() string { return n.zone }

// State implements clusters.Node.
func (n *Node) State(context.Context) (clusters.NodeState, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, n.err
}

// SetState changes what the engine reports, and nothing in the API server.
func (n *Node) SetState(s clusters.NodeState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state = s
}

// FailState makes State and Exec return an error, as an engine that is away does.
func (n *Node) FailState(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// Silent implements clusters.Node: a node that does not run does not answer.
func (n *Node) Silent(context.Context) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state != clusters.Running, nil
}

// Exec implements clusters.Node. Like an engine, it refuses a node that does not run.
func (n *Node) Exec(ctx context.Context, command ...string) ([]byte, error) {
	if state, err := n.State(ctx); err != nil {
		return nil, err
	} else if state != clusters.Running {
		return nil, errors.New(n.name + " is " + string(state))
	}
	if n.OnExec == nil {
		return nil, nil
	}
	return n.OnExec(command)
}

// Feed implements clusters.Node.
func (n *Node) Feed(_ context.Context, input io.Reader, command ...string) error {
	if n.OnFeed == nil {
		_, err := io.Copy(io.Discard, input)
		return err
	}
	return n.OnFeed(input, command)
}

// Kill implements clusters.Node.
func (n *Node) Kill(context.Context) error { return n.lose(clusters.Exited) }

// Stop implements clusters.Node.
func (n *Node) Stop(context.Context) error { return n.lose(clusters.Exited) }

// Pause implements clusters.Node.
func (n *Node) Pause(context.Context) error { return n.lose(clusters.Paused) }

// Start implements clusters.Node. Like an engine, it refuses a paused node.
func (n *Node) Start(context.Context) error { return n.bringBack(clusters.Paused) }

// Resume implements clusters.Node. Like an engine, it refuses a node that has exited.
func (n *Node) Resume(context.Context) error { return n.bringBack(clusters.Exited) }

func (n *Node) lose(to clusters.NodeState) error {
	if n.Idle {
		return nil
	}
	n.mu.Lock()
	n.state, n.lost = to, true
	n.mu.Unlock()
	n.setReady(corev1.ConditionUnknown)
	return nil
}

func (n *Node) bringBack(refused clusters.NodeState) error {
	if n.Idle {
		return nil
	}
	n.mu.Lock()
	if n.state == refused {
		n.mu.Unlock()
		return errors.New(n.name + " is " + string(refused))
	}
	was := n.lost
	n.state, n.lost = clusters.Running, n.lost && n.NotBack != nil
	n.mu.Unlock()
	if was && n.NotBack == nil {
		n.setReady(corev1.ConditionTrue)
	}
	return n.NotBack
}

func (n *Node) setReady(status corev1.ConditionStatus) {
	n.cluster.EditNode(n.name, func(o *corev1.Node) {
		for i := range o.Status.Conditions {
			if o.Status.Conditions[i].Type == corev1.NodeReady {
				o.Status.Conditions[i].Status = status
			}
		}
	})
}
