package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// Cluster is a kind cluster. Make one with Provider.Create, or attach to one with Open.
type Cluster struct {
	e      runner
	log    *slog.Logger
	name   string
	record clusterRecord
	nodes  []*Node
	config *rest.Config
	client kubernetes.Interface
	within time.Duration // time limit of Prove

	// release gets the files that an upgrade to a version needs.
	release func(ctx context.Context, version string) (nodeimage.Release, error)
	fetched clusters.Release // the release that Fetch last copied to the nodes

	freezers string // root of the cgroup v1 freezer hierarchy; empty: that of this machine
}

var (
	_ clusters.Cluster = (*Cluster)(nil)
	_ clusters.Node    = (*Node)(nil)
)

// Name is the name that the cluster was created with. Its containers' names start with holdfast- and this name.
func (c *Cluster) Name() string { return c.name }

// Spec is the requested spec of the cluster.
func (c *Cluster) Spec() clusters.Spec { return c.record.Spec }

// Image is the reference of the node image in the engine.
func (c *Cluster) Image() string { return c.record.Image }

// Balancer is the load balancer in front of several control planes, nodeimage.Envoy or nodeimage.HAProxy. It is empty with a
// single control plane.
func (c *Cluster) Balancer() string { return c.record.Balancer }

// Config returns a copy, which the caller may change.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Nodes are all nodes, the control planes first, then by name.
func (c *Cluster) Nodes() []clusters.Node {
	var all []clusters.Node
	for _, n := range c.nodes {
		all = append(all, n)
	}
	return all
}

// Kubeconfig is the path of a kubeconfig for the cluster. Deleting the cluster deletes the file.
func (c *Cluster) Kubeconfig() (string, error) { return kubeconfigPath(c.name) }

// StateDir is the local folder with the files of the cluster. It is deleted with the cluster.
func (c *Cluster) StateDir() (string, error) { return StateDir(c.name) }

// Keep marks the cluster so that it may outlive the process that created it.
func (c *Cluster) Keep() error { return markKept(c.name) }

// Prove returns when the cluster is usable. If the time limit passes first, the error lists what was missing last.
func (c *Cluster) Prove(ctx context.Context) error {
	p := &proof{e: c.e, client: c.client, planned: members(c.name, c.record.Spec), sealed: !c.record.Spec.Egress, plain: c.record.Spec.Plain}
	if err := settle(ctx, "every node to be usable", c.within, p.look); err != nil {
		return fmt.Errorf("prove cluster %s: %w", c.name, err)
	}
	return nil
}

// Delete removes the cluster's containers, volumes and network, and its kubeconfig.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := Delete(ctx, c.e, c.name)
	return err
}

// Open attaches to an existing cluster, including one created by another process. It does not check that the cluster is usable;
// see Prove.
func Open(ctx context.Context, e *engine.Engine, name string, o Options) (*Cluster, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := e.Apply(); err != nil {
		return nil, err
	}
	r, err := readRecord(ctx, e, name)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	return attach(ctx, e, name, r, o)
}

func attach(ctx context.Context, e runner, name string, r clusterRecord, o Options) (*Cluster, error) {
	config, err := restConfig(e, name)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	c := &Cluster{
		e: e, log: o.logger().With("cluster", name), name: name, record: r,
		config: config, client: client, within: o.proveWithin(),
	}
	if e, real := e.(*engine.Engine); real {
		c.release = func(ctx context.Context, version string) (nodeimage.Release, error) {
			return nodeimage.GetRelease(ctx, e, version, o.Image)
		}
	}
	var names []string
	for _, m := range members(name, r.Spec) {
		names = append(names, m.name)
		c.nodes = append(c.nodes, &Node{cluster: c, member: m})
	}
	at, err := addressesOf(ctx, e, names...)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	for _, n := range c.nodes {
		n.learn(at[n.name])
	}
	return c, nil
}

// restConfig connects to the API server from this machine. The kubeconfig file is available even while the control plane is
// down. If the file is lost, kind reads the kubeconfig from the control-plane container.
func restConfig(e runner, name string) (*rest.Config, error) {
	path, err := kubeconfigPath(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		var fresh string
		fresh, err = kindcluster.NewProvider(kindOption(e)).KubeConfig(prefix+name, false)
		text = []byte(fresh)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1 // no client-side throttling: it would delay what is being timed, and the API server protects itself
	return config, nil
}

func kindOption(e runner) kindcluster.ProviderOption {
	if e.Name() == engine.Docker {
		return kindcluster.ProviderWithDocker()
	}
	return kindcluster.ProviderWithPodman()
}

// kubeconfigPath is in holdfast's cache folder: the user's own kubeconfig is never modified.
func kubeconfigPath(name string) (string, error) {
	dir, err := StateDir(name)
	return filepath.Join(dir, "kubeconfig"), err
}

// other is a running node from which to probe n: preferably the load node, which no fault touches, then a control plane, then
// any other node.
func (c *Cluster) other(ctx context.Context, n *Node) (*Node, error) {
	candidates := slices.Clone(c.nodes)
	rank := map[clusters.Role]int{clusters.LoadNode: 0, clusters.ControlPlane: 1, clusters.Worker: 2}
	slices.SortStableFunc(candidates, func(a, b *Node) int { return rank[a.role] - rank[b.role] })
	for _, candidate := range candidates {
		if candidate == n {
			continue
		}
		if state, err := candidate.State(ctx); err == nil && state == clusters.Running {
			return candidate, nil
		}
	}
	return nil, fmt.Errorf("probe %s: no other node of cluster %s is running", n.name, c.name)
}
