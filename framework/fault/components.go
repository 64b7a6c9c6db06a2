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
	"github.com/holdfast-ha/holdfast/framework/poll"
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

// habitat is where a component runs, and how it is kept from running. In the scripts $1 is its name, $2 the folder in which the
// node keeps what was taken away.
type habitat struct {
	// of says which nodes it is looked for on; a component of one worker is that of one that carries pods.
	of func(ctx context.Context, t Target) ([]clusters.Node, error)
	// takeAway keeps it from running on a node, bringBack undoes that; both may be run twice. Where anywhere is set, a
	// control plane does so for all nodes, through the API.
	takeAway, bringBack string
	anywhere            bool
	// bites: it is the node that loses something, not the cluster.
	bites bool
	// stubborn ones are told by their manifest to go, and need half a minute for it: they are killed as well.
	stubborn bool
}

// The scripts. A control plane's kubelet watches the folder of its static pods; systemd restarts what it was not told to stop; of
// the pods of a DaemonSet and of a Deployment, whoever undoes it needs nothing but a control plane's own kubectl.
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

var habitats = map[Component]habitat{
	APIServer: staticPod, Etcd: staticPod, Scheduler: staticPod, ControllerManager: staticPod,
	Kubelet: unit, Containerd: unit,
	KubeProxy: {of: everyNode, anywhere: true,
		takeAway:  kubectl + `patch daemonset $1 --type merge --patch '{"spec":{"template":{"spec":{"nodeSelector":{"` + nowhere + `":"yes"}}}}}'`,
		bringBack: kubectl + `patch daemonset $1 --type merge --patch '{"spec":{"template":{"spec":{"nodeSelector":{"` + nowhere + `":null}}}}}'`,
	},
	// What it had is kept in an annotation, in case it is taken away twice.
	CoreDNS: {of: everyNode, anywhere: true,
		takeAway: `had=$(` + kubectl + `get deployment $1 --output 'jsonpath={.spec.replicas}'); [ "$had" = 0 ] || ` +
			kubectl + `annotate --overwrite deployment $1 ` + nowhere + `=$had && ` + kubectl + `scale deployment $1 --replicas 0`,
		bringBack: `had=$(` + kubectl + `get deployment $1 --output 'jsonpath={.metadata.annotations.holdfast\.dev/away}') && { [ -z "$had" ] || ` +
			kubectl + `scale deployment $1 --replicas $had && ` + kubectl + `annotate deployment $1 ` + nowhere + `-; }`,
	},
}

var (
	staticPod = habitat{of: controlPlanes, stubborn: true,
		takeAway:  `mkdir -p ` + awayFolder + ` && mv ` + manifests + `/$1.yaml ` + awayFolder + `/$1.yaml`,
		bringBack: toManifests,
	}
	unit = habitat{of: oneVictim, bites: true, takeAway: `systemctl stop $1`, bringBack: `systemctl start $1`}
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

func (c Component) habitat() (habitat, error) {
	h, known := habitats[c]
	if !known {
		return h, fmt.Errorf("component %q: want one of %q", c, slices.Sorted(maps.Keys(habitats)))
	}
	return h, nil
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

// end kills the processes of a component. That there are none is no error.
func (c Component) end(ctx context.Context, nodes []clusters.Node) error {
	return onEach(nodes, func(n clusters.Node) error {
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

// before are the processes that there are, which must be some.
func (c Component) before(ctx context.Context, nodes []clusters.Node) ([]string, error) {
	found, err := c.running(ctx, nodes)
	if err == nil && len(found) == 0 {
		err = errors.New("it does not run")
	}
	return found, err
}

// bitten are the nodes that a fault's mark names.
func (h habitat) bitten(nodes []clusters.Node) []string {
	if !h.bites {
		return nil
	}
	return names(nodes)
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

// awaitBack waits until as many processes of a component run as before, none of them one of those, and until the API server
// answers: what is asked of it next is not to be refused.
func (c Component) awaitBack(ctx context.Context, t Target, nodes []clusters.Node, before []string) (witness string, err error) {
	err = poll.Until(ctx, string(c)+" to be back", componentBack, func(ctx context.Context) (bool, string, error) {
		now, err := c.running(ctx, nodes)
		if err != nil {
			return false, "", err
		}
		witness = fmt.Sprintf("%s runs on %s, %d of it, and %d there were", c, nodesOf(now), len(now), len(before))
		if len(now) < len(before) || slices.ContainsFunc(now, func(p string) bool { return slices.Contains(before, p) }) {
			return false, witness, nil
		}
		_, err = t.deployment(ctx)
		return err == nil, witness, err
	})
	return witness, err
}
