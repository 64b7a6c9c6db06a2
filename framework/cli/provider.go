package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/self"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// backing is a provider with what else the commands need.
type backing struct {
	clusters.Provider
	// open attaches to an existing cluster.
	open func(ctx context.Context, name string) (clusters.Cluster, error)
	// facts are what a cluster actually runs.
	facts func(clusters.Cluster) run.ClusterFacts
	// release lists the components of a Kubernetes version, and prepares the version for an upgrade.
	release func(ctx context.Context, version string) (certificate.Release, error)
	engine  string // and its version
	// executable is the static holdfast executable that runs in pods.
	executable string
}

// providers by the names that --provider accepts.
var providers = map[string]func(ctx context.Context, out io.Writer, say func(string)) (backing, error){
	"kind": kindBacking,
}

const providerFlag = "provider"

// provider returns the provider of --provider. Slow steps, such as installing an engine or building an image, are written to out. Steps
// of creating a cluster go to say.
func provider(ctx context.Context, name string, out io.Writer, say func(string)) (backing, error) {
	make, known := providers[name]
	if !known {
		return backing{}, usage(fmt.Errorf("provider %q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(providers)), ", ")))
	}
	return make(ctx, out, say)
}

func kindBacking(ctx context.Context, out io.Writer, say func(string)) (backing, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return backing{}, err
	}
	executable, err := self.Path(ctx, cache) // before anything is made or installed
	if err != nil {
		return backing{}, err
	}
	e, err := engine.Find(ctx, engine.Options{Say: sayTo(out)})
	if err != nil {
		return backing{}, err
	}
	made, err := inventory.Makers(ctx, e)
	if err != nil {
		return backing{}, err
	}
	for _, line := range left(made) {
		sayTo(out)("%s", line)
	}
	options := kind.Options{Command: commandLine(), Log: slog.New(steps{slog.Default().Handler(), say}), Image: nodeimage.Options{Progress: nodeimage.Lines(out, isTerminal(out))}}
	return backing{
		Provider: kind.New(e, options), engine: e.Name() + " " + e.Version(), executable: executable,
		release: func(ctx context.Context, version string) (certificate.Release, error) {
			return releaseOf(nodeimage.GetRelease(ctx, e, version, options.Image))
		},
		open: func(ctx context.Context, name string) (clusters.Cluster, error) {
			return kind.Open(ctx, e, name, options)
		},
		facts: func(c clusters.Cluster) run.ClusterFacts {
			facts := run.ClusterFacts{Provider: "kind", Engine: e.Name() + " " + e.Version(), Kubernetes: c.Spec().Kubernetes}
			if k, ok := c.(*kind.Cluster); ok {
				facts.Image, facts.Balancer = k.Image(), k.Balancer()
			}
			return facts
		},
	}, nil
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

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// steps is a log handler that passes messages at level Info to the user as progress lines. Other levels go to the log.
type steps struct {
	slog.Handler
	say func(string)
}

func (s steps) Enabled(ctx context.Context, level slog.Level) bool {
	return level == slog.LevelInfo || s.Handler.Enabled(ctx, level)
}

func (s steps) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelInfo {
		s.say(r.Message)
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func (s steps) WithAttrs(attrs []slog.Attr) slog.Handler {
	return steps{s.Handler.WithAttrs(attrs), s.say}
}

func (s steps) WithGroup(name string) slog.Handler { return steps{s.Handler.WithGroup(name), s.say} }
