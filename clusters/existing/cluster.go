package existing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// ErrNotSupported means that holdfast does not do this to a cluster that it did not make.
var ErrNotSupported = errors.New("not supported on a cluster that holdfast did not make")

// Cluster is a cluster that holdfast did not make. It is never changed by its methods: the Config that it was opened with decides what clients
// can do.
type Cluster struct {
	name   string
	config *rest.Config
	spec   clusters.Spec
	nodes  []clusters.Node
}

var (
	_ clusters.Cluster = (*Cluster)(nil)
	_ clusters.Node    = (*Node)(nil)
)

// Open lists the nodes of a cluster. A user who must not list nodes gets a cluster without any.
func Open(ctx context.Context, name string, config *rest.Config) (*Cluster, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	c, err := openWith(ctx, name, client)
	if err != nil {
		return nil, fmt.Errorf("open cluster %s: %w", name, err)
	}
	c.config = config
	return c, nil
}

func openWith(ctx context.Context, name string, client kubernetes.Interface) (*Cluster, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil && !MayNot(err) {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	if list == nil {
		list = &corev1.NodeList{}
	}
	c := &Cluster{name: name, spec: clusters.Spec{Kubernetes: version.GitVersion, Profile: clusters.Stock}}
	zones := map[string]int{}
	for i := range list.Items {
		n := nodeOf(&list.Items[i])
		c.nodes = append(c.nodes, n)
		if n.role == clusters.ControlPlane {
			c.spec.ControlPlanes++
		} else if n.zone != "" {
			zones[n.zone]++
		}
	}
	for zone, workers := range zones {
		c.spec.Zones, c.spec.WorkersPerZone = append(c.spec.Zones, zone), max(c.spec.WorkersPerZone, workers)
	}
	slices.Sort(c.spec.Zones)
	slices.SortFunc(c.nodes, func(a, b clusters.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name(), b.Name()))
	})
	return c, nil
}

func rank(n clusters.Node) int {
	if n.Role() == clusters.ControlPlane {
		return 0
	}
	return 1
}

// Name implements clusters.Cluster.
func (c *Cluster) Name() string { return c.name }

// Spec is what was found. Its profile is Stock: what the control plane's own timings are cannot be asked.
func (c *Cluster) Spec() clusters.Spec { return c.spec }

// Config implements clusters.Cluster.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Nodes implements clusters.Cluster: those that there were when it was opened.
func (c *Cluster) Nodes() []clusters.Node { return slices.Clone(c.nodes) }

// LoadImage implements clusters.Cluster. The nodes pull what pods name.
func (c *Cluster) LoadImage(context.Context, clusters.Image) error {
	return fmt.Errorf("load an image into the nodes of %s: %w", c.name, ErrNotSupported)
}

// CollectLogs implements clusters.Cluster. It collects nothing: logs of others may hold what holdfast must not keep.
func (c *Cluster) CollectLogs(context.Context, string) error { return nil }

// Delete implements clusters.Cluster.
func (c *Cluster) Delete(context.Context) error {
	return fmt.Errorf("delete cluster %s: %w", c.name, ErrNotSupported)
}

// controlPlaneLabels mark the nodes of the control plane, where a cluster has some.
//
// Source: https://kubernetes.io/docs/reference/labels-annotations-taints/#node-role-kubernetes-io-control-plane
var controlPlaneLabels = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

func nodeOf(n *corev1.Node) *Node {
	made := &Node{name: n.Name, role: clusters.Worker, zone: n.Labels[clusters.LabelZone]}
	for _, label := range controlPlaneLabels {
		if _, is := n.Labels[label]; is {
			made.role = clusters.ControlPlane
		}
	}
	return made
}
