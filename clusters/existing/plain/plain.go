// Package plain makes clusters as others make them: with kind's own library and its defaults. What holdfast does on a cluster that it did
// not make is tried on such a cluster.
//
// It adds what this kind of machine needs (the node image, the pod network in it, cgroups of version 1), and no label, taint, timing or node
// of holdfast's. Nothing but tests uses it, and holdfast's other commands do not see its clusters.
package plain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/holdfast-ha/holdfast/clusters/doctor"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// prefix is how the names of the clusters begin in the engine. Those of holdfast's own begin otherwise.
const prefix = "plain-"

// readyLimit is how long a new cluster may take to have all its nodes ready. Four nodes take 20 s on two cores.
const readyLimit = 3 * time.Minute

// Options of a cluster.
type Options struct {
	// Name of the cluster: its nodes are plain-NAME-worker, ...
	Name string
	// Dir is the folder for its kubeconfigs and its audit log. It must exist.
	Dir string
	// Workers is how many workers there are; 0: 3.
	Workers int
	// Zones are dealt to the workers in turn, in the label that the controller of a cloud sets. None: the nodes are in no zone.
	Zones []string
	// Kubernetes is the version; empty: nodeimage.DefaultKubernetes.
	Kubernetes string
	// Audit lets the API server write down each request but those of the cluster's own components; see Cluster.Audited.
	Audit bool
	Log   *slog.Logger // nil: slog.Default()
}

// Cluster is a running cluster.
type Cluster struct {
	Options
	// Image is the node image.
	Image  string
	engine *engine.Engine
	kind   *kindcluster.Provider
	config *rest.Config
}

// Create makes a cluster, and returns when each of its nodes is ready. After an error nothing is left.
func Create(ctx context.Context, e *engine.Engine, o Options) (*Cluster, error) {
	c := attach(e, o)
	c.Workers = cmp.Or(c.Workers, 3)
	config, err := c.prepare(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare cluster %s: %w", o.Name, err)
	}
	err = c.kind.Create(c.fullName(), kindcluster.CreateWithV1Alpha4Config(config), kindcluster.CreateWithKubeconfigPath(c.Kubeconfig()))
	if err == nil {
		err = c.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create cluster %s: %w", o.Name, err), c.Delete(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// Open attaches to a cluster that Create has made with the same name and folder.
func Open(e *engine.Engine, o Options) (*Cluster, error) {
	c := attach(e, o)
	return c, c.connect()
}

func attach(e *engine.Engine, o Options) *Cluster {
	provider := kindcluster.ProviderWithPodman()
	if e.Name() == engine.Docker {
		provider = kindcluster.ProviderWithDocker()
	}
	return &Cluster{Options: o, engine: e, kind: kindcluster.NewProvider(provider)}
}

func (c *Cluster) fullName() string { return prefix + c.Name }

// Kubeconfig is the path of the administrator's kubeconfig. Its only context is that of kind.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "admin.kubeconfig") }

// Context is the name of the administrator's context.
func (c *Cluster) Context() string { return "kind-" + c.fullName() }

// Config is the administrator's, without a limit of requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// prepare gets the node image and the machine ready, and is the configuration of the cluster.
func (c *Cluster) prepare(ctx context.Context) (*configuration, error) {
	if err := errors.Join(c.engine.Apply(), doctor.Prepare(ctx, c.engine)); err != nil {
		return nil, err
	}
	// kind reads the name of its network from the environment. Another run of this process may have set it to that of a cluster.
	if err := os.Setenv("KIND_EXPERIMENTAL_"+strings.ToUpper(c.engine.Name())+"_NETWORK", c.fullName()); err != nil {
		return nil, err
	}
	image, err := nodeimage.Ensure(ctx, c.engine, c.Kubernetes, nodeimage.Options{})
	if err != nil {
		return nil, err
	}
	c.Image, c.Kubernetes = image.Image, image.Kubernetes
	v1, err := engine.OnCgroupV1(ctx, c.engine)
	if err != nil {
		return nil, err
	}
	if c.Audit {
		if err := c.writePolicy(); err != nil {
			return nil, err
		}
	}
	return c.configure(image.Network == nodeimage.NetworkAgent, v1), nil
}

func (c *Cluster) connect() (err error) {
	c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err == nil {
		c.config.QPS = -1
	}
	return err
}

// ready waits until each node is ready, and until pods can be created.
func (c *Cluster) ready(ctx context.Context) error {
	if err := c.connect(); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	return poll.Until(ctx, "all nodes to be ready", readyLimit, func(ctx context.Context) (bool, string, error) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		ready := 0
		for _, n := range nodes.Items {
			if isReady(n) {
				ready++
			}
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil && ready == c.Workers+1, fmt.Sprintf("%d of %d ready", ready, c.Workers+1), err
	})
}

func isReady(n corev1.Node) bool {
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Delete removes the containers, their volumes and the network of the cluster. Its folder stays.
func (c *Cluster) Delete(ctx context.Context) error {
	if err := c.kind.Delete(c.fullName(), c.Kubeconfig()); err != nil {
		return fmt.Errorf("delete cluster %s: %w", c.Name, err)
	}
	return poll.Until(ctx, "the network of cluster "+c.Name+" to be gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		there, err := c.engine.Output(ctx, "network", "ls", "--format", "{{.Name}}")
		if err != nil || !hasLine(string(there), c.fullName()) {
			return err == nil, "", err
		}
		_, err = c.engine.Output(ctx, "network", "rm", c.fullName())
		return err == nil, "", err
	})
}

func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}
