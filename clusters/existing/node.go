package existing

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Node is a node of a cluster that holdfast did not make. holdfast has no hold of its machine: it can neither be killed nor entered.
type Node struct {
	name string
	role clusters.Role
	zone string
}

// Name implements clusters.Node.
func (n *Node) Name() string { return n.name }

// Role implements clusters.Node: ControlPlane by the node's label, else Worker.
func (n *Node) Role() clusters.Role { return n.role }

// Zone implements clusters.Node.
func (n *Node) Zone() string { return n.zone }

// Kill implements clusters.Node.
func (n *Node) Kill(context.Context) error { return n.not("kill") }

// Stop implements clusters.Node.
func (n *Node) Stop(context.Context) error { return n.not("stop") }

// Start implements clusters.Node.
func (n *Node) Start(context.Context) error { return n.not("start") }

// Pause implements clusters.Node.
func (n *Node) Pause(context.Context) error { return n.not("pause") }

// Resume implements clusters.Node.
func (n *Node) Resume(context.Context) error { return n.not("resume") }

// State implements clusters.Node.
func (n *Node) State(context.Context) (clusters.NodeState, error) {
	return "", n.not("ask for the machine of")
}

// Silent implements clusters.Node.
func (n *Node) Silent(context.Context) (bool, error) { return false, n.not("probe") }

// Exec implements clusters.Node.
func (n *Node) Exec(context.Context, ...string) ([]byte, error) {
	return nil, n.not("run a command on")
}

// Feed implements clusters.Node.
func (n *Node) Feed(context.Context, io.Reader, ...string) error { return n.not("run a command on") }

func (n *Node) not(what string) error {
	return fmt.Errorf("%s node %s: %w", what, n.name, ErrNotSupported)
}
