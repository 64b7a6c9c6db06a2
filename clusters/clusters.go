// Package clusters says what holdfast needs of a Kubernetes cluster: a Provider that makes one, and a Cluster whose
// nodes can be killed, stopped and frozen. One package a provider lies below it.
//
// It knows nothing of faults, load or workloads, and it never judges.
package clusters

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"
)

// Provider makes clusters of one kind.
type Provider interface {
	// Create returns a cluster that is proven usable (every node Ready, DNS answers, a Service reachable from every
	// node), or an error that says what was missing. What it made before an error is removed again; where it could not be, the
	// error is ErrLeft.
	Create(ctx context.Context, name string, spec Spec) (Cluster, error)
}

// ErrLeft says that a cluster could not be made, and that something of it is left.
var ErrLeft = errors.New("not all of it could be removed")

// Cluster is a running cluster that is ours to disturb.
type Cluster interface {
	Name() string
	// Spec is what the cluster was asked to be, with the defaults filled in.
	Spec() Spec
	// Config reaches the API server from this process.
	Config() *rest.Config
	// Nodes are all machines of the cluster, control plane first, then by name. The set is fixed for a cluster's life.
	Nodes() []Node
	// LoadImage brings an image into every node that does not hold it yet, several nodes at a time.
	LoadImage(ctx context.Context, image Image) error
	// CollectLogs writes the nodes' and pods' logs below dir.
	CollectLogs(ctx context.Context, dir string) error
	// Delete removes the cluster and all that came with it: containers, volumes, networks.
	Delete(ctx context.Context) error
}

// Image is a container image in a docker-archive file.
type Image struct {
	// Ref is the name pods use. It must change whenever the content does: a node that holds Ref is not sent it again.
	Ref string
	// Path is the archive.
	Path string
	// Role narrows the nodes that get it down to those of one role; empty: every node.
	Role Role
}

// Role says what a node is for.
type Role string

// The roles. A LoadNode carries the load workers and, where a scenario wants it, the gateway; no fault touches it.
const (
	ControlPlane Role = "control-plane"
	LoadNode     Role = "load"
	Worker       Role = "worker"
)

// Node is one machine of a cluster. Its verbs return when a witness other than the one that did it has seen it done.
type Node interface {
	Name() string
	Role() Role
	// Zone is the value of topology.kubernetes.io/zone, empty where the node has none.
	Zone() string
	// Kill ends the node abruptly: SIGKILL to all of it. Unlike a power cut it lets the kernel close what was open, so
	// that peers on an open connection hear of it at once; new connections are not answered.
	Kill(ctx context.Context) error
	// Stop shuts the node down in order.
	Stop(ctx context.Context) error
	// Start brings a killed or stopped node back: it returns when the node is Ready again, its pod routes are back, and
	// a Service is reachable through it. Of a node that runs, but was thawed, cut off or restarted, it waits for the same.
	Start(ctx context.Context) error
	// Pause freezes every process of the node; Resume lets them go on.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// State is the engine's word on the machine.
	State(ctx context.Context) (NodeState, error)
	// Silent is a second witness: it asks from elsewhere in the cluster whether the node's kubelet port takes
	// connections, and returns true when it does not.
	Silent(ctx context.Context) (bool, error)
	// Exec runs a command on the node and returns its standard output.
	Exec(ctx context.Context, command ...string) ([]byte, error)
}

// NodeState is what the engine says of a node's machine.
type NodeState string

// The states that holdfast tells apart.
const (
	Running NodeState = "running"
	Paused  NodeState = "paused"
	Exited  NodeState = "exited"
)
