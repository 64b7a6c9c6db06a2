package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// Component is a program that Kubernetes consists of, by the name of its process.
type Component string

// The components. The first four are static pods of each control plane's kubelet, as kubeadm makes them.
const (
	APIServer         Component = "kube-apiserver"
	Etcd              Component = "etcd"
	Scheduler         Component = "kube-scheduler"
	ControllerManager Component = "kube-controller-manager"
	CoreDNS           Component = "coredns"
	KubeProxy         Component = "kube-proxy"
	Kubelet           Component = "kubelet"
	Containerd        Component = "containerd"
)

// componentSpec is where a component runs, and how it is kept from running. In the scripts $1 is the component's name.
type componentSpec struct {
	// of returns the nodes on which the component is looked for: one worker that carries pods, or all nodes of a role.
	of func(ctx context.Context, t Target) ([]clusters.Node, error)
	// remove keeps the component from running on a node, restore undoes that; both may be run twice. Where anywhere is set, a
	// control plane does so for all nodes, through the API.
	remove, restore string
	anywhere        bool
	// ofNode: the component belongs to one node, which the record names as affected.
	ofNode bool
	// kill: without its manifest the component ends only after half a minute, and so it is killed as well.
	kill bool
}

// The scripts. A control plane's kubelet watches the folder of its static pods; systemd restarts what it was not told to stop. For
// a DaemonSet and a Deployment, a control plane's own kubectl is enough.
//
// Source: https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
const (
	manifests   = "/etc/kubernetes/manifests"
	awayFolder  = "/var/lib/holdfast/away"
	toManifests = `[ ! -e ` + awayFolder + `/$1.yaml ] || mv ` + awayFolder + `/$1.yaml ` + manifests + `/$1.yaml`
	kubectl     = `kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace kube-system `
	// nowhere is a label that no node has.
	nowhere = "holdfast.dev/away"
)

var componentSpecs = map[Component]componentSpec{
	APIServer: staticPod, Etcd: staticPod, Scheduler: staticPod, ControllerManager: staticPod,
	Kubelet: unit, Containerd: unit,
	KubeProxy: {of: everyNode, anywhere: true,
		remove:  kubectl + `patch daemonset $1 --type merge --patch '{"spec":{"template":{"spec":{"nodeSelector":{"` + nowhere + `":"yes"}}}}}'`,
		restore: kubectl + `patch daemonset $1 --type merge --patch '{"spec":{"template":{"spec":{"nodeSelector":{"` + nowhere + `":null}}}}}'`,
	},
	// What it had is kept in an annotation, in case it is taken away twice.
	CoreDNS: {of: everyNode, anywhere: true,
		remove: `had=$(` + kubectl + `get deployment $1 --output 'jsonpath={.spec.replicas}'); [ "$had" = 0 ] || ` +
			kubectl + `annotate --overwrite deployment $1 ` + nowhere + `=$had && ` + kubectl + `scale deployment $1 --replicas 0`,
		restore: `had=$(` + kubectl + `get deployment $1 --output 'jsonpath={.metadata.annotations.holdfast\.dev/away}') && { [ -z "$had" ] || ` +
			kubectl + `scale deployment $1 --replicas $had && ` + kubectl + `annotate deployment $1 ` + nowhere + `-; }`,
	},
}

var (
	staticPod = componentSpec{of: controlPlanes, kill: true,
		remove:  `mkdir -p ` + awayFolder + ` && mv ` + manifests + `/$1.yaml ` + awayFolder + `/$1.yaml`,
		restore: toManifests,
	}
	unit = componentSpec{of: oneVictim, ofNode: true, remove: `systemctl stop $1`, restore: `systemctl start $1`}
)

func controlPlanes(_ context.Context, t Target) (nodes []clusters.Node, err error) {
	for _, n := range t.Cluster.Nodes() {
		if n.Role() == clusters.ControlPlane {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		err = fmt.Errorf("find the control plane of %s: it has none", t.Cluster.Name())
	}
	return nodes, err
}

func everyNode(_ context.Context, t Target) ([]clusters.Node, error) { return t.Cluster.Nodes(), nil }

func oneVictim(ctx context.Context, t Target) ([]clusters.Node, error) {
	node, _, err := t.oneWorker(ctx, 0)
	return []clusters.Node{node}, err
}

func (c Component) spec() (componentSpec, error) {
	spec, known := componentSpecs[c]
	if !known {
		return spec, fmt.Errorf("component %q: want one of %q", c, slices.Sorted(maps.Keys(componentSpecs)))
	}
	return spec, nil
}

// The commands that look at processes and end them; $1 is the name. The kernel knows a process by 15 characters of it, and a
// process from another of the same number by when it started.
const (
	processes = `for p in $(pgrep -x "$(printf %.15s "$1")"); do read -r stat </proc/$p/stat && echo "$p $(echo "$stat" | cut -d' ' -f22)"; done; :`
	endAll    = `pkill -KILL -x "$(printf %.15s "$1")"; [ $? -le 1 ]`
)

// running are the processes of a component, as the nodes' own /proc has them: "node pid start".
func (c Component) running(ctx context.Context, nodes []clusters.Node) (found []string, err error) {
	for _, n := range nodes {
		out, err := n.Exec(ctx, "sh", "-c", processes, "processes", string(c))
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", c, err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); line != "" {
				found = append(found, n.Name()+" "+line)
			}
		}
	}
	return found, nil
}

// end kills the processes of a component, if there are any.
func (c Component) end(ctx context.Context, nodes []clusters.Node) error {
	return node.OnEach(nodes, func(n clusters.Node) error {
		if _, err := n.Exec(ctx, "sh", "-c", endAll, "end", string(c)); err != nil {
			return fmt.Errorf("kill %s on %s: %w", c, n.Name(), err)
		}
		return nil
	})
}

const (
	// componentGone bounds how long a component may take to be gone, or to be seen gone. A controller that deletes kube-proxy's
	// pods takes seconds.
	componentGone = 2 * time.Minute
	// componentBack bounds the way back. A static pod that was killed may wait in its kubelet's crash loop back-off, and what
	// needs the API server in one of up to a minute.
	componentBack = 5 * time.Minute
)

// componentTarget is a component on the nodes where a fault disrupts it.
type componentTarget struct {
	componentSpec
	component Component
	nodes     []clusters.Node
	before    []string // the processes that ran; there is at least one
	back      string   // what awaitBack saw
}

func (t Target) componentOn(ctx context.Context, c Component) (*componentTarget, error) {
	spec, err := c.spec()
	if err != nil {
		return nil, err
	}
	nodes, err := spec.of(ctx, t)
	if err != nil {
		return nil, err
	}
	before, err := c.running(ctx, nodes)
	if err == nil && len(before) == 0 {
		err = errors.New("it does not run")
	}
	return &componentTarget{componentSpec: spec, component: c, nodes: nodes, before: before}, err
}

// observation is what a witness saw of the processes that ran before.
func (c *componentTarget) observation(saw string) Observation {
	o := Observation{Witness: saw, Processes: len(c.before)}
	if c.ofNode {
		o.Nodes = node.Names(c.nodes)
	}
	return o
}

// nodesOf names where processes ran.
func nodesOf(processes []string) string {
	var nodes []string
	for _, p := range processes {
		node, _, _ := strings.Cut(p, " ")
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return strings.Join(nodes, ", ")
}

// awaitBack waits until as many processes of the component run as before, all of them new, and until the API server answers: the
// next request must not be refused.
func (c *componentTarget) awaitBack(ctx context.Context, t Target) error {
	return poll.Until(ctx, string(c.component)+" to be back", componentBack, func(ctx context.Context) (bool, string, error) {
		now, err := c.component.running(ctx, c.nodes)
		if err != nil {
			return false, "", err
		}
		c.back = fmt.Sprintf("%s runs on %s, %d of it, and %d there were", c.component, nodesOf(now), len(now), len(c.before))
		if len(now) < len(c.before) || slices.ContainsFunc(now, func(p string) bool { return slices.Contains(c.before, p) }) {
			return false, c.back, nil
		}
		_, err = t.deployment(ctx)
		return err == nil, c.back, err
	})
}
