// Package clusters defines what holdfast needs from a Kubernetes cluster: a Provider that creates clusters, and a Cluster whose
// nodes can be killed, stopped and frozen. Each provider is a subpackage.
//
// The package does not inject faults, send load or deploy workloads, and it does not judge results.
package clusters

import (
	"context"
	"errors"
	"io"

	"k8s.io/client-go/rest"
)

// Provider makes clusters of one kind.
type Provider interface {
	// Create returns a cluster that is proven usable: every node is Ready, DNS answers, and a Service is reachable from every
	// node. Otherwise the error names what was missing, and everything already created has been removed. If the removal was
	// incomplete, the error wraps ErrLeft.
	Create(ctx context.Context, name string, spec Spec) (Cluster, error)
}

// ErrLeft means that creating a cluster failed and that parts of the cluster could not be removed.
var ErrLeft = errors.New("parts of the cluster could not be removed")

// Cluster is a running cluster that this process may disturb.
type Cluster interface {
	Name() string
	// Spec is the requested spec with the defaults filled in.
	Spec() Spec
	// Config connects to the API server from this process.
	Config() *rest.Config
	// Nodes are all nodes of the cluster, the control plane first, then by name. The set never changes.
	Nodes() []Node
	// LoadImage imports an image on every node that does not have it yet, on several nodes in parallel.
	LoadImage(ctx context.Context, image Image) error
	// CollectLogs writes the logs of the nodes and pods below dir.
	CollectLogs(ctx context.Context, dir string) error
	// Delete removes the cluster with its containers, volumes and networks.
	Delete(ctx context.Context) error
}

// Image is a container image in a docker-archive file.
type Image struct {
	// Ref is the image name that pods use. It must change whenever the content changes: a node that already has Ref does not
	// import it again.
	Ref  string
	Path string
	// Role limits the import to the nodes of one role. Empty means every node.
	Role Role
}

// Role is the purpose of a node.
type Role string

// The roles. The load workers run on the LoadNode, and so does the gateway where a scenario has one. No fault touches the
// LoadNode.
//
// A Simulated node has no machine: something else keeps its lease and reports its pods ready. To the control plane it is a node like
// any other, so placement, budgets, drains and its loss are real. Nothing runs on it: no pod answers a request, and what a kubelet or a
// kernel does cannot be seen there. Its taint keeps all pods away that do not ask for it.
const (
	ControlPlane Role = "control-plane"
	LoadNode     Role = "load"
	Worker       Role = "worker"
	Simulated    Role = "simulated"
)

// ErrSimulated is returned for an action on a simulated node that needs a machine.
var ErrSimulated = errors.New("a simulated node has no machine")

// Node is one machine of a cluster. An action on a node returns only after its effect was seen by a witness other than the
// component that performed it.
type Node interface {
	Name() string
	Role() Role
	// Zone is the value of the label topology.kubernetes.io/zone. It is empty if the node has no such label.
	Zone() string
	// Kill sends SIGKILL to every process of the node. Unlike in a power cut, the kernel survives and closes open sockets, so
	// peers with open connections notice at once. New connections get no answer.
	Kill(ctx context.Context) error
	// Stop shuts the node down gracefully.
	Stop(ctx context.Context) error
	// Start starts a killed or stopped node. It returns when the node is Ready again, its pod routes are restored, and a
	// Service is reachable through it. On a node that is already running (resumed, reconnected or restarted), Start waits for
	// the same conditions.
	Start(ctx context.Context) error
	// Pause freezes every process of the node. Resume unfreezes the processes.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// State is the state of the machine as the container engine reports it.
	State(ctx context.Context) (NodeState, error)
	// Silent is a second witness, independent of the engine: it probes the node's kubelet port from elsewhere in the cluster,
	// and returns true if the port does not answer.
	Silent(ctx context.Context) (bool, error)
	// Exec runs a command on the node and returns its standard output.
	Exec(ctx context.Context, command ...string) ([]byte, error)
	// Feed runs a command on the node with a standard input, which may be larger than memory.
	Feed(ctx context.Context, input io.Reader, command ...string) error
}

// NodeState is the state of a node's machine as the container engine reports it.
type NodeState string

// The states that holdfast distinguishes.
const (
	Running NodeState = "running"
	Paused  NodeState = "paused"
	Exited  NodeState = "exited"
)
