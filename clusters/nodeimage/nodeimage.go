package nodeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// Options of Ensure and Build. The zero value means the defaults.
type Options struct {
	// CacheDir is where build results are kept; default: nodeimage in engine.CacheDir().
	CacheDir string
	// NoInstall refuses to install what a build needs (mmdebstrap, a C compiler) and returns an error that names what is
	// missing. HOLDFAST_NO_INSTALL=1 does the same.
	NoInstall bool
	// Progress receives every step of a build, from several goroutines but one call at a time. See Lines.
	Progress func(Step)
}

func (o *Options) fill() error {
	if o.CacheDir == "" {
		dir, err := engine.CacheDir()
		if err != nil {
			return err
		}
		o.CacheDir = filepath.Join(dir, "nodeimage")
	}
	if set := os.Getenv("HOLDFAST_NO_INSTALL"); set != "" && set != "0" {
		o.NoInstall = true
	}
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	return nil
}

// ClearCache removes everything that builds have kept: binaries, root file systems, logs. It does not remove images from
// the engine.
func ClearCache(ctx context.Context, o Options) error {
	if err := o.fill(); err != nil {
		return err
	}
	return clearCache(ctx, o.CacheDir)
}

// Ensure returns an image for a version of Kubernetes: one that the engine holds, otherwise kindest/node from a registry,
// otherwise one that it builds, or on another system than Linux an error that says what to do. An empty version means DefaultKubernetes; then
// kind's own default image is accepted as well, both in the engine and from a registry. Ensure notices within seconds when no
// registry answers.
//
// A second call takes about as long as the engine needs to look the image up.
func Ensure(ctx context.Context, e *engine.Engine, version string, o Options) (Ref, error) {
	if err := o.fill(); err != nil {
		return Ref{}, err
	}
	return ensure(ctx, thisHost(), e, version, func(ctx context.Context, version string) (Ref, error) {
		return Build(ctx, e, version, o)
	})
}

func ensure(
	ctx context.Context, h host, e Engine, version string, build func(context.Context, string) (Ref, error),
) (Ref, error) {
	wanted := orDefault(version)
	if err := checkForm(wanted); err != nil {
		return Ref{}, err
	}
	ref, held, err := present(ctx, e, version)
	if held || err != nil {
		return ref, err
	}
	var unsent error
	for _, name := range stockNames(version) {
		err := pullImage(ctx, e, name)
		if err == nil {
			ref, err := inspectImage(ctx, e, name)
			ref.Source = Pulled
			return ref, err
		}
		if ctx.Err() != nil {
			return Ref{}, err
		}
		unsent = errors.Join(unsent, err)
		if errors.Is(err, errNoRegistry) {
			break // the registry would not answer for another image either
		}
	}
	if err := h.checkBuilds(ctx, e, saveNode(wanted), unsent); err != nil {
		return Ref{}, fmt.Errorf("get a node image for Kubernetes %s: %w", wanted, err)
	}
	return build(ctx, wanted)
}

// present returns an image for a version that the engine holds; held is false if the engine holds none.
func present(ctx context.Context, e Asker, version string) (ref Ref, held bool, err error) {
	names := append([]string{builtName(orDefault(version))}, stockNames(version)...)
	if version == "" { // kind's default came from a file, which keeps no digest
		names = append(names, kindDefaultTag())
	}
	for _, name := range names {
		ref, err := inspectImage(ctx, e, name)
		if err == nil {
			ref.Source = Present
			return ref, true, nil
		}
		if ctx.Err() != nil {
			return Ref{}, false, err
		}
	}
	return Ref{}, false, nil
}

// Lookup is the image that Ensure would take from the engine; empty: it would pull or build one.
func Lookup(ctx context.Context, e Asker, version string) (string, error) {
	if err := checkForm(orDefault(version)); err != nil {
		return "", err
	}
	ref, _, err := present(ctx, e, version)
	return ref.Image, err
}

// orDefault is the version that is meant: an empty one means DefaultKubernetes.
func orDefault(version string) string { return cmp.Or(version, DefaultKubernetes) }

// builtRepository is the repository of built images. The host part is explicit because podman prefixes a name without a
// host with localhost and Docker does not.
const builtRepository = "localhost/holdfast/node"

// builtName is the image name for this version and this recipe.
func builtName(version string) string {
	return builtRepository + ":" + version + "-" + recipeKey(version)
}

// stockName is kindest/node with the host of the default registry: podman resolves short names only if it is configured to.
func stockName(version string) string { return qualified("kindest/node:" + version) }

// stockNames are the images of others that serve for a version, the best first.
func stockNames(version string) []string {
	names := []string{stockName(orDefault(version))}
	if version == "" {
		names = append(names, kindDefault())
	}
	return names
}

// kindDefaultTag is the reference of kind's default image with a tag in place of a digest.
func kindDefaultTag() string { return stockName(kindDefaultVersion()) }

// kindDefaultVersion is the version of Kubernetes in kind's default image.
func kindDefaultVersion() string { return EngineImage{}.Ref(kindDefault()).Kubernetes }

// checkForm rejects a malformed version before anything slow starts.
func checkForm(version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("kubernetes version %q: want the form %s", version, DefaultKubernetes)
	}
	return nil
}
