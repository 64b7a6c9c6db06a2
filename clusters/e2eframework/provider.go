// Package e2eframework offers holdfast's kind clusters through the cluster-provider interfaces of e2e-framework, so that
// its users get clusters that are proven usable, and the stop and start of nodes, which its own kind support lacks.
//
//	cluster := e2eframework.NewProvider()
//	testenv.Setup(envfuncs.CreateClusterWithOpts(cluster, "demo", e2eframework.WithSpec(clusters.Spec{Zones: []string{"a", "b"}})))
//
// It does not run tests, and it is not used by holdfast's own suites.
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
	"github.com/holdfast-ha/holdfast/clusters/kind"
)

// Provider makes and holds one cluster. Where a method of e2e-framework's takes arguments for a command line, it
// refuses them: there is none.
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

// cluster is the part of a kind.Cluster that is used here.
type cluster interface {
	clusters.Cluster
	Kubeconfig() (string, error)
	Prove(ctx context.Context) error
}

// source is where clusters come from.
type source interface {
	create(ctx context.Context, name string, spec clusters.Spec) (cluster, error)
	// open attaches to a cluster that is there; fs.ErrNotExist where there is none.
	open(ctx context.Context, name string) (cluster, error)
	// saveImage writes an image of the engine's to a docker-archive file.
	saveImage(ctx context.Context, image, path string) error
}

// NewProvider makes kind clusters on the engine that engine.Find finds when a cluster is first asked for. The default
// is one zone with one worker, beside the control plane and the load node.
func NewProvider() *Provider {
	return &Provider{source: &kindSource{}}
}

// WithSpec says what the cluster shall be. For NewProvider's own type only; another provider is left as it is.
func WithSpec(spec clusters.Spec) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if ours, ok := p.(*Provider); ok {
			ours.spec = spec
		}
	}
}

// SetDefaults fills in what was left empty.
func (p *Provider) SetDefaults() support.E2EClusterProvider {
	if len(p.spec.Zones) == 0 {
		p.spec.Zones = []string{"a"}
	}
	p.spec = p.spec.WithDefaults()
	return p
}

// WithName is the cluster's name, at most 31 characters. Its nodes are called holdfast-NAME-control-plane,
// holdfast-NAME-worker, holdfast-NAME-worker2 and so on.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	p.name = name
	return p
}

// WithVersion is a Kubernetes version such as v1.37.0.
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.spec.Kubernetes = version
	return p
}

// WithPath has no effect: kind is linked in.
func (p *Provider) WithPath(string) support.E2EClusterProvider { return p }

// WithOpts applies options, in order.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// Cluster gives what e2e-framework has no words for: killing, pausing and resuming nodes. Nil before Create.
func (p *Provider) Cluster() clusters.Cluster {
	if p.cluster == nil {
		return nil
	}
	return p.cluster
}

// Create makes the cluster, or attaches to the one of this name that is there, and returns its kubeconfig's path.
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

// CreateWithConfig is Create with a clusters.Spec from a YAML file. It is not kind's own configuration.
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

// GetKubeconfig is the kubeconfig's path; empty before Create.
func (p *Provider) GetKubeconfig() string {
	path, _ := p.GenerateKubeconfig()
	return path
}

// GenerateKubeconfig is the kubeconfig's path. It is always the same file.
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
func (p *Provider) GetKubectlContext() string { return "kind-" + kind.Prefix + p.name }

// KubernetesRestConfig reaches the API server; nil before Create.
func (p *Provider) KubernetesRestConfig() *rest.Config {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Config()
}

// WaitForControlPlane returns when the whole cluster is proven usable, every node of it.
func (p *Provider) WaitForControlPlane(ctx context.Context, _ klient.Client) error {
	if p.cluster == nil {
		return p.missing()
	}
	return p.cluster.Prove(ctx)
}

// ExportLogs writes the nodes' and pods' logs below a folder.
func (p *Provider) ExportLogs(ctx context.Context, dest string) error {
	if p.cluster == nil {
		return p.missing()
	}
	return p.cluster.CollectLogs(ctx, dest)
}

// Destroy removes the cluster and all that came with it, also one that another process made. None is no error.
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
	p.cluster = nil
	return doomed.Delete(ctx)
}

func (p *Provider) missing() error {
	return fmt.Errorf("cluster %s was not created yet", p.name)
}

func refuse(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("arguments %q: there is no command line to pass them to; use WithSpec", slices.Clone(args))
}
