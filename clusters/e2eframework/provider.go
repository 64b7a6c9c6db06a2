// Package e2eframework provides holdfast's kind clusters through the cluster-provider interfaces of e2e-framework. Its users
// get clusters that are proven usable, and can stop and start nodes, which e2e-framework's own kind support lacks.
//
//	cluster := e2eframework.NewProvider()
//	testenv.Setup(envfuncs.CreateClusterWithOpts(cluster, "demo", e2eframework.WithSpec(clusters.Spec{Zones: []string{"a", "b"}})))
//
// Containers run holdfast's executable, which a test is not: it is compiled in the module of the test, or named by the variable
// HOLDFAST_EXECUTABLE (see package self).
//
// It does not run tests, and holdfast's own suites do not use it.
package e2eframework

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
)

// Provider creates and holds one cluster. Methods that take command-line arguments in e2e-framework return an error if any are
// given, because no command is run.
type Provider struct {
	source  source
	name    string
	spec    clusters.Spec
	cluster cluster // nil until Create
}

var (
	_ support.E2EClusterProviderWithImageLoader = (*Provider)(nil)
	_ support.E2EClusterProviderWithLifeCycle   = (*Provider)(nil)
)

// cluster is the part of kind.Cluster that this package uses.
type cluster interface {
	clusters.Cluster
	Kubeconfig() (string, error)
	Prove(ctx context.Context) error
}

// source creates and opens clusters.
type source interface {
	create(ctx context.Context, name string, spec clusters.Spec) (cluster, error)
	// open attaches to an existing cluster. The error is fs.ErrNotExist if there is none.
	open(ctx context.Context, name string) (cluster, error)
	// saveImage writes an image of the container engine to a docker-archive file.
	saveImage(ctx context.Context, image, path string) error
}

// NewProvider creates kind clusters on the container engine that engine.Find selects at first use. By default a cluster has one
// zone with one worker, plus the control plane and the load node.
func NewProvider() *Provider {
	return &Provider{source: &kindSource{}}
}

// WithSpec sets the spec of the cluster. It has no effect on providers other than those of NewProvider.
func WithSpec(spec clusters.Spec) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if ours, ok := p.(*Provider); ok {
			ours.spec = spec
		}
	}
}

// SetDefaults replaces zero fields of the spec with their defaults.
func (p *Provider) SetDefaults() support.E2EClusterProvider {
	if len(p.spec.Zones) == 0 {
		p.spec.Zones = []string{"a"}
	}
	p.spec = p.spec.WithDefaults()
	return p
}

// WithName sets the name of the cluster, at most 31 characters. Its nodes are called holdfast-NAME-control-plane,
// holdfast-NAME-worker, holdfast-NAME-worker2 and so on.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	p.name = name
	return p
}

// WithVersion sets the Kubernetes version, such as v1.37.0.
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.spec.Kubernetes = version
	return p
}

// WithPath has no effect, because kind is linked in as a library.
func (p *Provider) WithPath(string) support.E2EClusterProvider { return p }

// WithOpts applies options, in order.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// Cluster gives access to actions that e2e-framework lacks: killing, pausing and resuming nodes. It is nil before Create.
func (p *Provider) Cluster() clusters.Cluster {
	if p.cluster == nil {
		return nil
	}
	return p.cluster
}

// Create creates the cluster, or attaches to an existing cluster of this name. It returns the path of the kubeconfig.
func (p *Provider) Create(ctx context.Context, args ...string) (string, error) {
	if err := refuse(args); err != nil {
		return "", err
	}
	p.SetDefaults()
	made, err := p.source.open(ctx, p.name)
	if errors.Is(err, fs.ErrNotExist) {
		made, err = p.source.create(ctx, p.name, p.spec)
	}
	if err != nil {
		return "", err
	}
	p.cluster = made
	return made.Kubeconfig()
}

// CreateWithConfig is Create with a clusters.Spec from a YAML file. The file is not a kind configuration.
func (p *Provider) CreateWithConfig(ctx context.Context, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the cluster's spec: %w", err)
	}
	var spec clusters.Spec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		return "", fmt.Errorf("read the cluster's spec from %s, which has the fields of clusters.Spec: %w", path, err)
	}
	p.spec = spec
	return p.Create(ctx)
}

// GetKubeconfig is the path of the kubeconfig. It is empty before Create.
func (p *Provider) GetKubeconfig() string {
	path, _ := p.GenerateKubeconfig()
	return path
}

// GenerateKubeconfig is the path of the kubeconfig, which is always the same file.
func (p *Provider) GenerateKubeconfig(args ...string) (string, error) {
	if err := refuse(args); err != nil {
		return "", err
	}
	if p.cluster == nil {
		return "", p.missing()
	}
	return p.cluster.Kubeconfig()
}

// GetKubectlContext is the name of the context in the kubeconfig.
func (p *Provider) GetKubectlContext() string { return "kind-" + inventory.Prefix + p.name }

// KubernetesRestConfig connects to the API server. It is nil before Create.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Config()
}

// WaitForControlPlane returns when the whole cluster, including every node, is proven usable.
func (p *Provider) WaitForControlPlane(ctx context.Context, _ klient.Client) error {
	if p.cluster == nil {
		return p.missing()
	}
	return p.cluster.Prove(ctx)
}

// ExportLogs writes the logs of the nodes and pods below a folder.
func (p *Provider) ExportLogs(ctx context.Context, dest string) error {
	if p.cluster == nil {
		return p.missing()
	}
	return p.cluster.CollectLogs(ctx, dest)
}

// Destroy removes the cluster with its containers, volumes and networks, even if another process created it. It is no error if
// there is no such cluster.
func (p *Provider) Destroy(ctx context.Context) error {
	doomed := p.cluster
	if doomed == nil {
		var err error
		if doomed, err = p.source.open(ctx, p.name); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := doomed.Delete(ctx); err != nil {
		return err // the cluster is kept, so that the caller can inspect it and try again
	}
	p.cluster = nil
	return nil
}

func (p *Provider) missing() error {
	return fmt.Errorf("cluster %s was not created yet", p.name)
}

func refuse(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("arguments %q: not supported, because no command is run; use WithSpec", slices.Clone(args))
}
