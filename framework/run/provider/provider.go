// Package provider makes the providers of clusters that commands pick from.
package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/clusters/kwok"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/fit"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// Provider makes clusters, with what else a run needs.
type Provider struct {
	clusters.Provider
	// Open attaches to an existing cluster.
	Open func(ctx context.Context, name string) (clusters.Cluster, error)
	// Facts are what a cluster actually runs.
	Facts func(clusters.Cluster) run.ClusterFacts
	// Release lists the components of a Kubernetes version, and prepares the version for an upgrade.
	Release func(ctx context.Context, version string) (certificate.Release, error)
	Engine  string             // and its version
	Machine *runfolder.Machine // that nodes run on
	// Measure measures what the machine of a cluster's nodes carries beside the cluster; nil: it is not measured.
	Measure func(context.Context, clusters.Cluster) (runfolder.Fit, error)
	// Executable is the static holdfast executable that runs in pods.
	Executable string
}

// Maker makes a provider. Slow steps, such as installing an engine or building an image, are written to out. Steps of creating a
// cluster go to say.
type Maker func(ctx context.Context, out io.Writer, say func(string)) (Provider, error)

// Makers are the providers by the names that --provider accepts.
var Makers = map[string]Maker{"kind": Kind}

// Kind is the provider of clusters of kind.
func Kind(ctx context.Context, out io.Writer, say func(string)) (Provider, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return Provider{}, err
	}
	executable, err := self.Path(ctx, cache) // before anything is made or installed
	if err != nil {
		return Provider{}, err
	}
	e, err := engine.Find(ctx, engine.Options{Say: func(text string, a ...any) { _, _ = fmt.Fprintf(out, text+"\n", a...) }})
	if err != nil {
		return Provider{}, err
	}
	made, err := kind.Makers(ctx, e)
	if err != nil {
		return Provider{}, err
	}
	for _, line := range maintenance.Leftovers(made) {
		_, _ = fmt.Fprintln(out, line)
	}
	options := kind.Options{
		Command: self.CommandLine(), Log: slog.New(steps{slog.Default().Handler(), say}), Image: nodeimage.Options{Progress: nodeimage.ProgressTo(out)},
	}
	return Provider{
		Provider: kwok.Provider{Provider: kind.New(e, options), Compile: func(ctx context.Context) (string, error) {
			return nodeimage.Compile(ctx, kwok.Program(), options.Image)
		}},
		Engine: e.Name() + " " + e.Version(), Machine: machineOf(e), Executable: executable, Measure: fit.Measure,
		Release: func(ctx context.Context, version string) (certificate.Release, error) {
			return releaseOf(nodeimage.GetRelease(ctx, e, version, options.Image))
		},
		Open: func(ctx context.Context, name string) (clusters.Cluster, error) {
			c, err := kind.Open(ctx, e, name, options)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; 'holdfast up %s' makes it", err, name)
			}
			if err != nil || c.Spec().SimulatedNodes == 0 {
				return c, err
			}
			return kwok.Beside(c)
		},
		Facts: func(c clusters.Cluster) run.ClusterFacts {
			facts := run.ClusterFacts{Provider: "kind", Engine: e.Name() + " " + e.Version(), Kubernetes: c.Spec().Kubernetes}
			if k, ok := c.(interface{ Image() string }); ok {
				facts.Image = k.Image()
			}
			if k, ok := c.(interface{ Balancer() string }); ok {
				facts.Balancer = k.Balancer()
			}
			return facts
		},
	}, nil
}

// machineOf is the machine that nodes run on. Of one elsewhere, only what the engine reports is known.
func machineOf(e interface {
	Elsewhere() bool
	Machine() (cpus int, arch, kernel string)
}) *runfolder.Machine {
	if !e.Elsewhere() {
		return runfolder.ThisMachine()
	}
	cpus, arch, kernel := e.Machine()
	return &runfolder.Machine{Cores: cpus, Arch: arch, Kernel: kernel}
}

// releaseOf names the components of a release by the last part of their images' names.
func releaseOf(r nodeimage.Release, err error) (certificate.Release, error) {
	out := certificate.Release{Kubernetes: r.Kubernetes, Image: r.Image, Digest: r.Digest, Components: map[string]string{}, Digests: map[string]string{}}
	for _, image := range r.Images {
		name, tag, _ := strings.Cut(path.Base(image.Ref), ":")
		out.Components[name], out.Digests[name] = tag, image.Digest
	}
	return out, err
}
