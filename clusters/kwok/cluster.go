package kwok

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// Cluster is a kind cluster with simulated nodes beside its real ones.
type Cluster struct {
	*kind.Cluster
	client kubernetes.Interface
	pulses *pulses
	times  clusters.Timings
	nodes  []clusters.Node
}

var _ clusters.Cluster = (*Cluster)(nil)

// Beside is a kind cluster with the simulated nodes of its spec, which exist already.
func Beside(c *kind.Cluster) (*Cluster, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", c.Name(), err)
	}
	k := &Cluster{Cluster: c, client: client, pulses: &pulses{client: client}, times: c.Spec().Timings()}
	for i := range c.Spec().SimulatedNodes {
		k.nodes = append(k.nodes, &Node{cluster: k, name: nodeName(i), zone: zoneOf(i)})
	}
	return k, nil
}

// Nodes are the real nodes as of a kind cluster, and then the simulated ones.
func (c *Cluster) Nodes() []clusters.Node { return slices.Concat(c.Cluster.Nodes(), c.nodes) }

// readyLimit bounds the time until all simulated nodes are Ready and take pods.
const readyLimit = 10 * time.Minute

// populate installs kwok and creates the simulated nodes. It returns when all of them are Ready.
func (c *Cluster) populate(ctx context.Context, program string) error {
	if err := keepDaemonsAway(ctx, c.client); err != nil {
		return err
	}
	if err := install(ctx, c.Cluster.Nodes()[0], program, c.times); err != nil {
		return err
	}
	if err := createNodes(ctx, c.client, c.Spec()); err != nil {
		return err
	}
	return poll.Until(ctx, "the simulated nodes to take pods", readyLimit, func(ctx context.Context) (bool, string, error) {
		all, err := c.pulses.look(ctx)
		if err != nil {
			return false, "", err
		}
		var waiting []string
		for _, n := range c.nodes {
			if !all[n.Name()].ready {
				waiting = append(waiting, n.Name())
			}
		}
		return len(waiting) == 0, fmt.Sprintf("%d are not, %s among them", len(waiting), strings.Join(waiting[:min(3, len(waiting))], ", ")), nil
	})
}

// Provider makes kind clusters, with simulated nodes where a spec asks for them.
type Provider struct {
	*kind.Provider
	// Compile returns the path of kwok, which it compiles if necessary.
	Compile func(ctx context.Context) (path string, err error)
}

// Create makes a cluster as kind.Provider does. kwok is compiled first, so that no cluster waits for it.
func (p Provider) Create(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
	if spec.SimulatedNodes == 0 {
		return p.Provider.Create(ctx, name, spec)
	}
	program, err := p.Compile(ctx)
	if err != nil {
		return nil, err
	}
	made, err := p.Provider.Create(ctx, name, spec)
	if err != nil {
		return nil, err
	}
	c, err := Beside(made.(*kind.Cluster))
	if err == nil {
		err = c.populate(ctx, program)
	}
	if err != nil {
		err = fmt.Errorf("add %d simulated nodes to cluster %s: %w", spec.SimulatedNodes, name, err)
		return nil, errors.Join(err, p.discard(ctx, made))
	}
	return c, nil
}

// discardLimit bounds the removal of a cluster.
const discardLimit = 3 * time.Minute

// discard removes a cluster that could not be completed, also if ctx has ended.
func (p Provider) discard(ctx context.Context, made clusters.Cluster) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	if err := made.Delete(ctx); err != nil {
		return fmt.Errorf("%w: %w", clusters.ErrLeft, err)
	}
	return nil
}
