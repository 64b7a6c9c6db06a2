package clustertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
)

// The collections of nodes and namespaces.
const (
	nodesPath      = "/api/v1/nodes"
	namespacesPath = "/api/v1/namespaces"
)

// Cluster is a clusters.Cluster in memory. Change the exported fields before the cluster is used.
type Cluster struct {
	*API
	// Machines are the nodes in the order of Nodes.
	Machines []*Node
	// OnLoad is called by LoadImage; nil means success.
	OnLoad func(clusters.Image) error
	// OnLogs is called by CollectLogs; nil means success.
	OnLogs func(ctx context.Context, dir string) error

	name string
	spec clusters.Spec

	loading sync.Mutex
	loaded  []clusters.Image
}

// New is a cluster with the node cp, the load node load, and the spec's workers: wa1 and wa2 are the workers of zone a. Its simulated nodes are sim1, sim2
// and so on.
func New(name string, spec clusters.Spec) *Cluster {
	c := &Cluster{API: NewAPI(), name: name, spec: spec.WithDefaults()}
	c.Put(namespacesPath, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})
	c.add("cp", clusters.ControlPlane, "")
	c.add("load", clusters.LoadNode, "")
	for _, zone := range spec.Zones {
		for i := range c.spec.WorkersPerZone {
			c.add("w"+zone+strconv.Itoa(i+1), clusters.Worker, zone)
		}
	}
	for i := range c.spec.SimulatedNodes {
		zones := clusters.SimulatedZones()
		c.add("sim"+strconv.Itoa(i+1), clusters.Simulated, zones[i%len(zones)])
	}
	return c
}

// add adds a running node that is Ready. Its addresses are in the order of a dual-stack kubelet.
func (c *Cluster) add(name string, role clusters.Role, zone string) {
	c.Machines = append(c.Machines, &Node{cluster: c, name: name, role: role, zone: zone, state: clusters.Running})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		clusters.LabelRole: string(role), corev1.LabelHostname: name,
	}}}
	if zone != "" {
		n.Labels[clusters.LabelZone] = zone
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "fc00::" + name},
		{Type: corev1.NodeInternalIP, Address: "172.18.0." + name},
	}
	c.Put(nodesPath, n)
}

// Name implements clusters.Cluster.
func (c *Cluster) Name() string { return c.name }

// Spec implements clusters.Cluster.
func (c *Cluster) Spec() clusters.Spec { return c.spec }

// Nodes implements clusters.Cluster.
func (c *Cluster) Nodes() (all []clusters.Node) {
	for _, n := range c.Machines {
		all = append(all, n)
	}
	return all
}

// Node is the node of that name. It panics if there is none.
func (c *Cluster) Node(name string) *Node {
	return c.Machines[slices.IndexFunc(c.Machines, func(n *Node) bool { return n.name == name })]
}

// LoadImage implements clusters.Cluster.
func (c *Cluster) LoadImage(_ context.Context, i clusters.Image) error {
	c.loading.Lock()
	c.loaded = append(c.loaded, i)
	c.loading.Unlock()
	if c.OnLoad == nil {
		return nil
	}
	return c.OnLoad(i)
}

// Loaded are the images that LoadImage was called with.
func (c *Cluster) Loaded() []clusters.Image {
	c.loading.Lock()
	defer c.loading.Unlock()
	return slices.Clone(c.loaded)
}

// CollectLogs implements clusters.Cluster.
func (c *Cluster) CollectLogs(ctx context.Context, dir string) error {
	if c.OnLogs == nil {
		return nil
	}
	return c.OnLogs(ctx, dir)
}

// Delete implements clusters.Cluster. It is an error: what a test deletes, its provider has to count.
func (c *Cluster) Delete(context.Context) error {
	return errors.New("clustertest: Delete was called, and not the provider")
}

// EditNode changes a node object as its kubelet or an administrator would.
func (c *Cluster) EditNode(name string, edit func(*corev1.Node)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.objects[nodesPath+"/"+name].(*corev1.Node)
	edit(n)
	c.put(nodesPath, n)
}

// Relabel gives every node of one role another role label, so that pods for that role stay pending.
func (c *Cluster) Relabel(role, to string) {
	for _, m := range c.Machines {
		c.EditNode(m.name, func(n *corev1.Node) {
			if n.Labels[clusters.LabelRole] == role {
				n.Labels[clusters.LabelRole] = to
			}
		})
	}
}
